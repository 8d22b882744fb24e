"""Does BenchMIRT predict answers that it has not seen, at what cost, and do few items tell what all do?

Set A: gsm8k, math_level5 and cruxeval_o of ZeroEval; set B: the five tinyBenchmarks of ATLAS; of both the models that
are in every matrix. They are read from --matrices and left out without it.

Table 1: a tenth of the cells hidden at a time, in as many folds as fit_mirt.py takes to choose D. Accuracy and log-loss
of the hidden answers, and by how much the log-loss is below that of the benchmark mean and of the additive model, with
95 % intervals over models. "best" is the D of the highest held-out log-likelihood, "chosen" the smallest that is as
good but for chance or a thousandth of a nat.
Table 2: 100 simulated models, 30,000 items of three benchmarks that mix two abilities in different ways, loadings
log-normal, a tenth of the cells hidden. Seconds are of the fit alone, CPU seconds of all its threads; peak MB is of its
process, or of the one that started it if that is more. r is the correlation with the true abilities after Procrustes.
Table 3: the same with 3,000 items, also for py-irt and PyPI's mirt, each in an environment of its own, whose Python
--py-irt and --mirt name; a peer that is not named is left out. perf/mirt_peers.py says how each is called. py-irt is
started again where it crashes, and given up after three crashes; seconds are of the attempt that ended, or of all if
none did, and then there is no bar. "x" is how many times the seconds of ours. The bar of 100 is for 5,000 epochs. A
program that has not ended after a quarter of an hour is stopped.
Table 4: a tenth of the items chosen without a fifth of the models, which then are judged, beside random items and
random ones of the same mix of difficulty: the correlation of their abilities by a tenth of a random half of the items
with those by the other half; the error of predicted scores; and, of a tenth of all items, the correlation with the
abilities by all, which favours the choice, as its answers are on both sides.
Last, each bar with what was measured. It ends with 1 where one is missed. The bars of accuracy and log-loss on real
data are what a prototype with fixed priors and one start reached on other random cells, on set B with 4 dimensions.

Examples:
  python perf/mirt.py --only simulated    # a quick look
  python perf/mirt.py --matrices ~/matrices --py-irt ~/py-irt/bin/python --mirt ~/mirt/bin/python
"""

from __future__ import annotations

import argparse
import os
import platform
import sys
import tempfile
from collections.abc import Sequence
from itertools import islice
from pathlib import Path
from typing import Any, NamedTuple

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

import numpy as np

from irt.arrays import FloatArray, IntArray
from irt.command import run
from irt.held_out import (
    FOLDS,
    Comparison,
    cell_log_likelihood,
    choose_dims,
    folds,
    hide,
    rounds_of,
)
from irt.mirt import MirtSettings, fit_mirt
from irt.mirt_data import Benchmarks, read_benchmarks
from irt.prediction_protocols import splits
from irt.prediction_scores import PredictedCells, Score, score_predictions
from irt.predictors import ADDITIVE, BENCHMARK_MEAN, predict
from irt.rotation import canonical, procrustes
from irt.selection_check import FIGURES, check_selection, summary
from perf.cost import measure

SEED = 0
SECTIONS = ("sets", "simulated", "peers", "subsets")

MODELS, DIMS = 100, 2
ITEMS, PEER_ITEMS = 30_000, 3_000
# Of the three simulated benchmarks: the middle loadings on each ability, and the mean intercept.
MIDDLE_LOADINGS = np.array([[1.2, 0.3], [0.3, 1.2], [0.7, 0.7]])
LOADING_SD, INTERCEPT_SD = 0.5, 1.2
INTERCEPTS = np.array([1.0, 0.0, -1.0])

