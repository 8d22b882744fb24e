"""Fit the answers of a file by one program and say what it predicts: ours, or a peer in an environment of its own.

Input   an .npz file: correct and trials (models, items), 0 trials = hidden; benchmark_of (items,); dims.
Output  an .npz file: chance (models, items), P(correct) of every cell; seconds and cpu_seconds of the fit alone,
        without imports and the reading of files; crashes: how many attempts came before, each with the next seed. Of
        ours also theta and a. No chance if every attempt crashed, and no file if the time of --limit ran out.

The Python that runs a peer needs no package but that peer.

Programs:
  ours            irt/mirt.py with its defaults
  py-irt          py-irt's multidim_2pl as published for BenchMIRT: 5,000 epochs, learning rate 0.2, best parameters
  py-irt-slower   the same with learning rate 0.1
  py-irt-default  the same with py-irt's own defaults: 2,000 epochs, learning rate 0.1
  mirt-em         PyPI mirt's fit_mirt with its defaults, but without standard errors; abilities by EAP
  mirt-gvem       its Gaussian variational EM with its defaults; abilities by EAP

Examples:
  python perf/mirt_peers.py ours answers.npz predicted.npz
  python perf/mirt_peers.py py-irt answers.npz predicted.npz    # with the Python that has py-irt
"""

from __future__ import annotations

import argparse
import signal
import sys
import time
from collections.abc import Mapping
from pathlib import Path
from types import FrameType
from typing import Any

# In place of this folder, not beside it: its mirt.py is not the peer of that name.
sys.path[0] = str(Path(__file__).resolve().parents[1])

import numpy as np

from irt.command import run

# py-irt's authors say that it may crash and have to be started again.
ATTEMPTS = 3
EPOCHS = {"py-irt": 5000, "py-irt-slower": 5000, "py-irt-default": 2000}
LEARNING_RATE = {"py-irt": 0.2, "py-irt-slower": 0.05, "py-irt-default": 0.1}
PROGRAMS = ("ours", *EPOCHS, "mirt-em", "mirt-gvem")


class Clock:
    """Seconds since it was made, and CPU seconds of all threads."""

    def __init__(self) -> None:
        self.started = time.perf_counter(), time.process_time()

    def read(self) -> dict[str, float]:
        return {
            "seconds": time.perf_counter() - self.started[0],
            "cpu_seconds": time.process_time() - self.started[1],
        }


class OutOfTimeError(Exception):
    """The time of --limit ran out."""


def fit_ours(answers: Mapping[str, Any]) -> dict[str, Any]:
    """Fit with the defaults."""
    from irt.mirt import MirtSettings, fit_mirt

    settings = MirtSettings(dims=int(answers["dims"]))
    clock = Clock()
    fit = fit_mirt(answers["correct"], answers["trials"], answers["benchmark_of"], settings)
    return {**clock.read(), "chance": fit.probability(), "crashes": 0, "theta": fit.theta, "a": fit.a}


def fit_py_irt(answers: Mapping[str, Any], epochs: int, learning_rate: float) -> dict[str, Any]:
    """Fit multidim_2pl, which has no predict method: P = σ(Σ a(θ − b)) at the exported parameters."""
    import pandas as pd
    import pyro
    from py_irt.config import IrtConfig
    from py_irt.dataset import Dataset
    from py_irt.training import IrtModelTrainer

    items = [f"q{number}" for number in range(answers["trials"].shape[1])]
    frame = pd.DataFrame(np.where(answers["trials"] > 0, answers["correct"], np.nan), columns=items)
    frame["model"] = [f"m{number}" for number in range(len(frame))]
    dataset = Dataset.from_pandas(frame, subject_column="model", item_columns=items)
    config = IrtConfig(
        model_type="multidim_2pl", dims=int(answers["dims"]), epochs=epochs, lr=learning_rate, lr_decay=0.9999
    )
    together = Clock()
    for attempt in range(ATTEMPTS):
        pyro.set_rng_seed(attempt)
        trainer = IrtModelTrainer(data_path=None, config=config, dataset=dataset, verbose=False)
        clock = Clock()
        try:
            trainer.train(device="cpu")
        except ValueError as error:  # Pyro's, where parameters have become NaN
            print(f"seed {attempt} crashed: {str(error).splitlines()[0]}", file=sys.stderr)
            continue
        taken = clock.read()
        ability, diff, disc = (np.array(trainer.best_params[name]) for name in ("ability", "diff", "disc"))
        logit = ability @ disc.T - np.sum(disc * diff, axis=1)
        return {**taken, "chance": (1 + np.tanh(logit / 2)) / 2, "crashes": attempt}
    return {**together.read(), "crashes": ATTEMPTS}


def fit_peer_mirt(answers: Mapping[str, Any], variational: bool) -> dict[str, Any]:
    """Fit a two-parameter logistic model of several factors; its predictions are at EAP abilities."""
    import mirt

    responses = np.where(answers["trials"] > 0, answers["correct"], -1)
    dims = int(answers["dims"])
    clock = Clock()
    if variational:
        from mirt.estimation import GVEMEstimator
        from mirt.models import TwoParameterLogistic

        model = TwoParameterLogistic(n_items=responses.shape[1], n_factors=dims)
        result = GVEMEstimator().fit(model, responses)
    else:
        result = mirt.fit_mirt(responses, n_factors=dims, compute_standard_errors=False)
    theta = mirt.fscores(result, responses).theta
    return {**clock.read(), "chance": result.model.probability(theta), "crashes": 0}


def stop(signal_number: int, frame: FrameType | None) -> None:
    """End the fit."""
    raise OutOfTimeError


def main() -> int:
    """Read, fit, write."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("program", choices=PROGRAMS)
    parser.add_argument("answers", type=Path, help="input")
    parser.add_argument("predicted", type=Path, help="output")
    parser.add_argument("--limit", type=int, default=0, metavar="SECONDS", help="then stop (none)")
    args = parser.parse_args()
    with np.load(args.answers) as file:
        answers = dict(file)
    signal.signal(signal.SIGALRM, stop)
    signal.alarm(args.limit)
    try:
        if args.program == "ours":
            found = fit_ours(answers)
        elif args.program in EPOCHS:
            found = fit_py_irt(answers, EPOCHS[args.program], LEARNING_RATE[args.program])
        else:
            found = fit_peer_mirt(answers, variational=args.program == "mirt-gvem")
    except OutOfTimeError:
        return 0
    signal.alarm(0)
    np.savez(args.predicted, **found)
    return 0


if __name__ == "__main__":
    run(main)
