"""Does BenchMIRT predict answers that it has not seen, at what cost, and do few items tell what all do?

Set A: gsm8k, math_level5 and cruxeval_o of ZeroEval; set B: the five tinyBenchmarks of ATLAS; of both the models that
are in every matrix. They are read from --matrices and left out without it.

Table 1: a tenth of the cells hidden at a time, in as many folds as fit_mirt.py takes to choose D. Accuracy and log-loss
of the hidden answers, and by how much the log-loss is below that of the benchmark mean and of the additive model, with
95 % intervals over models. "best" is the D of the highest held-out log-likelihood, "chosen" the smallest that is as
good but for chance or a thousandth of a nat.
"fixed priors" is a fit like the prototype's on the same cells: one start, Normal(0, 1) loadings, no refinement.
Table 2: 100 simulated models, 30,000 items of three benchmarks that mix two abilities in different ways, loadings
log-normal, a tenth of the cells hidden. Seconds are of the fit alone, CPU seconds of all its threads; peak MB is of its
process, or of the one that started it if that is more. r is the correlation with the true abilities after Procrustes.
Table 3: the same with 3,000 items, also for py-irt and PyPI's mirt, each in an environment of its own, whose Python
--py-irt and --mirt name; a peer that is not named is left out. perf/mirt_peers.py says how each is called. py-irt is
started again where it crashes, and given up after three crashes; seconds are of the attempt that ended, or of all if
none did, and then there is no bar. "x" is how many times the seconds of ours. The bar of 100 is for 5,000 epochs. A
program that has not ended after a quarter of an hour is stopped.
Table 4: a fifth of the models at a time, or of the items, of each of which only 20 answers are known.
Table 5: a tenth and half of the items chosen without a fifth of the models, which then are judged, beside random items
and random ones of the same mix of difficulty: the correlation of their abilities by that share of a random half of the
items with those by the other half; the error of predicted scores; and, of that share of all items, the correlation with
the abilities by all, which favours the choice, as its answers are on both sides.
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
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from irt.command import run
from irt.selection_check import FIGURES
from perf.bars import Bar, print_bars
from perf.mirt_real import FRACTIONS, SETS, print_new, print_set, print_subsets, read_set
from perf.mirt_simulated import print_peers, print_simulated

SECTIONS = ("sets", "simulated", "peers", "new", "subsets")
ON_REAL_DATA = ("sets", "new", "subsets")


def parse_arguments() -> argparse.Namespace:
    """Return the checked command line."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--matrices", type=Path, metavar="DIR", help="for tables 1, 4 and 5 (left out)")
    parser.add_argument("--py-irt", default="", metavar="PYTHON", help="of an environment with py-irt 0.7.1")
    parser.add_argument("--mirt", default="", metavar="PYTHON", help="of an environment with mirt 1.2.0")
    parser.add_argument("--only", nargs="+", choices=SECTIONS, default=SECTIONS, help="tables (all)")
    return parser.parse_args()


def main() -> int:
    """Print five tables, then the bars."""
    args = parse_arguments()
    print(f"Python {platform.python_version()}, {platform.machine()}, {os.cpu_count()} processors")
    real = {}
    if set(ON_REAL_DATA).intersection(args.only):
        if args.matrices is None:
            print("left out tables 1, 4 and 5, which need response matrices: give --matrices DIR")
        else:
            real = {name: read_set(args.matrices, name) for name in SETS}
    bars: list[Bar] = []
    if real and "sets" in args.only:
        print("\n1. Hidden answers of real models")
        print(
            f"{'set':3} {'predictor':18}{'accuracy':>9}{'log-loss':>10}{'below the benchmark mean':>27}"
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
    if real and "new" in args.only:
        print("\n4. New models and new items")
        print(
            f"{'set':3} {'':11}{'predictor':15}{'accuracy':>9}{'log-loss':>10}{'below the additive model':>27}"
        )
        for name, data in real.items():
            print_new(name, data, "models")
            print_new(name, data, "items")
    if real and "subsets" in args.only:
        print("\n5. A share of the items, judged by models not used for the choice")
        print(
            f"{'set':3}{'dimension':>10}{'items':>7}  {'subset':24}{''.join(f'{name:>26}' for name in FIGURES)}"
        )
        for name, data in real.items():
            for fraction in FRACTIONS:
                bars += print_subsets(name, data, fraction)
    print("\n6. Bars")
    return 0 if print_bars(bars) else 1


if __name__ == "__main__":
    run(main)
