r"""The key and the choices of a new item, from whatever the rewriter put there. What is not certain is refused."""

from __future__ import annotations

import re
from typing import Any

from propose.loose_json import Number
from verifier.graders.math_extract import extract_math
from verifier.items import LABELS

LONGEST_KEY = 200
LONGEST_LABEL = 40  # with "The answer is option (B)." and the like around it
_BOX = re.compile(r"\\(?:boxed|fbox)(?![A-Za-z])")
_CUE = re.compile(
    r"\s*(?:the\s+)?(?:final\s+|correct\s+)?answer\s*(?:is\b|[:：=])\s*[:：]?\s*", re.IGNORECASE
)
_DOLLARS = re.compile(r"\$\$(.+)\$\$|\$([^$]+)\$|\\\((.+)\\\)|\\\[(.+)\\\]", re.DOTALL)
# Two words in a row, outside of \text{...}, make a sentence.
_SENTENCE = re.compile(r"(?<![\\A-Za-z])[A-Za-z]{2,}[,;]?\s+[A-Za-z]{2,}")
_TEXT_COMMAND = re.compile(r"\\(?:text|mathrm|textbf|mbox|operatorname)\s*\{[^{}]*\}")
_REMARK = re.compile(r"\b(?:since|because|thus|hence|approximately|i\.e)\b|≈|\\approx\b", re.IGNORECASE)
_OR_WORDS = re.compile(r"\b(?:or|and)\b", re.IGNORECASE)
_LABEL = re.compile(
    r"[\s(\[（【*_\"']*(?:option|choice|answer)?[\s:：(\[（*_]*([A-Za-z])[\s)\]）】*_.,:：\"']*",
    re.IGNORECASE,
)
_LABEL_AND_TEXT = re.compile(r"\s*[(（\[]?([A-Z])\s*[)）\].:：、]\s*(\S.*)", re.DOTALL)


class NoKey(Exception):
    """There is no key, or none that is certain."""


def math_key(value: Any) -> str:
    """Return the key of a mathematics item, as it was written, without dollar signs, a box or "The answer is".

    Raises
    ------
    NoKey
        If there is none, there are several, or it is a sentence.
    """
    text = _scalar(value)
    if len(_BOX.findall(text)) > 1:
        raise NoKey("two boxes in the answer")
    if _BOX.search(text):
        inside = extract_math(text)
        if inside is None:
            raise NoKey("the box in the answer is empty or does not close")
        text = inside
    elif cue := _CUE.match(text):
        text = text[cue.end() :]
    text = text.strip().strip("*").strip()
    text = text.removesuffix(".") if not re.search(r"\.\.\.$|\\$", text) else text
    if dollars := _DOLLARS.fullmatch(text):
        text = next(group for group in dollars.groups() if group is not None).strip()
    if not text or text.casefold() in ("none", "null", "n/a", "unknown", "?"):
        raise NoKey("no answer")
    words = _TEXT_COMMAND.sub("", _OR_WORDS.sub("", text))
    if "\n" in text or len(text) > LONGEST_KEY or _SENTENCE.search(words) or _REMARK.search(words):
        raise NoKey(f"the answer is more than a value: {text[:80]!r}")
    return text


def choice_key(value: Any, choices: tuple[str, ...]) -> str:
    """Return the label of the right choice, from a label, a label with its text, or the text alone.

    Raises
    ------
    NoKey
        If it is none of them, or could be two. A number that is not the text of a choice could count from 0 or from 1.
    """
    text = _scalar(value)
    labels = LABELS[: len(choices)]
    plain = [_plain(choice) for choice in choices]
    by_text = {labels[at] for at, choice in enumerate(plain) if choice == _plain(text)}
    by_label = set()
    if len(text) <= LONGEST_LABEL and (label := _LABEL.fullmatch(text)) and label[1].upper() in labels:
        by_label = {label[1].upper()}
    elif (both := _LABEL_AND_TEXT.fullmatch(text)) and both[1] in labels:
        if _plain(both[2]) == plain[labels.index(both[1])]:
            by_label = {both[1]}
        elif _plain(both[2]) in plain:
            raise NoKey(f"label and text of the answer do not belong together: {text[:80]!r}")
    found = by_text | by_label
    if len(found) != 1:
        raise NoKey(f"the answer is {'two choices' if found else 'none of the choices'}: {text[:80]!r}")
    return found.pop()


