"""The literal joint model under PyMC's own defaults: the peer that perf/fit.py measures fit_irt.py against.

Only the numbers of chains, warm-up and kept draws and the acceptance target are those of fit_irt.py; sampler and
mass matrix are what pm.sample chooses. Writes min_ess_bulk, max_r_hat and divergences as JSON.

Examples:
  python perf/joint_pymc.py matrix.csv --n-trials 8 --output out.json
  python perf/joint_pymc.py matrix.csv --n-trials 8 --guessing 0.25 --tune 50 --draws 50 --output out.json
"""

from __future__ import annotations

import argparse
import json
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

import numpy as np
import pymc as pm

from irt.convergence import diagnose
from irt.joint import joint_model
from irt.response_matrix import read_response_matrix
from irt.settings import SamplerSettings


def main() -> int:
    """Sample and write what came of it."""
    defaults = SamplerSettings()
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("matrix", type=Path)
    parser.add_argument("--n-trials", type=int, required=True)
    parser.add_argument("--guessing", type=float, default=0.0)
    parser.add_argument("--tune", type=int, default=defaults.tune)
    parser.add_argument("--draws", type=int, default=defaults.draws)
    parser.add_argument("--output", type=Path, required=True)
    args = parser.parse_args()

    matrix = read_response_matrix(args.matrix, n_trials=args.n_trials)
    correct, trials = np.array(matrix.correct, dtype=float), np.array(matrix.trials, dtype=float)
    with joint_model(correct, trials, np.full(len(matrix.items), args.guessing)):
        trace = pm.sample(
            tune=args.tune,
            draws=args.draws,
            chains=defaults.chains,
            cores=defaults.cores,
            target_accept=defaults.target_accept,
            random_seed=defaults.seed,
            progressbar=False,
            compute_convergence_checks=False,
        )
    r_hat, ess = zip(*(diagnose(trace.posterior[name].values) for name in ("theta", "b")), strict=True)
    outcome = {
        "min_ess_bulk": float(np.concatenate(ess).min()),
        "max_r_hat": float(np.concatenate(r_hat).max()),
        "divergences": int(trace.sample_stats["diverging"].sum()),
    }
    args.output.write_text(json.dumps(outcome))
    return 0


if __name__ == "__main__":
    sys.exit(main())
