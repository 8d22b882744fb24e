r"""A number and what people write around it: units, percent, money, nouns.

``27 miles``, ``\$27``, ``about 27 miles`` and ``27`` are the same answer; ``27 cm`` and ``270 mm`` too; ``27 cm`` and
``27 km`` are not, nor are degrees Celsius and Fahrenheit. A word that changes the number ("at least", "not", "west") is
never dropped.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from fractions import Fraction

from verifier.graders.math_text import MONEY

# Names of a unit, its dimension, and its size in that dimension's own unit.
_UNITS = {
    "mm millimeter millimetre 毫米": ("length", "0.001"),
    "cm centimeter centimetre 厘米": ("length", "0.01"),
    "dm decimeter decimetre 分米": ("length", "0.1"),
    "m meter metre 米": ("length", "1"),
    "km kilometer kilometre 千米 公里": ("length", "1000"),
    "in inch": ("length", "0.0254"),
    "ft foot feet": ("length", "0.3048"),
    "yd yard": ("length", "0.9144"),
    "mi mile": ("length", "1609.344"),
    "ms millisecond": ("time", "0.001"),
    "s sec second 秒": ("time", "1"),
    "min minute 分钟": ("time", "60"),
    "h hr hour 小时": ("time", "3600"),
    "day 天": ("time", "86400"),
    "week 周": ("time", "604800"),
    "year yr 年 岁": ("year", "1"),
    "mg milligram": ("mass", "0.000001"),
    "g gram 克": ("mass", "0.001"),
    "kg kilogram 千克 公斤": ("mass", "1"),
    "lb pound": ("pound", "1"),
    "oz ounce": ("pound", "0.0625"),
    "L l liter litre 升": ("litre", "1"),
    "mL ml milliliter millilitre 毫升": ("litre", "0.001"),
    "dollar 元 yuan usd": ("money", "1"),
    "cent 分": ("money", "0.01"),
    "degree deg 度": ("degree", "1"),
    "rad radian": ("radian", "1"),
    "mph": ("speed", "0.44704"),
    "kph kmph": ("speed", "5/18"),
    "N newton": ("force", "1"),
    "kN": ("force", "1000"),
    "J joule": ("energy", "1"),
    "kJ": ("energy", "1000"),
    "W watt": ("power", "1"),
    "kW": ("power", "1000"),
    "V volt": ("voltage", "1"),
    r"\Omega ohm": ("resistance", "1"),
    "Hz hertz": ("frequency", "1"),
    "unit": ("unit", "1"),
}
_UNIT = {name: unit for names, unit in _UNITS.items() for name in names.split()}
_NAME = "|".join(sorted((re.escape(name) for name in _UNIT), key=len, reverse=True))
_POWER = r"(?:\s*\^\s*\{?\s*(?P<power>[23])\s*\}?)?"
_TRAILING_UNIT = re.compile(
    r"(?P<before>.*?(?P<gap>[\d)}\s]))(?P<kind>(?:square|sq\.?|cubic|cu\.?)\s+)?"
    rf"(?P<name>(?:{_NAME})(?![a-zA-Z])|(?:{_NAME})(?=e?s\b))"
    rf"(?:e?s\b)?{_POWER}(?P<word>\s+(?:squared|cubed))?"
    rf"(?:\s*(?P<per>/|\bper\b|\\cdot)\s*(?P<per_name>{_NAME})(?![a-zA-Z])"
    r"(?:\s*\^\s*\{?\s*(?P<per_power>-?\d)\s*\}?)?)?$",
    re.DOTALL,
)
_MONEY = re.compile(r"^([-+]?)\s*(?:US|USD|RMB|Rs\.?|[€£¥₹¤])\s*(?=[\d.])")
_DEGREES = re.compile(
    r"\s*(?:\^\s*\\circ\s*(?P<scale>[CF](?:elsius|ahrenheit)?)?"
    r"|(?<=[\d\s])(?:degrees?|deg)\s+(?P<word>[CF](?:elsius|ahrenheit)?)|(?<=[\d\s])(?P<bare>Celsius|Fahrenheit))$"
)
_SCALE = {"hundred": 2, "thousand": 3, "million": 6, "billion": 9, "trillion": 12, "万": 4, "亿": 8}
_TRAILING_SCALE = re.compile(rf"(?<=[\d\s])\s*({'|'.join(_SCALE)})$")
_CHANGES = frozenset(
    "no not non nor none never least most more less than greater fewer larger smaller between except infinitely "
    "undefined minus negative hundred thousand million billion dozen half third quarter squared cubed times plus over "
    "under above below within outside without unless if when only neither cannot root power base and or to "
    "north south east west northeast northwest southeast southwest northern southern eastern western".split()
)
_CHANGES_CHINESE = "不 非 无 没 至少 至多 大于 小于 超过 以上 以下 以内 多于 少于 负 百 千 万 亿 半".split()
_WORD = r"(?:[A-Za-z][a-z]{2,}|[A-Z]{3,}|is|of|an|in|at|on|by|it|be|we|[\u4e00-\u9fff]+)"
_LEADING_WORDS = re.compile(rf"^(?:(?:{_WORD}|a|A)(?:[,:]?\s+|[,:]|(?=[-\d(\\\[]))|\s+)+")
_CONNECTS = re.compile(r"(?:therefore|thus|hence|so|then|finally|yes)\b", re.IGNORECASE)
_TRAILING_WORDS = re.compile(rf"(?:[\s-]*(?<![A-Za-z\\\u4e00-\u9fff])(?:{_WORD}|a)[.,]?)+$")


@dataclass(frozen=True)
class Quantity:
    """What is left of an answer without what stands around it.

    Attributes
    ----------
    dimension, size
        Of the unit, for example ``length^2`` and 1/10,000 for cm^2, ``length^1 time^-1`` and 5/18 for km/h, in that
        dimension's own unit; empty and 1 without a unit that is known.
    percent
        Whether it ends in a percent sign.
    """

    text: str
    dimension: str = ""
    size: Fraction = Fraction(1)
    percent: bool = False


def quantity(text: str) -> Quantity:
    """Return a normalised text's number with its unit apart; what has neither words nor a unit stays whole."""
    bare = _MONEY.sub(r"\1", text)
    dollars = MONEY in text[: len(text) - len(bare)]
    found = _unit(bare)
    if found is None:
        without = bare if _TRAILING_SCALE.search(bare) else without_words(bare)
        found = _unit(without) or Quantity(without)
    if scale := _TRAILING_SCALE.search(found.text):
        number = found.text[: scale.start()].strip()
        found = replace(found, text=rf"({number})\cdot 10^{{{_SCALE[scale[1]]}}}")
    elif found.dimension or found.percent:
        found = replace(found, text=without_words(found.text))
    if dollars and not found.dimension:
        found = replace(found, dimension="money^1")
    return found if found.text else Quantity(text)