def choices_of(value: Any) -> tuple[str, ...]:
    """Return the texts of the choices in their order; empty if there are none.

    They may be a list of texts, numbers, or objects with label and text; an object with the labels as names; or one
    text with a line a choice. Labels must run A, B, C, and are taken off.

    Raises
    ------
    NoKey
        If there is anything else.
    """
    if value is None or value in ("", ()):
        return ()
    if isinstance(value, str):
        value = tuple(line for line in value.splitlines() if line.strip())
        if not _all_labelled(value):
            raise NoKey("choices are one text, and not a line each with A), B), ...")
    if isinstance(value, list):  # an object
        labels = "".join(key.strip().strip("()").upper() for key, _ in value)
        if labels != LABELS[: len(value)]:
            raise NoKey(f"the labels of the choices are {labels!r}, not A, B, ... in order")
        return tuple(_choice(one) for _, one in value)
    if not isinstance(value, tuple):
        raise NoKey("choices are no list")
    texts = tuple(_choice(one) for one in value)
    if _all_labelled(texts):
        return tuple(match[2].strip() for text in texts if (match := _LABEL_AND_TEXT.fullmatch(text)))
    return texts


def without_choices(question: str, choices: tuple[str, ...]) -> str:
    """Return a question without the list of its choices, where it ends in one: they are listed after it anyway."""
    lines = question.splitlines()
    listed = tuple(line.strip() for line in lines[-len(choices) :])
    if len(lines) <= len(choices) or not _all_labelled(listed) or choices_of(listed) != choices:
        return question
    before = "\n".join(lines[: -len(choices)]).rstrip()
    above, _, last = before.rpartition("\n")
    return (
        above.rstrip() if above and re.fullmatch(r"\s*(?:options|choices)\s*[:：]?", last, re.I) else before
    )


def _choice(value: Any) -> str:
    if isinstance(value, list):  # an object with label and text
        texts = [
            one for key, one in value if key.casefold() in ("text", "content", "value", "choice", "option")
        ]
        if len(texts) != 1:
            raise NoKey("a choice is an object without its text")
        label = next((one for key, one in value if key.casefold() in ("label", "letter", "key", "id")), None)
        text = _choice(texts[0])
        return f"{label}) {text}" if isinstance(label, str) and re.fullmatch("[A-Z]", label) else text
    if isinstance(value, Number):
        return value.text
    if not isinstance(value, str) or not value.strip():
        raise NoKey("a choice is not a text, or empty")
    return value.strip()


def _all_labelled(texts: tuple[Any, ...]) -> bool:
    matches = [_LABEL_AND_TEXT.fullmatch(text) if isinstance(text, str) else None for text in texts]
    return len(texts) > 1 and "".join(match[1] if match else "?" for match in matches) == LABELS[: len(texts)]


def _scalar(value: Any) -> str:
    """Return a text or number as text; of a list or an object with one value, that value."""
    if isinstance(value, tuple) and len(value) == 1:
        return _scalar(value[0])
    if isinstance(value, list) and len(value) == 1:
        return _scalar(value[0][1])
    if isinstance(value, list | tuple):
        raise NoKey(f"{len(value)} values where the answer should be")
    if isinstance(value, Number):
        return value.text
    if not isinstance(value, str) or not value.strip():
        raise NoKey("no answer")
    return value.strip()


def _plain(text: str) -> str:
    return " ".join(text.replace("$", "").split()).strip().removesuffix(".").casefold()
