"""Hides cells, scores how well a fit predicts them, and chooses the number of dimensions by that."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import numpy as np

from irt.arrays import FloatArray, IntArray
from irt.io import InputError
from irt.mirt import MirtSettings, fit_mirt
from irt.mirt_data import groups_of
from irt.streams import Purpose, stream

# A tenth of the cells is hidden at a time: in turn, until this many answers have been predicted, or five tenths.
FOLDS = 10
ENOUGH_ANSWERS = 20_000
MOST_FOLDS = 5

# In nats an answer: the probability given to the right answer rises by a thousandth of itself.
WORTH_A_DIMENSION = 0.001

# No prediction is taken to be surer than this, or one answer could outweigh all others.
SUREST = 1e-9


@dataclass(frozen=True)
class HeldOut:
    """How well D dimensions predict the hidden answers.

    Attributes
    ----------
    dims
        D.
    log_likelihood
        Mean natural logarithm of the probability given to an answer: 0 is perfect, −0.693 is a coin.
    standard_error
        Of that mean, with the models as the sample; NaN where the hidden answers are all of one model.
    behind, behind_standard_error
        By how much it falls short of the best D, and the standard error of this difference, which is over the same
        cells and so far smaller than that of either mean; 0 for the best.
    """

    dims: int
    log_likelihood: float
    standard_error: float
    behind: float
    behind_standard_error: float


@dataclass(frozen=True)
class Comparison:
    """The dimensions compared.

    Attributes
    ----------
    held_out
        Smallest D first.
    answers
        How many were hidden in all.
    chosen
        The chosen D.
    not_converged
        The fits that stopped at their last iteration, by D and fold, in words.
    """

    held_out: tuple[HeldOut, ...]
    answers: int
    chosen: int
    not_converged: tuple[str, ...] = ()


def folds(trials: IntArray, count: int, seed: int) -> IntArray:
    """Return the fold, 0 … count − 1, of every answered cell, (M, N), as equal in size as can be; −1 for a blank."""
    asked = np.flatnonzero(trials.ravel() > 0)
    fold = np.full(trials.size, -1, dtype=np.int64)
    fold[asked] = stream(seed, Purpose.HIDDEN_CELLS, count).permutation(len(asked)) % count
    return fold.reshape(trials.shape)


def hide(correct: IntArray, trials: IntArray, hidden: np.ndarray) -> tuple[IntArray, IntArray]:
    """Return the counts and trials, (M, N), with those of the hidden cells set to 0 = never asked."""
    return np.where(hidden, 0, correct), np.where(hidden, 0, trials)


def check_connected(trials: IntArray, hidden: str) -> None:
    """Refuse what is left to fit, (M, N) trials, if it falls into groups of models without a common item.

    Nothing would relate their abilities, as where all answers fall apart, and how well such a fit predicts would say
    nothing of a fit to them all. ``hidden`` says what was hidden.
    """
    groups = int(groups_of(trials).max()) + 1
    if groups > 1:
        raise InputError(
            f"without {hidden} the models fall into {groups} groups without a common item, so their abilities cannot "
            "be compared; try another --seed, or give matrices with more models in common"
        )


def cell_log_likelihood(correct: FloatArray | IntArray, trials: IntArray, chance: FloatArray) -> FloatArray:
    """Return the log probability of the answers of each cell, in the order they came, from P(correct) = ``chance``.

    All of one shape. A cell of n trials counts n answers, without the binomial coefficient: the mean over answers is
    then the negative log-loss.
    """
    sure = np.clip(chance, SUREST, 1 - SUREST)
    return np.asarray(correct * np.log(sure) + (trials - correct) * np.log1p(-sure), dtype=float)


def mean_and_error(values: FloatArray, trials: IntArray, model_of: IntArray) -> tuple[float, float]:
    """Return Σ values / Σ trials over cells and its standard error, with the models as the sample.

    The cells of a model go wrong together, where its abilities do: taken one by one they would feign precision. With
    one model the standard error is NaN; with M it has the factor √(M/(M − 1)) of a sample's.
    """
    mean = values.sum() / trials.sum()
    models = len(np.unique(model_of))
    if models == 1:
        return float(mean), float("nan")
    apart = np.bincount(model_of, weights=values - mean * trials)
    return float(mean), float(np.sqrt(models / (models - 1) * np.sum(apart**2)) / trials.sum())


def compare_dims(
    correct: IntArray,
    trials: IntArray,
    benchmark_of: IntArray,
    dims: Sequence[int],
    settings: MirtSettings,
    done: Callable[[int], None],
) -> Comparison:
    """Predict hidden answers with each number of dimensions and choose among them.

    The smallest D is chosen whose mean falls short of the best by at most one standard error of the difference (the
    rule of Breiman et al. 1984, here of the difference on the same cells) or by at most ``WORTH_A_DIMENSION``: a
    dimension more must show in what it predicts for models in general, as it has to be named, and with many cells even
    an idle one can come out ahead. One start a fit: starts differ by far less than dimensions do.

    Parameters
    ----------
    correct, trials
        (M, N) counts; 0 trials = never asked. At least 10 cells are answered.
    settings
        Those of the fits, but for ``dims`` and ``starts``.
    done
        Called with the number of fits that are done.

    Raises
    ------
    InputError
        Before the first fit, if the answers fall apart without those that a fold hides.
    """
    fold = folds(trials, FOLDS, settings.seed)
    for number in range(rounds_of(trials)):
        check_connected(np.where(fold == number, 0, trials), f"the answers that fold {number + 1} hides")
    gathered: dict[int, list[FloatArray]] = {count: [] for count in dims}
    asked: list[IntArray] = []
    model_of: list[IntArray] = []
    not_converged: list[str] = []
    for number in range(rounds_of(trials)):
        hidden = fold == number
        seen = hide(correct, trials, hidden)
        asked.append(trials[hidden])
        model_of.append(np.nonzero(hidden)[0])
        for position, count in enumerate(dims):
            fit = fit_mirt(*seen, benchmark_of, replace(settings, dims=count, starts=1))
            if not fit.converged:
                not_converged.append(f"{count}-D of fold {number + 1}")
            chance = fit.probability()[hidden]
            gathered[count].append(cell_log_likelihood(correct[hidden], trials[hidden], chance))
            done(number * len(dims) + position + 1)
    cells = {count: np.concatenate(values) for count, values in gathered.items()}
    comparison = choose_dims(cells, np.concatenate(asked), np.concatenate(model_of))
    return replace(comparison, not_converged=tuple(not_converged))


def rounds_of(trials: IntArray) -> int:
    """Return how many folds of these (M, N) trials are hidden in turn."""
    return int(min(MOST_FOLDS, np.ceil(ENOUGH_ANSWERS * FOLDS / trials.sum())))


def choose_dims(cells: dict[int, FloatArray], trials: IntArray, model_of: IntArray) -> Comparison:
    """Return the comparison of log-likelihoods by cell, one array for each D, of the same cells' trials and models."""
    best = max(cells, key=lambda count: cells[count].sum())
    held_out = []
    for count, values in sorted(cells.items()):
        behind, behind_error = mean_and_error(cells[best] - values, trials, model_of)
        held_out.append(HeldOut(count, *mean_and_error(values, trials, model_of), behind, behind_error))
    chosen = min(
        entry.dims
        for entry in held_out
        if entry.behind <= np.fmax(entry.behind_standard_error, WORTH_A_DIMENSION)
    )
    return Comparison(tuple(held_out), int(trials.sum()), chosen)
