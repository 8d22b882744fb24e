"""Are abilities and new items' difficulties as uncertain as they say, and P(b in an interval) as probable?

The whole chain on simulated truth. Abilities and difficulties of 12 models and some items are drawn from the prior,
answers from the model, and fit_irt's fit makes the calibration table. verifier/fit_ability.py estimates the abilities
  own    of these models, from the matrix that the table was made from, and
  other  of 12 more models, from their answers to the same items;
then each panel answers new items, and verifier/new_item.py estimates their difficulty.

Table 1, own matrix: how fit_ability and fit_irt agree. Differences of means are in sds of fit_irt's, with a Monte Carlo
error of about 0.015; the ratio of the sds is 1 if they agree.
Table 2: the share of 90 % intervals that hold the truth, for abilities, and for new items drawn from the prior, from
Normal(+1.5, 0.3) and from Normal(-1.5, 0.3). All on the table's scale (the truth moved by the mean error of the table's
items), which is what counts for an interval between such items; "absolute" is on the simulator's own. SE is that of the
column before it, from the shares of whole benchmarks.
Table 3: of all pairs of a new item and an interval (0.5 or 1 wide, side by side from -3 to 3), in how many the item was
inside, by the probability that was stated. SE is that of observed less stated.
Table 4: the same for items that are aimed at the interval 1.2 to 1.8, as a rewriter's are (true difficulties
Normal(1.5, 0.5)). The prior of the estimate remains Normal(0, 1), so what is stated there is too low.

Examples:
  python perf/new_items.py                 # 10 simulated benchmarks a row, about 10 minutes on 2 cores
  python perf/new_items.py --repeats 2     # a quick look
"""

from __future__ import annotations

import argparse
import multiprocessing
import sys
from concurrent.futures import ProcessPoolExecutor
from itertools import product
from pathlib import Path
from typing import NamedTuple

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

import numpy as np
from scipy.stats import norm

from irt.arrays import FloatArray
from irt.command import run
from irt.settings import SamplerSettings, available_cpus
from tests.simulation import simulate_counts
from verifier.ability_posterior import Abilities, Calibration, fit_ability
from verifier.new_item import new_item_difficulties

MODELS = 12
ITEMS, TRIALS, GUESSING = (40, 200, 400), (1, 4, 8), (0.0, 1 / 3)
NEW_ITEMS = 300
TUNE, DRAWS = 300, 1000
FIRST_SEED = 2000  # far from the sampler's seeds
BINS = np.array([0.0, 0.02, 0.1, 0.3, 0.5, 0.7, 0.9, 1.0])
AIMED, AIM, AIM_SD = (1.2, 1.8), 1.5, 0.5


class Design(NamedTuple):
    """The shape of a simulated benchmark."""

    items: int
    trials: int
    guessing: float


class Shares(NamedTuple):
    """Of one panel: the share of 90 % intervals that hold the truth, and reliability counts, (bins, 3) each.

    The three are number, sum of the stated probabilities, and how many were inside.
    """

    ability: float
    new: float
    new_absolute: float
    hard: float
    easy: float
    reliability: FloatArray
    aimed: FloatArray


class Result(NamedTuple):
    """Of one benchmark: differences from fit_irt's means in its sds and ratios of sds, (M,) each, and two panels."""

    difference: FloatArray
    ratio: FloatArray
    own: Shares
    other: Shares


def answers(
    rng: np.random.Generator, theta: FloatArray, b: FloatArray, trials: int, guessing: float
) -> FloatArray:
    """Return counts of right answers, (models, items)."""
    p = guessing + (1 - guessing) / (1 + np.exp(b - theta[:, None]))
    return rng.binomial(trials, p).astype(float)


def chain(design: Design, number: int) -> Result:
    """Simulate one benchmark, calibrate it, and estimate both panels and their new items."""
    from irt.rasch import fit_rasch

    items, trials, guessing = design
    seed = FIRST_SEED + 100 * number + items + trials
    data = simulate_counts(MODELS, items, trials, guessing=guessing, seed=seed)
    settings = SamplerSettings(tune=TUNE, draws=DRAWS, seed=number, cores=1)
    fit = fit_rasch(data.correct, data.trials, guessing, settings=settings)
    table = Calibration(fit.difficulty.mean, fit.difficulty.sd)
    shift = float((data.b - table.mean).mean())
    rng = np.random.default_rng([seed, 1])
    own = fit_ability(data.correct, data.trials, guessing, table)
    others_theta = rng.normal(size=MODELS)
    others_correct = answers(rng, others_theta, data.b, trials, guessing)
    other = fit_ability(others_correct, data.trials, guessing, table, own_table=False)
    return Result(
        (own.mean - fit.ability.mean) / fit.ability.sd,
        own.sd / fit.ability.sd,
        shares(rng, design, data.theta, own, shift),
        shares(rng, design, others_theta, other, shift),
    )