def without_words(text: str, *, trailing: bool = True) -> str:
    """Return the text without the words before and after its mathematics; unchanged if one of them changes the meaning.

    With ``trailing`` False only those before it are dropped: those after it may be units.
    """
    if text.isascii() and not re.search(r"[A-Za-z]{2}", text):
        return text
    leading = _LEADING_WORDS.match(text)
    start = leading.end() if leading else 0
    if "," in text[:start] and not _CONNECTS.match(text):
        return text  # Alice, Bob
    after = _TRAILING_WORDS.search(text, start) if trailing else None
    end = after.start() if after else len(text)
    inner = text[start:end].strip()
    dropped = text[:start] + " " + text[end:]
    words = re.findall(r"[A-Za-z]+|[\u4e00-\u9fff]+", dropped.lower())
    if not inner or not re.search(r"[\dA-Za-z]", inner) or any(_changes(word) for word in words):
        return text
    if dropped.isascii() and not any(len(word) > 1 for word in words):
        return text  # a letter, not an article
    if inner[0] in "+*/^=<>" or (inner[0] == "-" and after is None and not _sentence(words)):
        return text  # the first word was a product of letters
    return inner


def _changes(word: str) -> bool:
    if word.isascii():
        return word in _CHANGES
    return any(part in word for part in _CHANGES_CHINESE)


def _sentence(words: list[str]) -> bool:
    return any(len(word) >= 4 or word in ("is", "the", "are") for word in words)


def _unit(text: str) -> Quantity | None:
    if text.endswith(r"\%"):
        return Quantity(text[:-2].strip(), percent=True)
    if degrees := _DEGREES.search(text):
        # An angle inside a function belongs to it: \sin 30^\circ is a half.
        whole = re.search(r"\\(?:sin|cos|tan|cot|sec|csc)", text) is None
        scale = degrees["scale"] or degrees["word"] or degrees["bare"]
        dimension = f"degree {scale[0]}" if scale else "degree^1"
        return Quantity(text[: degrees.start()].strip(), dimension) if whole else None
    if not (text[-1:].isalpha() or text[-1:] in "}23"):
        return None
    match = _TRAILING_UNIT.match(text)
    if match is None or not match["before"].strip():
        return None
    before, name = match["before"].strip(), match["name"]
    # One letter is a unit only apart from a plain number: "5 m", but neither "5m" nor "x m"; so is kN.
    plain = re.search(r"[A-Za-z]", re.sub(r"\\[A-Za-z]+", "", before)) is None
    if (len(name) == 1 or name in ("kN", "kJ", "kW")) and not (
        plain and (match["gap"].isspace() or not name.isascii())
    ):
        return None
    dimension, size = _UNIT[name]
    power = _power_of(match)
    factor = Fraction(size) ** power
    if match["per"]:
        exponent = int(match["per_power"] or 1) * (1 if match["per"] == r"\cdot" else -1)
        per_dimension, per_size = _UNIT[match["per_name"]]
        return Quantity(
            before, f"{dimension}^{power} {per_dimension}^{exponent}", factor * Fraction(per_size) ** exponent
        )
    if dimension == "speed":
        return Quantity(before, "length^1 time^-1", factor)
    return Quantity(before, f"{dimension}^{power}", factor)


def _power_of(match: re.Match[str]) -> int:
    if match["power"]:
        return int(match["power"])
    if match["kind"]:
        return 2 if match["kind"].startswith("sq") else 3
    if match["word"]:
        return 2 if "squared" in match["word"] else 3
    return 1