PEER_SECONDS = 900
# By program of perf/mirt_peers.py: the option that names its Python, and what it is called in the table.
PEERS = {
    "py-irt": ("py-irt", "py-irt, as published (5,000 epochs, lr 0.2)"),
    "py-irt-slower": ("py-irt", "py-irt, 5,000 epochs, lr 0.05"),
    "py-irt-default": ("py-irt", "py-irt, its defaults (2,000 epochs, lr 0.1)"),
    "mirt-gvem": ("mirt", "PyPI mirt, variational EM (GVEM)"),
    "mirt-em": ("mirt", "PyPI mirt, EM"),
}
PUBLISHED_EPOCHS = ("py-irt", "py-irt-slower")

FRACTION, MODEL_FOLDS, DRAWS = 0.1, 5, 20


class RealSet(NamedTuple):
    """Benchmarks, the dimensions to compare, and what the prototype reached, with which D if that is known."""

    matrices: tuple[str, ...]
    dims: tuple[int, ...]
    accuracy: float
    log_loss: float
    prototype_dims: int | None


SETS = {
    "A": RealSet(
        ("gsm8k__zeroeval", "math_level5__zeroeval", "cruxeval_o__zeroeval"), (1, 2, 3, 4), 0.871, 0.304, None
    ),
    "B": RealSet(
        (
            "tinyarc__atlas",
            "tinygsm8k__atlas",
            "tinyhellaswag__atlas",
            "tinytruthfulqa__atlas",
            "tinywinogrande__atlas",
        ),
        (1, 2, 3, 4, 8),
        0.893,
        0.243,
        4,
    ),
}
# The gain over the benchmark mean that BenchMIRT's authors report of their own data: 79 % against 70 %.
AUTHORS_GAIN = 0.09


class Bar(NamedTuple):
    """What is asked for beside what was measured."""

    what: str
    measured: float
    least: float
    most: float

    def met(self) -> bool:
        return self.least <= self.measured <= self.most


class Simulated(NamedTuple):
    """Truth and answers: theta (M, 2), a (N, 2), chance, correct, trials and hidden (M, N), benchmark_of (N,)."""

    theta: FloatArray
    a: FloatArray
    chance: FloatArray
    correct: IntArray
    trials: IntArray
    hidden: np.ndarray
    benchmark_of: IntArray

    def log_loss(self, chance: FloatArray) -> float:
        """Return the log-loss of the hidden answers."""
        cells = (values[self.hidden] for values in (self.correct, self.trials, chance))
        return -float(cell_log_likelihood(*cells).mean())

    def ability_r(self, theta: FloatArray, a: FloatArray) -> list[float]:
        """Return the correlation of each ability with the true one, turned by the loadings."""
        turned = theta @ procrustes(a, self.a)
        return [float(np.corrcoef(turned[:, k], self.theta[:, k])[0, 1]) for k in range(DIMS)]


class Fitted(NamedTuple):
    """What a program came to on simulated data; ``found`` is what perf/mirt_peers.py wrote, None if stopped."""

    found: dict[str, Any] | None
    peak_mb: float


def simulate(items: int) -> Simulated:
    """Draw abilities, items and one answer a cell, and hide a tenth."""
    rng = np.random.default_rng([SEED, items])
    benchmark_of = np.arange(items) * len(INTERCEPTS) // items
    theta = rng.normal(size=(MODELS, DIMS))
    a = MIDDLE_LOADINGS[benchmark_of] * np.exp(LOADING_SD * rng.normal(size=(items, DIMS)))
    d = INTERCEPTS[benchmark_of] + INTERCEPT_SD * rng.normal(size=items)
    chance = 1 / (1 + np.exp(-theta @ a.T - d))
    correct = rng.binomial(1, chance)
    trials = np.ones_like(correct)
    return Simulated(theta, a, chance, correct, trials, folds(trials, FOLDS, SEED) == 0, benchmark_of)


def fit_in_process(program: str, python: str, data: Simulated) -> Fitted:
    """Fit what is not hidden with perf/mirt_peers.py, in a process of its own."""
    with tempfile.TemporaryDirectory() as name:
        answers, predicted = Path(name, "answers.npz"), Path(name, "predicted.npz")
        correct, trials = hide(data.correct, data.trials, data.hidden)
        np.savez(answers, correct=correct, trials=trials, benchmark_of=data.benchmark_of, dims=DIMS)
        runner = [python, str(Path(__file__).with_name("mirt_peers.py")), f"--limit={PEER_SECONDS}"]
        cost = measure([*runner, program, str(answers), str(predicted)])
        if not predicted.exists():
            return Fitted(None, cost.peak_mb)
        with np.load(predicted) as file:
            return Fitted(dict(file), cost.peak_mb)