def shares(
    rng: np.random.Generator, design: Design, theta: FloatArray, abilities: Abilities, shift: float
) -> Shares:
    """Let one panel answer new items, and hold its estimates against the truth, which is ``shift`` off the scale."""

    def new(mean: float, sd: float) -> tuple[float, float, FloatArray, FloatArray]:
        b = mean + sd * rng.normal(size=NEW_ITEMS)
        counts = answers(rng, theta, b, design.trials, design.guessing).T
        found = new_item_difficulties(counts, design.trials, design.guessing, abilities)
        cells = np.concatenate(
            [
                reliability(found.probability_in((low, low + width)), b - shift, low, low + width)[None]
                for width in (0.5, 1.0)
                for low in np.arange(-3, 3, width)
            ]
        ).sum(axis=0)
        aimed = reliability(found.probability_in(AIMED), b - shift, *AIMED)
        below = [found.probability_in((-np.inf, truth)) for truth in (b - shift, b)]
        return held(below[0]), held(below[1]), cells, aimed

    on_scale = norm.cdf((theta - shift - abilities.mean) / abilities.sd_on_scale)
    prior, prior_absolute, cells, _ = new(0, 1)
    return Shares(
        ability=held(on_scale),
        new=prior,
        new_absolute=prior_absolute,
        hard=new(1.5, 0.3)[0],
        easy=new(-1.5, 0.3)[0],
        reliability=cells,
        aimed=new(AIM, AIM_SD)[3],
    )


def held(below: FloatArray) -> float:
    """Return the share of truths inside their central 90 %, from the posterior probability below each."""
    return float(np.mean(np.abs(below - 0.5) < 0.45))


def reliability(stated: FloatArray, b: FloatArray, low: float, high: float) -> FloatArray:
    """Return number, sum of stated probabilities and number inside of each bin, (bins, 3)."""
    place = np.clip(np.searchsorted(BINS, stated, side="right") - 1, 0, len(BINS) - 2)
    columns = (np.ones(len(b)), stated, (low < b) & (b < high))
    return np.stack([np.bincount(place, column, len(BINS) - 1) for column in columns], axis=1)


def error_of(values: list[float]) -> str:
    """Return the standard error of a mean over benchmarks, in per cent."""
    return f"{np.std(values, ddof=1) / np.sqrt(len(values)):6.1%}" if len(values) > 1 else f"{'-':>6}"


def print_reliability(title: str, benchmarks: list[FloatArray]) -> None:
    """Print stated against observed; a standard error is that of the difference, from whole benchmarks."""
    counts = np.array(benchmarks)  # (benchmarks, bins, 3)
    total = counts.sum(axis=0)
    print(f"\n{title}\n{'stated':>12}{'pairs':>10}{'mean stated':>13}{'observed':>10}{'SE':>7}")
    for place, (number, stated, inside) in enumerate(total):
        if not number:
            continue
        excess = counts[:, place, 2] - counts[:, place, 1]
        error = np.sqrt(((excess - counts[:, place, 0] * excess.sum() / number) ** 2).sum()) / number
        print(
            f"{f'{BINS[place]:.0%} to {BINS[place + 1]:.0%}':>12}{number:10,.0f}{stated / number:13.1%}"
            f"{inside / number:10.1%}{error:7.1%}"
        )


def main() -> int:
    """Simulate, estimate, print four tables."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--repeats", type=int, default=10, help="simulated benchmarks a row (%(default)s)")
    args = parser.parse_args()
    if args.repeats < 1:
        parser.error(f"--repeats must be at least 1, got {args.repeats}")
    designs = [Design(*values) for values in product(ITEMS, TRIALS, GUESSING)]
    context = multiprocessing.get_context("spawn")
    results: dict[Design, list[Result]] = {}
    print("1. Abilities from the matrix that the table was made from, beside fit_irt's")
    print(
        f"{'items':>6}{'trials':>7}{'g':>6}{'difference: rms':>17}{'largest':>9}{'sd ratio: mean':>16}{'range':>14}"
    )
    with ProcessPoolExecutor(min(available_cpus(), args.repeats), mp_context=context) as pool:
        for design in designs:
            found = list(pool.map(chain, [design] * args.repeats, range(args.repeats)))
            results[design] = found
            difference, ratio = (np.array([getattr(r, n) for r in found]) for n in ("difference", "ratio"))
            print(
                f"{design.items:6}{design.trials:7}{design.guessing:6.2f}{np.sqrt((difference**2).mean()):17.3f}"
                f"{np.abs(difference).max():9.3f}{ratio.mean():16.3f}{f'{ratio.min():.2f} to {ratio.max():.2f}':>14}",
                flush=True,
            )
    print("\n2. In 90 % intervals")
    print(
        f"{'panel':6}{'items':>6}{'trials':>7}{'g':>6}{'abilities':>11}{'SE':>6}{'new items':>11}{'SE':>6}"
        f"{'absolute':>10}{'SE':>6}{'at +1.5':>9}{'at -1.5':>9}"
    )
    for panel in ("own", "other"):
        for design, found in results.items():
            columns = {
                name: [getattr(getattr(r, panel), name) for r in found]
                for name in ("ability", "new", "new_absolute", "hard", "easy")
            }
            mean = {name: np.mean(values) for name, values in columns.items()}
            print(
                f"{panel:6}{design.items:6}{design.trials:7}{design.guessing:6.2f}"
                f"{mean['ability']:11.1%}{error_of(columns['ability'])}{mean['new']:11.1%}{error_of(columns['new'])}"
                f"{mean['new_absolute']:10.1%}{error_of(columns['new_absolute'])}{mean['hard']:9.1%}{mean['easy']:9.1%}"
            )
    panels = [panel for found in results.values() for r in found for panel in (r.own, r.other)]
    print_reliability("3. New items drawn from the prior", [panel.reliability for panel in panels])
    for trials in TRIALS:
        print_reliability(
            f"4. New items aimed at {AIMED[0]} to {AIMED[1]}, {trials} trials",
            [
                panel.aimed
                for design, found in results.items()
                if design.trials == trials
                for r in found
                for panel in (r.own, r.other)
            ],
        )
    return 0


if __name__ == "__main__":
    run(main)
