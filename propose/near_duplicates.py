"""Finds the item that another one repeats, nearly: the same but for one word or number, or made of the same passages.

Three comparisons, each with all items of the pool and all earlier candidates:

1. The same words and numbers in the same order, and the same choices in any order.
2. All the same but for one word or number. This is what decides for short items and for items of one template, which
   have few passages of their own.
3. Passages of five words (shingles): those that occur in three or more items of the pool are the template that the
   benchmark's items share, and are ignored. Of the rest, at least half must be common to both (Jaccard).

The choices are compared apart from the question: the same question with other choices is another item.
"""

from __future__ import annotations

import re
import unicodedata
from collections import Counter, defaultdict
from collections.abc import Iterable
from dataclasses import dataclass

from verifier.items import Item

SHINGLE = 5
TEMPLATE_ITEMS = 3  # a passage that so many items of the pool have belongs to none of them
ENOUGH = 0.5
FEWEST_SHINGLES = 6  # of its own that an item needs to be compared by passages
SAME_CHOICES = 0.5

_SPACING = re.compile(r"\\(?:left|right|displaystyle|quad|qquad|,|;|!|:| )|[$~]|\\(?=[\[\]()])")
_TOKEN = re.compile(r"\d+(?:,\d{3})*(?:\.\d+)?|[^\W\d_]+|[^\w\s]")
_PUNCTUATION = frozenset(".,;:!?'\"()[]{}*_`#-\\")


@dataclass(frozen=True)
class Match:
    """What an item repeats.

    Attributes
    ----------
    id
        The item that was there before.
    how
        ``same``, ``one change`` or ``passages``.
    similarity
        The share of common passages, 1 where all is the same.
    """

    id: str
    how: str
    similarity: float

    def __str__(self) -> str:
        """Return the match for people."""
        how = {"same": "the same as", "one change": "the same but for one word or number as"}
        return f"{how.get(self.how, f'{self.similarity:.0%} of the passages of')} {self.id}"


@dataclass(frozen=True)
class _Text:
    """What is compared of one item: the question's tokens, the choices, and the shingles of both."""

    id: str
    tokens: tuple[str, ...]
    choices: frozenset[str]
    shingles: frozenset[int]


class NearDuplicates:
    """The items of a benchmark, to which candidates are added as they come.

    Parameters
    ----------
    pool
        The benchmark's own items. They alone say what the template is: otherwise a passage that the rewriter likes
        would become one.
    """

    def __init__(self, pool: Iterable[Item]) -> None:
        self._texts: list[_Text] = []
        self._by_half: dict[tuple[object, ...], list[int]] = defaultdict(list)
        self._by_shingle: dict[int, list[int]] = defaultdict(list)
        texts = {(text.tokens, text.choices): text for text in map(_text, pool)}
        count = Counter(shingle for text in texts.values() for shingle in text.shingles)
        self._template = {shingle for shingle, items in count.items() if items >= TEMPLATE_ITEMS}
        for text in texts.values():
            self._add(text)

    def add(self, item: Item) -> None:
        """Add a candidate to what later ones are compared with."""
        self._add(_text(item))

    def find(self, item: Item) -> Match | None:
        """Return what an item repeats, or None; the item itself is not added."""
        text = _text(item)
        return self._one_change(text) or self._passages(text)

    def _add(self, text: _Text) -> None:
        number = len(self._texts)
        self._texts.append(text)
        for half in _halves(text.tokens):
            self._by_half[half].append(number)
        for shingle in text.shingles - self._template:
            self._by_shingle[shingle].append(number)

    def _one_change(self, text: _Text) -> Match | None:
        found = None
        # One change leaves one of the two halves as it was.
        for half in _halves(text.tokens):
            for other in (self._texts[number] for number in self._by_half.get(half, ())):
                changed = [pair for pair in zip(text.tokens, other.tokens, strict=True) if pair[0] != pair[1]]
                if not changed and text.choices == other.choices:
                    return Match(other.id, "same", 1.0)
                if len(changed) > 1:
                    continue
                # Another number in the question makes other choices; another word, another question.
                number_changed = bool(changed) and all(token[0].isdecimal() for token in changed[0])
                if number_changed or _jaccard(text.choices, other.choices) >= SAME_CHOICES:
                    found = found or Match(other.id, "one change", 1.0)
        return found

    def _passages(self, text: _Text) -> Match | None:
        own = text.shingles - self._template
        if len(own) < FEWEST_SHINGLES:
            return None
        common = Counter(number for shingle in own for number in self._by_shingle.get(shingle, ()))
        similarity = {
            number: shared / (len(own) + len(self._texts[number].shingles - self._template) - shared)
            for number, shared in common.items()
        }
        # Of equals the first, or the answer would change with the order in a set.
        best = max(similarity, key=lambda number: (similarity[number], -number), default=None)
        if best is None or similarity[best] < ENOUGH:
            return None
        return Match(self._texts[best].id, "passages", similarity[best])


def _text(item: Item) -> _Text:
    tokens = _tokens(item.question)
    # In the order of the alphabet, so that another order of the choices is no difference.
    choices = sorted(" ".join(_tokens(choice)) for choice in item.choices)
    whole = (*tokens, *(token for choice in choices for token in ("|", *choice.split())))
    shingles = (hash(whole[at : at + SHINGLE]) for at in range(max(1, len(whole) - SHINGLE + 1)))
    return _Text(item.id, tokens, frozenset(choices), frozenset(shingles))


def _tokens(text: str) -> tuple[str, ...]:
    """Return words, numbers and signs of a text, without how it is set."""
    text = _SPACING.sub(" ", unicodedata.normalize("NFKC", text).casefold())
    return tuple(token for token in _TOKEN.findall(text) if token not in _PUNCTUATION)


def _halves(tokens: tuple[str, ...]) -> tuple[tuple[object, ...], tuple[object, ...]]:
    middle = len(tokens) // 2
    return (len(tokens), 0, hash(tokens[:middle])), (len(tokens), 1, hash(tokens[middle:]))


def _jaccard(one: frozenset[str], other: frozenset[str]) -> float:
    return len(one & other) / len(one | other) if one or other else 1.0