# Tables -----------------------------------------------------------------------------------------------------------


def read_set(folder: Path, name: str) -> Benchmarks:
    """Return the answers of the models that are in every matrix of a set."""
    paths = [folder / f"{matrix}.csv.gz" for matrix in SETS[name].matrices]
    return read_benchmarks(paths, common_models=True)


def predict_cells(data: Benchmarks, dims: Sequence[int]) -> tuple[PredictedCells, int]:
    """Predict the hidden cells of the first folds; return them and how many fits had not converged."""
    models: list[IntArray] = []
    items: list[IntArray] = []
    unconverged = 0
    chances: dict[str, list[FloatArray]] = {}
    for split in islice(splits(data.trials, "cells", FOLDS, 1, SEED), rounds_of(data.trials)):
        found = predict(data.correct, data.trials, data.benchmark_of, split, dims, SEED)
        for numbers, column in zip((models, items), np.nonzero(split.hidden), strict=True):
            numbers.append(column)
        for name, chance in found.probability.items():
            chances.setdefault(name, []).append(chance)
        unconverged += found.unconverged
    model, item = np.concatenate(models), np.concatenate(items)
    counts = data.correct[model, item], data.trials[model, item]
    probability_of = {name: np.concatenate(parts) for name, parts in chances.items()}
    return PredictedCells(model, data.benchmark_of[item], *counts, probability_of), unconverged


def compare(cells: PredictedCells, dims: Sequence[int]) -> Comparison:
    """Return the dimensions compared on the cells."""
    log_likelihood = {
        count: cell_log_likelihood(cells.correct, cells.trials, cells.probability[f"{count}-D"])
        for count in dims
    }
    return choose_dims(log_likelihood, cells.trials, cells.model)


def print_set(name: str, data: Benchmarks) -> list[Bar]:
    """Print the rows of table 1 of a set; return its bars."""
    expected = SETS[name]
    cells, unconverged = predict_cells(data, expected.dims)
    scores = score_predictions(cells, data.names, (ADDITIVE, BENCHMARK_MEAN), SEED)
    micro = {(one.predictor, one.baseline, one.metric): one for one in scores if one.average == "micro"}
    comparison = compare(cells, expected.dims)
    best = next(entry.dims for entry in comparison.held_out if entry.behind == 0)
    for predictor in (BENCHMARK_MEAN, ADDITIVE, *(f"{count}-D" for count in expected.dims)):
        words = [
            word for word, dims in (("best", best), ("chosen", comparison.chosen)) if predictor == f"{dims}-D"
        ]
        print(
            f"{name:3} {predictor:15}{micro[predictor, '', 'accuracy'].value:9.4f}"
            f"{micro[predictor, '', 'log-loss'].value:10.4f}"
            f"{less_than(micro, predictor, BENCHMARK_MEAN):>27}{less_than(micro, predictor, ADDITIVE):>27}"
            f"  {', '.join(words)}".rstrip(),
            flush=True,
        )
    size = (
        f"{len(data.models):,} models, {len(data.items):,} items, {int(cells.trials.sum()):,} hidden answers"
    )
    print(f"{name:3} {size}; fits that had not converged: {unconverged}")
    own, like = f"{best}-D", f"{expected.prototype_dims or best}-D"
    over_mean = micro[own, BENCHMARK_MEAN, "accuracy"].value
    # A difference is below 0 where the log-loss is lower.
    over_additive = -micro[own, ADDITIVE, "log-loss"].high
    return [
        Bar(f"{name}, {like}: accuracy", micro[like, "", "accuracy"].value, expected.accuracy, 1.0),
        Bar(f"{name}, {like}: log-loss", micro[like, "", "log-loss"].value, 0.0, expected.log_loss),
        Bar(f"{name}, {own}: accuracy above the benchmark mean's", over_mean, AUTHORS_GAIN, 1.0),
        Bar(f"{name}, {own}: log-loss below the additive's, lower limit", over_additive, 0.0, np.inf),
    ]


