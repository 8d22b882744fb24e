r"""Spelling: one way to write each thing, before an answer is read as mathematics.

Full-width characters, Chinese punctuation, Unicode signs, spacing, sizes, ``\text{}`` and friends are all reduced to
plain LaTeX. What is removed here never changes a value; what has no fixed meaning is left for the parser to refuse.
"""

from __future__ import annotations

import re
import unicodedata
from fractions import Fraction

_SIGNS = {
    "−": "-", "–": "-", "—": "-", "﹣": "-", "×": r"\times ", "✕": r"\times ", "·": r"\cdot ", "⋅": r"\cdot ",
    "∙": r"\cdot ", "÷": "/", "∕": "/", "⁄": "/", "√": r"\sqrt ", "∞": r"\infty ", "∪": r"\cup ",
    "∩": r"\cap ", "≤": r"\le ", "≥": r"\ge ", "⩽": r"\le ", "⩾": r"\ge ", "≦": r"\le ", "≧": r"\ge ",
    "≠": r"\ne ", "≈": r"\approx ", "±": r"\pm ", "∓": r"\mp ", "∅": r"\emptyset ", "∈": r"\in ",
    "°": r"^\circ ", "′": "'", "ℝ": r"\mathbb{R}", "ℤ": r"\mathbb{Z}", "ℕ": r"\mathbb{N}", "ℚ": r"\mathbb{Q}",
    "ℂ": r"\mathbb{C}", "、": ",", "。": ".", "Ω": r"\Omega ", "\u2126": r"\Omega ", "∖": r"\setminus ",
    "⟨": r"\langle ", "⟩": r"\rangle ", "∣": "|", "∨": " or ", "∧": " and ", "π": r"\pi ",
    "θ": r"\theta ", "α": r"\alpha ", "β": r"\beta ", "γ": r"\gamma ", "λ": r"\lambda ", "μ": r"\mu ",
    "φ": r"\phi ", "ω": r"\omega ", "σ": r"\sigma ", "ρ": r"\rho ", "δ": r"\delta ", "∘": r"\circ ",
    "\ufeff": "", "\u200b": "",
}  # fmt: skip
_SIGN = re.compile("|".join(map(re.escape, sorted(_SIGNS, key=len, reverse=True))))
# NFKC would make 56 of 5⁶, and 5 of ₅.
_RAISED = re.compile("[⁺⁻]?[⁰¹²³⁴⁵⁶⁷⁸⁹ⁿ]+")
_LOWERED = re.compile("[₀-₉]+")
_VULGAR = re.compile("[¼-¾⅐-⅞]")

