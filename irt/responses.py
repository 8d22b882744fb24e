"""Response rows in, counts of correct answers out. Standard library only, Python 3.9+; no files.

A response row says whether one model answered one item correctly in one trial. Counting has two steps,
because they find different mistakes:

1. ``count_responses`` adds up the rows. It finds rows that cannot be used: a broken row, an answer that is
   not 0 or 1, an empty id, a trial that is there twice.
2. ``check_trials`` compares the number of trials of every (model, item) pair with what it should be.

Ids are text: never stripped, never read as numbers.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from itertools import chain
from operator import itemgetter
from typing import Iterable, Iterator, Optional, Sequence

from irt.io import InputError

COLUMNS = ("model", "item_id", "trial", "correct")

# How many offenders a message names; it counts the others.
SHOWN = 5

_POINTS = {"0": 0, "1": 1}

# All that is kept of a (model, item) pair is one integer: below this bit the number of correct answers, from
# this bit on one bit for each common trial id, set when it was seen. That is 50 bytes a pair for 100 trials.
_TRIAL_BITS = 32

# Trial ids after this many (an own id for every request, say) would make those integers long: a set.
_COMMON_TRIALS = 1024

Numbers = list[list[Optional[int]]]


@dataclass(frozen=True)
class ResponseCounts:
    """Counts of responses, ids in first-seen order.

    Attributes
    ----------
    models, items
        The ids.
    correct, trials
        Number of correct answers and of all answers, shape (models, items). Both are ``None`` where the model
        was never asked the item.
    """

    models: tuple[str, ...]
    items: tuple[str, ...]
    correct: Numbers
    trials: Numbers

    @property
    def responses(self) -> int:
        """Number of responses."""
        return sum(map(_total, self.trials))

    @property
    def blanks(self) -> int:
        """Number of pairs that were never asked."""
        return sum(row.count(None) for row in self.trials)

    def uneven(self, n_trials: int) -> bool:
        """Say whether some pair was asked, but not ``n_trials`` times."""
        return any(number not in (None, n_trials) for number in chain.from_iterable(self.trials))

    def constant_models(self) -> list[str]:
        """Return the models whose answers are all right or all wrong."""
        return _constant(self.models, self.correct, self.trials)

    def constant_items(self) -> list[str]:
        """Return the items whose answers are all right or all wrong."""
        return _constant(self.items, zip(*self.correct), zip(*self.trials))


def _total(numbers: Iterable[int | None]) -> int:
    return sum(filter(None, numbers))


def _constant(
    ids: Sequence[str],
    correct: Iterable[Sequence[int | None]],
    trials: Iterable[Sequence[int | None]],
) -> list[str]:
    return [name for name, right, asked in zip(ids, correct, trials) if _total(right) in (0, _total(asked))]


@dataclass
class _Offenders:
    """The first few things that are wrong, and how many there are in all."""

    shown: list[str] = field(default_factory=list)
    total: int = 0

    def add(self, text: str) -> None:
        self.total += 1
        if len(self.shown) < SHOWN:
            self.shown.append(text)

    def __str__(self) -> str:
        more = self.total - len(self.shown)
        return "; ".join(self.shown) + (f"; and {more:,} more" if more else "")


def count_responses(source: str, rows: Iterable[tuple[int, list[str]]]) -> ResponseCounts:
    """Add up response rows, in any order, without keeping them.

    Parameters
    ----------
    source
        The file's name, for messages.
    rows
        (line number, cells) as from ``irt.io.csv_rows``; the first holds the column names. The columns
        ``model``, ``item_id``, ``trial`` and ``correct`` may be in any order; others are ignored.

    Raises
    ------
    InputError
        If there are no responses, a column is missing, or rows cannot be used; the first few are named.
    """
    rows = iter(rows)
    header = _read_header(source, rows)
    offenders = _Offenders()
    tally = _Tally()
    # The loop runs once a response, so its usual case is nothing but look-ups. Whatever is new or wrong fails
    # to unpack or to be found, and is sorted out by add_unusual.
    cells_of, number_of, bit_of = tally.cells, tally.items, tally.trial_bits
    for line, row in _in_order(source, header, rows, offenders):
        try:
            model, item, trial, correct = row
            cells = cells_of[model]
            number = number_of[item]
            state = cells[number]
            bit = bit_of[trial]
            if state & bit:
                raise LookupError
            cells[number] = (state | bit) + _POINTS[correct]
        except (LookupError, ValueError):
            problem = tally.add_unusual(row)
            if problem:
                offenders.add(f"{source}:{line}: {problem}")
    if offenders.total:
        raise InputError(
            f"{offenders}. A row needs one cell for each column, ids that are not empty, correct 0 or 1, "
            "and a trial that its model and item have only once"
        )
    if not tally.cells:
        raise InputError(f"{source}: no responses below the column names; add one row for each answer")
    return tally.counts()


def check_trials(source: str, counts: ResponseCounts, n_trials: int, allow_missing: bool) -> None:
    """Check that every pair has ``n_trials`` trials or, with ``allow_missing``, at most that many.

    Raises
    ------
    InputError
        If not, with the first few pairs: what was found, what was expected.
    """
    offenders = _Offenders()
    found = set(chain.from_iterable(counts.trials))
    if allow_missing:
        found.discard(None)
    wrong = {number for number in found if _is_wrong(number, n_trials, allow_missing)}
    if not wrong:
        return
    for model, row in zip(counts.models, counts.trials):
        for item, number in zip(counts.items, row):
            if number in wrong:
                offenders.add(f"model {model!r}, item {item!r}: found {number or 0}, expected {n_trials}")
    advice = []
    if len(found) == 1:
        advice.append(f"set --n-trials {found.pop()}, which every pair has, if that is right")
    elif max(number or 0 for number in wrong) > n_trials:
        advice.append("remove the surplus rows or raise --n-trials")
    if not allow_missing and min(number or 0 for number in wrong) < n_trials:
        advice.append("add the missing rows, or accept them with --allow-missing")
    raise InputError(f"{source}: wrong number of trials: {offenders}. To mend it, {'; '.join(advice)}")


def _is_wrong(number: int | None, n_trials: int, allow_missing: bool) -> bool:
    return (number or 0) > n_trials if allow_missing else number != n_trials


def _read_header(source: str, rows: Iterator[tuple[int, list[str]]]) -> list[str]:
    """Return the column names, in which each name needed is found exactly once."""
    line, header = next(rows, (0, []))
    needed = ",".join(COLUMNS)
    if not header:
        raise InputError(f"{source}: the file is empty; its first line must be {needed}")
    for problem, names in (
        ("no column", [name for name in COLUMNS if name not in header]),
        ("more than one column", [name for name in COLUMNS if header.count(name) > 1]),
    ):
        if names:
            raise InputError(
                f"{source}:{line}: {problem} {', '.join(map(repr, names))}; the columns there are "
                f"{', '.join(map(repr, header))}; the first line must hold {needed} once each"
            )
    return header


def _in_order(
    source: str, header: list[str], rows: Iterator[tuple[int, list[str]]], offenders: _Offenders
) -> Iterator[tuple[int, list[str]]]:
    """Return the rows with their cells in the order of ``COLUMNS``."""
    if header == list(COLUMNS):
        return rows  # The usual case costs nothing; unpacking finds rows of another length.
    return _reordered(source, header, rows, offenders)


def _reordered(
    source: str, header: list[str], rows: Iterator[tuple[int, list[str]]], offenders: _Offenders
) -> Iterator[tuple[int, list[str]]]:
    pick = itemgetter(*map(header.index, COLUMNS))
    for line, row in rows:
        if len(row) == len(header):
            yield line, pick(row)
        else:
            offenders.add(f"{source}:{line}: {len(row)} cells instead of {len(header)}")


class _Tally:
    """The counts so far."""

    def __init__(self) -> None:
        self.cells: dict[
            str, list[int]
        ] = {}  # model → one integer an item, for as many items as it needed so far
        self.items: dict[str, int] = {}
        self.trial_bits: dict[str, int] = {}
        # Trials that have no bit: which were seen, and how many each pair has.
        self.rare_seen: set[str] = set()
        self.rare_trials: dict[tuple[str, int], int] = {}

    def add_unusual(self, row: Sequence[str]) -> str:
        """Count a row that has something new about it; return what is wrong with it, or ''."""
        if len(row) != len(COLUMNS):
            return f"{len(row)} cells instead of {len(COLUMNS)}"
        for name, cell in zip(COLUMNS, row):
            if not cell:
                return f"{name} is empty"
        model, item, trial, correct = row
        if correct not in _POINTS:
            return f"correct is {correct!r}, not 0 or 1"
        cells = self.cells.setdefault(model, [])
        number = self.items.setdefault(item, len(self.items))
        cells.extend([0] * (number + 1 - len(cells)))
        bit = self._bit(trial)
        seen = cells[number] & bit if bit else not self._is_new_rare_trial(model, number, trial)
        if seen:
            return f"trial {trial!r} of model {model!r}, item {item!r} is there already"
        cells[number] = (cells[number] | bit) + _POINTS[correct]
        return ""

    def _bit(self, trial: str) -> int:
        """Return the trial id's own bit, or 0 if there are too many ids for it to have one."""
        if trial not in self.trial_bits and len(self.trial_bits) < _COMMON_TRIALS:
            self.trial_bits[trial] = 1 << (_TRIAL_BITS + len(self.trial_bits))
        return self.trial_bits.get(trial, 0)

    def _is_new_rare_trial(self, model: str, item: int, trial: str) -> bool:
        # One string takes half the memory of a tuple. The lengths keep ids apart that contain a space.
        key = f"{item} {len(model)} {model}{trial}"
        if key in self.rare_seen:
            return False
        self.rare_seen.add(key)
        self.rare_trials[model, item] = self.rare_trials.get((model, item), 0) + 1
        return True

    def counts(self) -> ResponseCounts:
        """Return the counts."""
        points = (1 << _TRIAL_BITS) - 1
        correct: Numbers = []
        trials: Numbers = []
        for model, cells in self.cells.items():
            cells = cells + [0] * (len(self.items) - len(cells))
            asked = [bin(state >> _TRIAL_BITS).count("1") for state in cells]
            if self.rare_trials:
                asked = [n + self.rare_trials.get((model, item), 0) for item, n in enumerate(asked)]
            trials.append([n or None for n in asked])
            correct.append([state & points if n else None for state, n in zip(cells, asked)])
        return ResponseCounts(tuple(self.cells), tuple(self.items), correct, trials)
