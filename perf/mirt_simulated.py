"""Tables 2 and 3 of perf/mirt.py: simulated answers, whose truth is known, fitted by ours and by its peers."""

from __future__ import annotations

import sys
import tempfile
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from irt.arrays import FloatArray, IntArray
from irt.held_out import FOLDS, cell_log_likelihood, folds, hide
from irt.rotation import procrustes
from perf.bars import Bar
from perf.cost import measure

SEED = 0

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

    def recovery(self, theta: FloatArray, a: FloatArray) -> tuple[list[float], list[float]]:
        """Return the correlations of abilities and of loadings with the true ones, both turned by the loadings."""
        turn = procrustes(a, self.a)
        # θ → Tᵀθ, a → T⁻¹a, and T is orthogonal.
        pairs = ((theta @ turn, self.theta), (a @ turn, self.a))
        abilities, loadings = (
            [float(np.corrcoef(found[:, k], true[:, k])[0, 1]) for k in range(DIMS)] for found, true in pairs
        )
        return abilities, loadings


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


def print_simulated() -> list[Bar]:
    """Print table 2; return its bars."""
    data = simulate(ITEMS)
    ours = fit_in_process("ours", sys.executable, data)
    assert ours.found is not None
    truth, log_loss = data.log_loss(data.chance), data.log_loss(ours.found["chance"])
    r, of_loadings = data.recovery(ours.found["theta"], ours.found["a"])
    print(
        f"{'models':>6}{'items':>8}{'seconds':>9}{'CPU s':>8}{'peak MB':>9}{'log-loss':>10}"
        f"{'of the truth':>14}{'r of abilities':>16}{'of loadings':>16}"
    )
    print(
        f"{MODELS:6}{ITEMS:8,}{ours.found['seconds']:9.1f}{ours.found['cpu_seconds']:8.1f}{ours.peak_mb:9,.0f}"
        f"{log_loss:10.4f}{truth:14.4f}{as_text(r):>16}{as_text(of_loadings):>16}",
        flush=True,
    )
    return [
        Bar("simulated: seconds", float(ours.found["seconds"]), 0.0, 30.0),
        Bar("simulated: peak GB", ours.peak_mb / 1000, 0.0, 4.0),
        Bar("simulated: log-loss above the truth's", log_loss - truth, -np.inf, 0.02),
        Bar("simulated: r of the abilities, the lower", min(r), 0.95, 1.0),
    ]


def as_text(values: list[float]) -> str:
    """Return numbers with three decimals."""
    return ", ".join(f"{value:.3f}" for value in values)


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