_COMMANDS = {
    "dfrac": r"\frac", "tfrac": r"\frac", "cfrac": r"\frac", "dbinom": r"\binom", "tbinom": r"\binom",
    "leq": r"\le", "leqslant": r"\le", "leqq": r"\le", "geq": r"\ge", "geqslant": r"\ge", "geqq": r"\ge",
    "neq": r"\ne", "lt": "<", "gt": ">", "lbrace": r"\{", "rbrace": r"\}", "lbrack": "[", "rbrack": "]",
    "lparen": "(", "rparen": ")", "lvert": "|", "rvert": "|", "vert": "|", "mid": "|", "Vert": "|",
    "lVert": "|", "rVert": "|", "colon": ":", "div": "/", "degree": r"^\circ", "varnothing": r"\emptyset",
    "approxeq": r"\approx", "simeq": r"\approx", "land": " and ", "lor": " or ", "ast": "*",
    "bullet": r"\cdot", "centerdot": r"\cdot", "infin": r"\infty", "varphi": r"\phi",
    "varepsilon": r"\epsilon", "vartheta": r"\theta", "overrightarrow": r"\vec", "setminus": r"\setminus",
    "backslash": r"\setminus", "bigcup": r"\cup", "imath": "i", "iff": ",", "displaystyle": "",
    "textstyle": "", "limits": "", "left": "", "right": "", "big": "", "Big": "", "bigg": "", "Bigg": "",
    "bigl": "", "bigr": "", "Bigl": "", "Bigr": "", "biggl": "", "biggr": "", "rm": "", "bf": "", "it": "",
    "hline": "", "langle": "(", "rangle": ")", "qquad": " ", "quad": " ", "thinspace": " ", "middle": "",
    "mathstrut": "", "strut": "", "cdotp": r"\cdot", "tiny": "", "small": "", "normalsize": "", "large": "",
    "Large": "", "LARGE": "", "huge": "", "Huge": "",
}  # fmt: skip
# Two backslashes begin a new row; the letter after them is no command.
_COMMAND = re.compile(r"\\\\|\\([A-Za-z]+)[ \t]*")
_WRAPPER = re.compile(
    r"\\(?:text|textbf|textit|textrm|textsf|textnormal|mathrm|mathbf|mathit|mathsf|mathcal|mbox|operatorname\*?|bm|"
    r"boldsymbol|emph|underline|hbox)\s*\{([^{}]*)\}"
)
_COLOUR = re.compile(r"\\(?:text)?color\s*(?:\[\w{1,20}\]\s*)?\{[\w#!.,]{1,40}\}")
_LAST_ROW = re.compile(r"(?:\\\\\s*)+$")
_SET_LETTER = re.compile(r"\\in\s*([ZRNQ])(?![A-Za-z_^'(])")
_FUNCTION_WORD = re.compile(
    r"(?<![\\A-Za-z])(sqrt|arcsin|arccos|arctan|sinh|cosh|tanh|sin|cos|tan|cot|sec|csc|ln|log|lg|exp|pi|infinity|inf)"
    r"(?![A-Za-z])"
)
_THIN_THOUSANDS = re.compile(r"(?<=\d)(?:,?\\!,?|\{,\}|,?\\[,;: ]|\\thinspace)\s*(?=\d{3}(?!\d))")
_SEPARATED_COMMA = re.compile(r"(?<![A-Za-z])\{\s*,\s*\}")
_SPACE = re.compile(r"(?<!\d) | (?!\d)")
_SCIENTIFIC = re.compile(r"([-+]?\d+(?:\.\d+)?)[eE]([-+]?\d{1,4})")
_MIXED_PLAIN = re.compile(r"(?<![\d.])(\d+)\s+(\d+)\s*/\s*(\d+)(?![\d.])")
_TIMES_LETTER = re.compile(r"(?<=\d)\s*[xX]\s*(?=\d+(?:\s*\^|\s*[xX]\s*\d|\b))")
_SPACED_THOUSANDS = re.compile(r"-?[1-9]\d{0,2}(?: \d{3})+")
_ORDINAL = re.compile(r"(\d+)\s*(?:\^\s*\{?\s*)?(?:st|nd|rd|th)\s*\}?")
# 0.333... has a period; 3.14159... has none.
_DOTS = re.compile(r"(-?\d{1,20}\.\d{0,12}?)(\d{1,6}?)\2{2,12}\s*(?:\\[lc]?dots|\.{3})")
_EXPLAINED = re.compile(r"\s{0,9}\(\s{0,9}(?:since|because)\b.*\)$")
_MODULUS = re.compile(
    r"(.*\S)\s*(?:\\pmod\s*(?:\{\s*(?P<braced>[^{}]+?)\s*\}|(?P<bare>\w))|\(\s*\\?(?:mod|bmod)\b\s*(?P<round>[^()]+?)\s*\))"
)
_NUMBER_WORDS = dict(
    zip(
        "zero one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen sixteen".split(),
        map(str, range(17)),
        strict=True,
    )
)
_BASE_WORD = re.compile(rf"_\s*\{{\s*({'|'.join(_NUMBER_WORDS)})\s*\}}")
# Dollars are told from cents where a whole answer, or one of several, is an amount; inside a formula they are not.
MONEY = "¤"
_DOLLARS = re.compile(
    r"(?:(?<=^)|(?<=[,;=]\s)|(?<=[,;=])|(?<=\b(?:is|or)\s)|(?<=\band\s)|(?<=^-)|(?<=^\$))\\\$\s*(?=[\d.])"
)
_WRAPPED = re.compile(r"^\s*(?:\*\*|__|`)\s*|\s*(?:\*\*|__|`)\s*$")