def less_than(micro: dict[tuple[str, str, str], Score], predictor: str, baseline: str) -> str:
    """Return by how much the log-loss is below a baseline's, with its interval."""
    if predictor == baseline:
        return ""
    gain = micro[predictor, baseline, "log-loss"]
    return f"{-gain.value:+.4f} [{-gain.high:+.4f}, {-gain.low:+.4f}]"


def print_simulated() -> list[Bar]:
    """Print table 2; return its bars."""
    data = simulate(ITEMS)
    ours = fit_in_process("ours", sys.executable, data)
    assert ours.found is not None
    truth, log_loss = data.log_loss(data.chance), data.log_loss(ours.found["chance"])
    r = data.ability_r(ours.found["theta"], ours.found["a"])
    print(
        f"{'models':>6}{'items':>8}{'seconds':>9}{'CPU s':>8}{'peak MB':>9}{'log-loss':>10}"
        f"{'of the truth':>14}{'r':>16}"
    )
    print(
        f"{MODELS:6}{ITEMS:8,}{ours.found['seconds']:9.1f}{ours.found['cpu_seconds']:8.1f}{ours.peak_mb:9,.0f}"
        f"{log_loss:10.4f}{truth:14.4f}{', '.join(f'{value:.3f}' for value in r):>16}",
        flush=True,
    )
    return [
        Bar("simulated: seconds", float(ours.found["seconds"]), 0.0, 30.0),
        Bar("simulated: peak GB", ours.peak_mb / 1000, 0.0, 4.0),
        Bar("simulated: log-loss above the truth's", log_loss - truth, -np.inf, 0.02),
        Bar("simulated: r of the abilities, the lower", min(r), 0.95, 1.0),
    ]


def print_peers(pythons: dict[str, str]) -> list[Bar]:
    """Print table 3; return its bars. ``pythons`` has the interpreter of each peer to be compared."""
    data = simulate(PEER_ITEMS)
    print(f"{'program':46}{'seconds':>9}{'CPU s':>8}{'crashes':>9}{'log-loss':>10}{'x':>10}")
    ours = fit_in_process("ours", sys.executable, data)
    assert ours.found is not None
    own_seconds = float(ours.found["seconds"])
    own_loss = print_program("ours", ours, data, own_seconds)
    assert own_loss is not None
    print(f"{'the true parameters':46}{'':26}{data.log_loss(data.chance):10.4f}", flush=True)
    bars = []
    for program, (peer, name) in PEERS.items():
        if not pythons[peer]:
            print(f"left out {name}: give --{peer} PYTHON")
            continue
        fitted = fit_in_process(program, pythons[peer], data)
        log_loss = print_program(name, fitted, data, own_seconds)
        if log_loss is None:
            continue
        assert fitted.found is not None
        if program in PUBLISHED_EPOCHS:
            bars.append(
                Bar(f"times as fast as {name}", float(fitted.found["seconds"]) / own_seconds, 100.0, np.inf)
            )
        bars.append(Bar(f"log-loss less that of {name}", own_loss - log_loss, -np.inf, 0.0))
    return bars


def print_program(name: str, fitted: Fitted, data: Simulated, own_seconds: float) -> float | None:
    """Print a program's row; return its log-loss, None where it came to no end."""
    if fitted.found is None:
        print(f"{name:46}{f'> {PEER_SECONDS:,}':>9}", flush=True)
        return None
    found = fitted.found
    log_loss = data.log_loss(found["chance"]) if "chance" in found else None
    ratio = f"{found['seconds'] / own_seconds:,.0f} x"
    print(
        f"{name:46}{found['seconds']:9.1f}{found['cpu_seconds']:8.1f}{found['crashes']:9}"
        f"{'none' if log_loss is None else f'{log_loss:.4f}':>10}{ratio:>10}".rstrip(),
        flush=True,
    )
    return log_loss


