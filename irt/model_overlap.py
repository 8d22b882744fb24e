"""Says which models the matrices of several benchmarks have in common, and which names are likely slips.

Models are joined by their names as they stand: a name written otherwise in one matrix is another model there, and a fit
would run all the same. Standard library only.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from itertools import combinations

SHOWN_BENCHMARKS = 6
SHOWN_SLIPS = 3

# What differs between two spellings of one name, beside case.
_SEPARATORS = re.compile(r"[\s_./-]+")


def common_names(models_of: Mapping[str, Sequence[str]]) -> list[str]:
    """Return the models that are in the matrix of every benchmark, in the order of the first."""
    first, *others = models_of.values()
    sets = [set(models) for models in others]
    return [model for model in first if all(model in there for there in sets)]


def counts_of(models_of: Mapping[str, Sequence[str]]) -> str:
    """Return how many models each benchmark's matrix has, those with the fewest first, in words."""
    ordered = sorted(models_of.items(), key=lambda entry: len(entry[1]))
    shown = ", ".join(f"{name} {len(models):,}" for name, models in ordered[:SHOWN_BENCHMARKS])
    more = len(ordered) - SHOWN_BENCHMARKS
    return shown + (f", and {more} more benchmarks" if more > 0 else "")


def fewest_shared(models_of: Mapping[str, Sequence[str]]) -> str:
    """Return which matrix has the fewest models in common with another, and with which, in words."""
    sets = {name: set(models) for name, models in models_of.items()}
    one, other = min(combinations(sets, 2), key=lambda pair: len(sets[pair[0]] & sets[pair[1]]))
    # Of the two, the one that shares less with all the rest is the one to mend.
    worst = min(
        (one, other), key=lambda name: sum(len(sets[name] & sets[rest]) for rest in sets if rest != name)
    )
    rest = other if worst == one else one
    return f"{worst!r} has {len(sets[one] & sets[other]):,} in common with {rest!r}"


def likely_slips(models_of: Mapping[str, Sequence[str]]) -> list[tuple[str, str]]:
    """Return pairs of names that differ only in case, blanks, '-', '_', '.' or '/', and are in no matrix together.

    Two that are in the same matrix are two models.
    """
    matrices_with: dict[str, set[str]] = {}
    for benchmark, models in models_of.items():
        for model in models:
            matrices_with.setdefault(model, set()).add(benchmark)
    alike: dict[str, list[str]] = {}
    for model in matrices_with:
        alike.setdefault(_SEPARATORS.sub("", model).casefold(), []).append(model)
    return [
        (one, other)
        for names in alike.values()
        for one, other in combinations(names, 2)
        if not matrices_with[one] & matrices_with[other]
    ]


def overlap_warnings(models_of: Mapping[str, Sequence[str]], common_models: bool) -> list[str]:
    """Return a line if not all models are in all matrices, and one of names that are likely slips.

    Parameters
    ----------
    models_of
        The models in each benchmark's matrix.
    common_models
        Whether only those in every matrix are used.
    """
    warnings = []
    total, common = len(set().union(*models_of.values())), len(common_names(models_of))
    if common < total:
        if common_models:
            rest = f"--common-models leaves out {total - common:,}"
        else:
            rest = (
                f"--common-models uses only these {common:,}" if common > 1 else "too few for --common-models"
            )
        warnings.append(
            f"only {common:,} of {total:,} models are in all {len(models_of)} matrices ({counts_of(models_of)}); {rest}"
        )
    slips = likely_slips(models_of)
    if slips:
        shown = ", ".join(
            " and ".join(f"{name!r} in {_first_with(models_of, name)}" for name in pair)
            for pair in slips[:SHOWN_SLIPS]
        )
        more = f", and {len(slips) - SHOWN_SLIPS} more" if len(slips) > SHOWN_SLIPS else ""
        warnings.append(
            f"likely the same model under two names: {shown}{more}; models are joined by name as it stands"
        )
    return warnings


def _first_with(models_of: Mapping[str, Sequence[str]], model: str) -> str:
    """Return the first benchmark whose matrix has a model."""
    return next(benchmark for benchmark, models in models_of.items() if model in models)