def normalise(text: str) -> str:
    """Return the text in the one spelling that the parser reads; no space at its ends."""
    if not text.isascii():
        text = _plain_characters(text)
    if text.isdecimal():
        return text
    text = _WRAPPED.sub("", text)
    # An escaped dollar sign is money, any other marks mathematics.
    text = _DOLLARS.sub(MONEY, text).replace(r"\$", "").replace("$", "")
    if "\\" in text or "{" in text or "~" in text:
        text = _plain_latex(text)
    text = re.sub(r"\s*\bpercent(?:age)?\b", "%", text)
    text = re.sub(r"(?<!\\)%", r"\\%", text)
    text = _EXPLAINED.sub("", text)
    text = _FUNCTION_WORD.sub(lambda match: rf"\{_function(match[1])} ", text)
    text = text.replace("**", "^").replace(">=", r"\ge ").replace("<=", r"\le ").replace("!=", r"\ne ")
    text = _TIMES_LETTER.sub(r"\\times ", text)
    text = _BASE_WORD.sub(lambda match: f"_{{{_NUMBER_WORDS[match[1]]}}}", text)
    text = _MIXED_PLAIN.sub(r"\1\\frac{\2}{\3}", text)
    text = re.sub(r"\s+", " ", text).strip()
    text = re.sub(r"(?:(?<!\.)\.|[,;:])$", "", text).strip()
    if scientific := _SCIENTIFIC.fullmatch(text):
        return rf"{scientific[1]}\times 10^{{{scientific[2]}}}"
    if recurring := _DOTS.fullmatch(text):
        return rf"{recurring[1]}\overline{{{recurring[2]}}}"
    if _SPACED_THOUSANDS.fullmatch(text):
        return text.replace(" ", "")
    if ordinal := _ORDINAL.fullmatch(text):
        return ordinal[1]
    return _NUMBER_WORDS.get(text.lower(), text)


def split_modulus(text: str) -> tuple[str, str]:
    r"""Return a normalised text without the ``\pmod{10}`` or ``(mod 10)`` at its end, and its modulus or ""."""
    match = _MODULUS.fullmatch(text)
    return (match[1], match["braced"] or match["bare"] or match["round"]) if match else (text, "")


def compact(text: str) -> str:
    """Return normalised text without spaces, for comparing spellings; 2 36 is not 236."""
    return _SPACE.sub("", text)


def _plain_characters(text: str) -> str:
    """Return the text with plain characters and LaTeX for those beyond ASCII, where there are such."""
    text = _RAISED.sub(lambda match: f"^{{{unicodedata.normalize('NFKC', match[0])}}}", text)
    text = _LOWERED.sub(lambda match: f"_{{{unicodedata.normalize('NFKC', match[0])}}}", text)
    text = _VULGAR.sub(_vulgar_fraction, text)
    text = unicodedata.normalize("NFKC", _SIGN.sub(lambda match: _SIGNS[match[0]], text)).replace(
        "\u2212", "-"
    )
    return "".join(
        str(unicodedata.decimal(sign)) if sign.isdecimal() and not sign.isascii() else sign for sign in text
    )


def _vulgar_fraction(match: re.Match[str]) -> str:
    value = Fraction(unicodedata.numeric(match[0])).limit_denominator(10)
    return rf"\frac{{{value.numerator}}}{{{value.denominator}}}"


def _plain_latex(text: str) -> str:
    if r"\begin" not in text:
        text = re.sub(r"\\\\(?=[A-Za-z])", r"\\", text)  # escaped twice, as in JSON
        text = _LAST_ROW.sub("", text)
    text = _COLOUR.sub(" ", text).replace(r"\#", "")
    text = _THIN_THOUSANDS.sub("", text)
    text = _SEPARATED_COMMA.sub(",", text)
    # Delimiters of mathematics, and spacing. Two backslashes are a new row and stay.
    text = re.sub(r"(?<!\\)\\[()]", " ", text)
    text = re.sub(r"(?<!\\)\\[\[\]](?!\d*pt)", " ", text)
    text = re.sub(r"(?<!\\)\\!", "", text)
    text = re.sub(r"(?<!\\)(?:\\[,;: ]|\\$)|~", " ", text)
    text = re.sub(r"\\(?:left|right)\s*\.", "", text)
    for _ in range(4):  # as deep as people nest them
        unwrapped = _WRAPPER.sub(r" \1 ", text)
        if unwrapped == text:
            break
        text = unwrapped
    text = _COMMAND.sub(_command, text)
    text = _SET_LETTER.sub(r"\\in \\mathbb{\1}", text)
    text = re.sub(r"\^\s*\{\s*\\circ\s*\}", r"^\\circ ", text)
    return re.sub(r"\{\s*([A-Za-z]+)\s*\}(?=\s*\^\s*\\circ)", r"\1", text)


def _command(match: re.Match[str]) -> str:
    name = match[1]
    if name is None:
        return match[0]
    spelling = _COMMANDS.get(name, f"\\{name}")
    braced = match.string.startswith("{", match.end()) and spelling == f"\\{name}"
    return spelling if braced else spelling + " "


def _function(name: str) -> str:
    return "infty" if name in ("infinity", "inf") else name