def print_subsets(name: str, data: Benchmarks) -> list[Bar]:
    """Print the rows of table 4 of a set; return its bars."""
    settings = MirtSettings(dims=DIMS, starts=1, seed=SEED)
    whole = fit_mirt(data.correct, data.trials, data.benchmark_of, settings)
    _, turn = canonical(whole)
    count = round(FRACTION * len(data.items))
    bars = []
    for dimension in range(DIMS):
        check = check_selection(
            data,
            whole,
            turn,
            settings=settings,
            dimension=dimension,
            count=count,
            folds=MODEL_FOLDS,
            draws=DRAWS,
            report=lambda done: None,
        )
        found = summary(check, SEED)
        for subset, row in found.items():
            cells = "".join(
                f"{'' if np.isnan(one.value) else f'{one.value:+.3f} [{one.low:+.3f}, {one.high:+.3f}]':>26}"
                for one in row
            )
            print(f"{name:3}{dimension + 1:10}{count:7,}  {subset:24}{cells}".rstrip(), flush=True)
        gain = found["selected minus random"][0].value
        bars.append(
            Bar(f"{name}, ability {dimension + 1}: r by selected less by random items", gain, 0.0, 1.0)
        )
    return bars


def print_bars(bars: Sequence[Bar]) -> bool:
    """Print what is asked for beside what was measured; return whether all is met."""
    print("\n5. Bars")
    for bar in bars:
        asked = f"{bar.least:g} to {bar.most:g}"
        if bar.most == np.inf:
            asked = f"at least {bar.least:g}"
        elif bar.least == -np.inf:
            asked = f"at most {bar.most:g}"
        print(f"{bar.what:72}{bar.measured:10.4g}   {asked:14} {'ok' if bar.met() else 'NO'}")
    return all(bar.met() for bar in bars)


def parse_arguments() -> argparse.Namespace:
    """Return the checked command line."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--matrices", type=Path, metavar="DIR", help="for tables 1 and 4 (left out)")
    parser.add_argument("--py-irt", default="", metavar="PYTHON", help="of an environment with py-irt 0.7.1")
    parser.add_argument("--mirt", default="", metavar="PYTHON", help="of an environment with mirt 1.2.0")
    parser.add_argument("--only", nargs="+", choices=SECTIONS, default=SECTIONS, help="tables (all)")
    return parser.parse_args()


def main() -> int:
    """Print four tables, then the bars."""
    args = parse_arguments()
    print(f"Python {platform.python_version()}, {platform.machine()}, {os.cpu_count()} processors")
    real = {}
    if {"sets", "subsets"}.intersection(args.only):
        if args.matrices is None:
            print("left out tables 1 and 4, which need response matrices: give --matrices DIR")
        else:
            real = {name: read_set(args.matrices, name) for name in SETS}
    bars: list[Bar] = []
    if real and "sets" in args.only:
        print("\n1. Hidden answers of real models")
        print(
            f"{'set':3} {'predictor':15}{'accuracy':>9}{'log-loss':>10}{'below the benchmark mean':>27}"
            f"{'below the additive model':>27}"
        )
        for name, data in real.items():
            bars += print_set(name, data)
    if "simulated" in args.only:
        print("\n2. Simulated")
        bars += print_simulated()
    if "peers" in args.only:
        print("\n3. Peers, simulated")
        bars += print_peers({"py-irt": args.py_irt, "mirt": args.mirt})
    if real and "subsets" in args.only:
        print("\n4. A tenth of the items, judged by models not used for the choice")
        print(
            f"{'set':3}{'dimension':>10}{'items':>7}  {'subset':24}{''.join(f'{name:>26}' for name in FIGURES)}"
        )
        for name, data in real.items():
            bars += print_subsets(name, data)
    return 0 if print_bars(bars) else 1


if __name__ == "__main__":
    run(main)
