"""The literal joint model under pm.sample. A helper that perf/fit.py measures as a peer; it prints nothing.

Only the numbers of chains, warm-up and kept draws and the acceptance target are those of fit_irt.py; mass matrix and
start are what pm.sample chooses for --sampler: pymc is PyMC's own NUTS, nutpie (with a diagonal mass matrix) is what
pm.sample takes by default where nutpie is installed, as it is here. Writes sampler, min_ess_bulk, max_r_hat and
divergences as JSON.

Examples:
  python perf/joint_pymc.py matrix.csv --n-trials 8 --sampler pymc --output out.json
  python perf/joint_pymc.py matrix.csv --trials-csv trials.csv --sampler nutpie --tune 50 --draws 50 --output out.json
"""

from __future__ import annotations

import argparse
import json
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

import numpy as np

from irt.command import run
from irt.response_matrix import read_response_matrix
from irt.settings import SamplerSettings


def parse_arguments() -> argparse.Namespace:
    """Return the command line."""
    defaults = SamplerSettings()
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("matrix", type=Path, help="response matrix, as for fit_irt.py")
    trials = parser.add_mutually_exclusive_group(required=True)
    trials.add_argument("--n-trials", type=int, help="trials of every cell that is not blank")
    trials.add_argument("--trials-csv", type=Path, help="trials by cell, in the layout of the matrix")
    parser.add_argument("--guessing", type=float, default=0.0, help="of all items (%(default)s)")
    parser.add_argument("--sampler", choices=("pymc", "nutpie"), required=True, help="nuts_sampler")
    parser.add_argument("--tune", type=int, default=defaults.tune, help="warm-up draws (%(default)s)")
    parser.add_argument("--draws", type=int, default=defaults.draws, help="kept draws (%(default)s)")
    parser.add_argument("--output", type=Path, required=True, help="the JSON file")
    return parser.parse_args()


def main() -> int:
    """Sample and write what came of it."""
    args = parse_arguments()
    settings = SamplerSettings(tune=args.tune, draws=args.draws)
    matrix = read_response_matrix(args.matrix, n_trials=args.n_trials, trials_path=args.trials_csv)
    correct, trials = np.array(matrix.correct, dtype=float), np.array(matrix.trials, dtype=float)

    import pymc as pm

    from irt.convergence import diagnose
    from irt.joint import joint_model

    with joint_model(correct, trials, np.full(len(matrix.items), args.guessing)):
        trace = pm.sample(
            nuts_sampler=args.sampler,
            tune=settings.tune,
            draws=settings.draws,
            chains=settings.chains,
            cores=settings.cores,
            target_accept=settings.target_accept,
            random_seed=settings.seed,
            progressbar=False,
            compute_convergence_checks=False,
        )
    r_hat, ess = zip(*(diagnose(trace.posterior[name].values) for name in ("theta", "b")), strict=True)
    outcome = {
        "sampler": args.sampler,
        "min_ess_bulk": float(np.concatenate(ess).min()),
        "max_r_hat": float(np.concatenate(r_hat).max()),
        "divergences": int(trace.sample_stats["diverging"].sum()),
    }
    args.output.write_text(json.dumps(outcome), encoding="utf-8")
    return 0


if __name__ == "__main__":
    run(main)
