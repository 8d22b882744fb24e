"""Abilities against the truth, against fit_irt's, against brute force; and the command with its memory."""

from __future__ import annotations

import csv
import json
import subprocess
import sys
from dataclasses import replace
from functools import cache
from pathlib import Path

import numpy as np
import pytest
from scipy.stats import norm

from irt.io import InputError, sha256_of
from irt.rasch import RaschFit, fit_rasch
from irt.settings import SamplerSettings
from tests.simulation import FloatArray, SimulatedCounts, simulate_counts
from verifier.ability_posterior import Abilities, Calibration, fit_ability, log_probabilities
from verifier.fit_ability import AbilityInputs, abilities_of

ROOT = Path(__file__).resolve().parents[2]


@cache
def calibrated(
    items: int, trials: int, guessing: float, blanks: float = 0.0
) -> tuple[SimulatedCounts, RaschFit]:
    data = simulate_counts(12, items, trials, guessing=guessing, blanks=blanks, seed=20 + items)
    settings = SamplerSettings(chains=2, tune=300, draws=1000, seed=1)
    return data, fit_rasch(data.correct, data.trials, data.guessing, settings=settings)


def table_of(fit: RaschFit) -> Calibration:
    return Calibration(fit.difficulty.mean, fit.difficulty.sd)


def answers_of(rng: np.random.Generator, theta: FloatArray, data: SimulatedCounts, trials: int) -> FloatArray:
    p = data.guessing + (1 - data.guessing) / (1 + np.exp(data.b - theta[:, None]))
    return rng.binomial(trials, p).astype(float)


# The estimate ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("guessing", [0.0, 0.25, 0.999])
def test_probabilities_far_out_are_finite_in_logs(guessing: float) -> None:
    z = np.array([-800.0, -30.0, 0.0, 30.0, 800.0])
    right, wrong = log_probabilities(z, guessing)
    assert np.isfinite(right).all() and np.isfinite(wrong).all()
    np.testing.assert_allclose(np.exp(right) + np.exp(wrong), 1, rtol=1e-12)
    np.testing.assert_allclose(np.exp(right[2]), guessing + (1 - guessing) / 2)
    assert wrong[4] == pytest.approx(np.log1p(-guessing) - 800)
    assert right[0] == pytest.approx(np.log(guessing) if guessing else -800)


@pytest.mark.parametrize(
    ("items", "trials", "guessing", "blanks"),
    [(40, 1, 1 / 3, 0.0), (60, 4, 0.25, 0.3), (200, 4, 0.0, 0.0)],
)
def test_own_matrix_gives_the_abilities_of_fit_irt(
    items: int, trials: int, guessing: float, blanks: float
) -> None:
    """The table has seen these answers; counted twice, they would shrink abilities by 4 % and narrow their sds.

    A mean of fit_irt's has a Monte Carlo error of about 0.03 sd here, an sd one of 2 to 4 %.
    """
    data, fit = calibrated(items, trials, guessing, blanks)
    found = fit_ability(data.correct, data.trials, data.guessing, table_of(fit))
    difference = (found.mean - fit.ability.mean) / fit.ability.sd
    assert np.abs(difference).max() < 0.12 and np.sqrt((difference**2).mean()) < 0.06
    ratio = found.sd / fit.ability.sd
    assert 0.96 < ratio.mean() < 1.05 and 0.9 < ratio.min() and ratio.max() < 1.12
    slope = np.polyfit(fit.ability.mean, found.mean, 1)[0]
    assert abs(slope - 1) < 0.015


def by_grid(correct: FloatArray, trials: FloatArray, guessing: float, b: FloatArray) -> tuple[float, float]:
    """Return mean and variance of one ability given known difficulties, by summing over a very fine grid."""
    theta = np.linspace(-6, 6, 6001)[:, None]
    p = guessing + (1 - guessing) / (1 + np.exp(b - theta))
    log_density = (correct * np.log(p) + (trials - correct) * np.log1p(-p)).sum(axis=1) - theta[:, 0] ** 2 / 2
    weights = np.exp(log_density - log_density.max())
    weights /= weights.sum()
    mean = weights @ theta[:, 0]
    return float(mean), float(weights @ (theta[:, 0] - mean) ** 2)


@pytest.mark.parametrize(("items", "trials", "guessing"), [(5, 1, 0.25), (40, 8, 0.0), (500, 100, 0.25)])
def test_known_difficulties_leave_the_textbook_posterior(items: int, trials: int, guessing: float) -> None:
    data = simulate_counts(4, items, trials, guessing=guessing, seed=1)
    found = fit_ability(data.correct, data.trials, guessing, Calibration(data.b, np.full(items, 1e-9)))
    for model in range(4):
        mean, variance = by_grid(data.correct[model], data.trials[model], guessing, data.b)
        assert found.mean[model] == pytest.approx(mean, abs=0.005 * np.sqrt(variance))
        assert found.sd_on_scale[model] == pytest.approx(np.sqrt(variance), rel=0.005)
    assert found.location_sd == pytest.approx((4 + items) ** -0.5)
    np.testing.assert_allclose(found.sd**2, found.sd_on_scale**2 + found.location_sd**2)


@pytest.mark.parametrize("guessing", [0.0, 0.25])
def test_uncertain_difficulties_average_the_posterior(guessing: float) -> None:
    """By brute force: 4,000 tables are drawn, each gives a posterior, and these are mixed."""
    data = simulate_counts(4, 25, 4, guessing=guessing, seed=2)
    rng = np.random.default_rng(0)
    table = Calibration(data.b, rng.uniform(0.2, 0.6, 25))
    found = fit_ability(data.correct, data.trials, guessing, table)
    errors = table.sd * rng.normal(size=(4000, 25))
    # Errors that sum to zero: the sum is taken off where it is likeliest to come from.
    errors -= errors.sum(axis=1, keepdims=True) * table.sd**2 / (table.sd**2).sum()
    theta = np.linspace(-5, 5, 201)[:, None]
    log_density = np.empty((4000, 4, 201))
    for draw, b in enumerate(table.mean + errors):
        right, wrong = log_probabilities(theta - b, guessing)
        log_density[draw] = data.correct @ right.T + (data.trials - data.correct) @ wrong.T
    log_density -= theta[:, 0] ** 2 / 2
    weights = np.exp(log_density - log_density.max(axis=-1, keepdims=True))
    weights = (weights / weights.sum(axis=-1, keepdims=True)).mean(axis=0)
    mean = weights @ theta[:, 0]
    sd = np.sqrt(weights @ theta[:, 0] ** 2 - mean**2)
    assert (np.abs(found.mean - mean) < 0.07 * sd).all()
    np.testing.assert_allclose(found.sd_on_scale, sd, rtol=0.04)


@pytest.mark.parametrize(("items", "trials", "guessing"), [(40, 1, 1 / 3), (200, 4, 0.0)])
def test_nine_in_ten_intervals_hold_the_truth_of_other_models(
    items: int, trials: int, guessing: float
) -> None:
    """40 panels that the table has not seen. A standard error is 1.4 points if the table's errors are well counted."""
    data, fit = calibrated(items, trials, guessing)
    shift = (data.b - fit.difficulty.mean).mean()
    rng = np.random.default_rng(3)
    theta = rng.normal(size=480)
    correct = answers_of(rng, theta, data, trials)
    found = fit_ability(correct, np.full_like(correct, trials), data.guessing, table_of(fit), own_table=False)
    z = (found.mean - theta + shift) / found.sd_on_scale
    assert 0.85 < np.mean(np.abs(z) < norm.ppf(0.95)) < 0.95
    assert abs(z.mean()) < 0.15
    assert np.corrcoef(found.mean, theta)[0, 1] > (0.8 if trials == 1 else 0.95)


def test_recovery_with_guessing_and_a_shuffled_control() -> None:
    data, fit = calibrated(60, 4, 0.25, 0.3)
    found = fit_ability(data.correct, data.trials, data.guessing, table_of(fit))
    assert np.corrcoef(found.mean, data.theta)[0, 1] > 0.9
    order = np.random.default_rng(0).random(data.correct.shape).argsort(axis=0)
    correct, trials = (np.take_along_axis(cells, order, axis=0) for cells in (data.correct, data.trials))
    control = fit_ability(correct, trials, data.guessing, table_of(fit))
    assert np.ptp(control.mean) < 0.3 * np.ptp(found.mean)


def test_short_cells_blanks_and_constant_items() -> None:
    """2 of 4 is not 2 of 8, an item that was never asked is not wrong, and all right or all wrong is finite."""
    data = simulate_counts(12, 40, 8, seed=5)
    table = Calibration(data.b, np.full(40, 0.3))
    correct, trials = data.correct.copy(), data.trials.copy()
    correct[:, 0], correct[:, 1] = 8, 0
    correct[0], correct[1] = 8, 0
    extreme = fit_ability(correct, trials, 0.0, table)
    assert np.isfinite(extreme.mean).all() and np.isfinite(extreme.sd).all()
    assert extreme.mean[0] == extreme.mean.max() > 2 and extreme.mean[1] == extreme.mean.min() < -2

    half = fit_ability(data.correct[:3] // 2, np.full((3, 40), 4.0), 0.0, table)
    wrong = fit_ability(data.correct[:3] // 2, np.full((3, 40), 8.0), 0.0, table)
    assert (half.mean > wrong.mean + 0.3).all()

    blank = data.trials.copy()
    blank[:, 30:] = 0
    cut = Calibration(table.mean[:30], table.sd[:30])
    few = fit_ability(data.correct[:, :30], data.trials[:, :30], 0.0, cut)
    same = fit_ability(np.where(blank > 0, data.correct, 0), blank, 0.0, table)
    np.testing.assert_allclose(same.mean, few.mean, atol=1e-9)


# The command and its memory ----------------------------------------------------------------------------------------


def write_inputs(folder: Path, models: int = 4, items: int = 9) -> AbilityInputs:
    data = simulate_counts(models, items, 3, seed=4)
    matrix, difficulty = folder / "matrix.csv", folder / "difficulty.csv"
    with open(matrix, "w", encoding="utf-8", newline="") as handle:
        writer = csv.writer(handle)
        writer.writerow(["model", *(f"q{i}" for i in range(items))])
        writer.writerows([f"m,{m}", *map(int, row)] for m, row in enumerate(data.correct))
    with open(difficulty, "w", encoding="utf-8", newline="") as handle:
        writer = csv.writer(handle)
        writer.writerow(["item", "b_mean", "b_sd", "r_hat", "ess_bulk"])
        writer.writerows([f"q{i}", f"{b:.6f}", 0.4, 1.0, ""] for i, b in enumerate(data.b))
    return AbilityInputs(matrix, difficulty, n_trials=3)


def command(folder: Path, *arguments: object) -> subprocess.CompletedProcess[str]:
    line = [sys.executable, "-m", "verifier.fit_ability", *map(str, arguments)]
    return subprocess.run(
        line, cwd=folder, env={"PYTHONPATH": str(ROOT)}, capture_output=True, text=True, check=False
    )


def same(one: Abilities, other: Abilities) -> bool:
    return bool((one.mean == other.mean).all() and (one.sd == other.sd).all())


def test_the_command_writes_a_row_a_model_and_then_has_nothing_to_do(tmp_path: Path) -> None:
    write_inputs(tmp_path)
    arguments = ["--matrix", "matrix.csv", "--n-trials", 3, "--difficulty", "difficulty.csv"]
    first = command(tmp_path, *arguments, "--output", "new/a.csv")
    assert first.returncode == 0, first.stderr
    assert first.stdout == (
        "The difficulties were fitted to other answers\nWrote the abilities of 4 models to new/a.csv\n"
    )
    with open(tmp_path / "new/a.csv", encoding="utf-8", newline="") as handle:
        rows = list(csv.DictReader(handle))
    assert [row["model"] for row in rows] == [f"m,{m}" for m in range(4)]
    assert list(rows[0]) == ["model", "theta_mean", "theta_sd", "location_sd"]
    assert {row["location_sd"] for row in rows} == {f"{13**-0.5:.6f}"}
    again = command(tmp_path, *arguments, "--output", "new/a.csv")
    assert again.returncode == 0 and again.stdout.startswith("Nothing to do: new/a.csv holds")
    guessed = command(tmp_path, *arguments, "--guessing", 0.25, "--output", "new/a.csv")
    assert "\nWrote" in guessed.stdout


def test_abilities_are_made_once_and_again_when_an_input_changes(tmp_path: Path) -> None:
    inputs, output = write_inputs(tmp_path), tmp_path / "a.csv"
    first = abilities_of(inputs, output)
    written = output.stat().st_mtime_ns
    second = abilities_of(inputs, output)
    assert (first.fitted, second.fitted) == (True, False)
    assert same(first.abilities, second.abilities) and first.models == second.models
    assert output.stat().st_mtime_ns == written

    # The same contents under another name, and an older time, are the same inputs.
    copy = tmp_path / "copy.csv"
    copy.write_bytes(inputs.matrix.read_bytes())
    assert not abilities_of(replace(inputs, matrix=copy), output).fitted

    changed = inputs.difficulty.read_text(encoding="utf-8").replace(",0.4,", ",0.8,")
    inputs.difficulty.write_text(changed, encoding="utf-8")
    third = abilities_of(inputs, output)
    assert third.fitted and (third.abilities.sd > first.abilities.sd).all()
    more = abilities_of(replace(inputs, n_trials=4), output)
    assert more.fitted and (more.abilities.mean < third.abilities.mean).all()


def test_the_diagnostics_beside_the_table_tell_whose_answers_it_has_seen(tmp_path: Path) -> None:
    inputs, output = replace(write_inputs(tmp_path), guessing=0.25), tmp_path / "a.csv"
    other = abilities_of(inputs, output)
    beside = tmp_path / "diagnostics.json"
    for useless in ("", "[]", '{"inputs": {}}', '{"inputs": {"matrix": {"sha256": "another"}}}'):
        beside.write_text(useless, encoding="utf-8")
        assert not abilities_of(inputs, output).fitted
    beside.write_text(json.dumps({"inputs": {"matrix": {"sha256": sha256_of(inputs.matrix)}}}))
    own = abilities_of(inputs, output)
    assert own.fitted and not same(own.abilities, other.abilities)
    # Without guessing it makes no difference.
    plain = replace(inputs, guessing=0.0)
    seen = abilities_of(plain, output)
    beside.unlink()
    unseen = abilities_of(plain, output)
    assert unseen.fitted and same(seen.abilities, unseen.abilities)


@pytest.mark.parametrize("damage", ["", "{", "\xff\x00", "[]", "null", '{"inputs_sha256": 3}', "cut"])
def test_a_damaged_record_or_table_is_made_again(tmp_path: Path, damage: str) -> None:
    inputs, output = write_inputs(tmp_path), tmp_path / "a.csv"
    record = tmp_path / "a.csv.inputs.json"
    first = abilities_of(inputs, output)
    if damage == "cut":
        output.write_bytes(output.read_bytes()[:40])
    else:
        record.write_bytes(damage.encode("latin-1"))
    assert abilities_of(inputs, output).fitted
    assert not abilities_of(inputs, output).fitted
    assert same(abilities_of(inputs, output).abilities, first.abilities)
    output.unlink()
    assert abilities_of(inputs, output).fitted
    assert set(json.loads(record.read_text(encoding="utf-8"))) == {"inputs_sha256", "output_sha256"}
    assert sorted(path.name for path in tmp_path.glob("a.csv*")) == ["a.csv", "a.csv.inputs.json"]


def test_the_order_of_the_table_does_not_matter(tmp_path: Path) -> None:
    inputs = write_inputs(tmp_path)
    straight = abilities_of(inputs, tmp_path / "a.csv")
    header, *rows = inputs.difficulty.read_text(encoding="utf-8").splitlines()
    inputs.difficulty.write_text("\n".join([header, *rows[::-1]]).replace("item,", "item_id,", 1))
    turned = abilities_of(inputs, tmp_path / "b.csv")
    assert same(straight.abilities, turned.abilities)


def test_trials_and_guessing_by_item_are_used(tmp_path: Path) -> None:
    inputs, output = write_inputs(tmp_path), tmp_path / "a.csv"
    plain = abilities_of(inputs, output).abilities
    trials, guessing = tmp_path / "t.csv", tmp_path / "g.csv"
    header, *rows = inputs.matrix.read_text(encoding="utf-8").splitlines()
    trials.write_text("\n".join([header, *(row[: row.rindex('"') + 1] + ",6" * 9 for row in rows)]))
    guessing.write_text("item_id,guessing\n" + "".join(f"q{i},{i / 20}\n" for i in range(9)))
    more = abilities_of(replace(inputs, n_trials=None, trials_csv=trials), output).abilities
    lucky = abilities_of(replace(inputs, guessing_csv=guessing), output).abilities
    assert (more.mean < plain.mean).all() and (lucky.mean < plain.mean).all()


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        (
            "item,b_mean,b_sd",
            "item,b_mean,sd",
            "difficulty.csv:1: no column 'b_sd'; the columns there are 'item'",
        ),
        ("item,b_mean,b_sd", "name,b_mean,b_sd", "no column 'item'"),
        ("r_hat", "b_sd", "more than one column 'b_sd'"),
        ("q3,", "q3,x,", "difficulty.csv:5: 6 cells where the header has 5"),
        ("q3,", "q2,", "difficulty.csv:5: item 'q2' is there twice"),
        ("q3,", "Q3,", "no row for 1 of 9 items of {matrix}: 'q3'"),
        (",0.4,1.0,\n", ",0,1.0,\n", "difficulty.csv:2: item 'q0': b_sd must be a number above 0, found '0'"),
        (",0.4,1.0,\n", ",-1,1.0,\n", "b_sd must be a number above 0, found '-1'"),
        (",0.4,1.0,\n", ",nan,1.0,\n", "b_sd must be a number above 0, found 'nan'"),
        (",0.4,1.0,\n", ",,1.0,\n", "b_sd must be a number above 0, found ''"),
        (",0.4,1.0,\n", ",1_0,1.0,\n", "b_sd must be a number above 0, found '1_0'"),
        ("q0,", "q0,inf\nx", "difficulty.csv:2: 2 cells where"),
    ],
)
def test_a_mistake_in_the_table_is_named_with_its_line(
    tmp_path: Path, old: str, new: str, message: str
) -> None:
    inputs = write_inputs(tmp_path)
    text = inputs.difficulty.read_text(encoding="utf-8")
    assert old in text
    inputs.difficulty.write_text(text.replace(old, new, 1), encoding="utf-8")
    with pytest.raises(InputError) as error:
        abilities_of(inputs, tmp_path / "a.csv")
    assert message.format(matrix=inputs.matrix) in str(error.value) and "\n" not in str(error.value)
    assert not (tmp_path / "a.csv").exists()


def test_items_of_only_one_of_the_two_are_named(tmp_path: Path) -> None:
    inputs = write_inputs(tmp_path)
    with open(inputs.difficulty, "a", encoding="utf-8") as handle:
        handle.writelines(f"extra{i},0,1,,\n" for i in range(7))
    with pytest.raises(InputError, match=r"7 items are not in .*: 'extra0', .*'extra4' and 2 more"):
        abilities_of(inputs, tmp_path / "a.csv")
    inputs.difficulty.write_text("item,b_mean,b_sd\n", encoding="utf-8")
    with pytest.raises(InputError, match="no row for 9 of 9 items"):
        abilities_of(inputs, tmp_path / "a.csv")
    inputs.difficulty.write_text("", encoding="utf-8")
    with pytest.raises(InputError, match="no column 'item'; the columns there are none"):
        abilities_of(inputs, tmp_path / "a.csv")


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--output", "matrix.csv"], "matrix.csv is an input of this fit"),
        (["--output", "theirs.csv"], "theirs.csv was written by scripts/fit_irt.py"),
        (["--output", "."], "is a folder or a device"),
        (["--output", "a.csv", "--guessing", "1"], "must be a number from 0 to below 1, found '1'"),
        (["--output", "a.csv", "--matrix", "two.csv"], "two.csv: 2 models; a panel needs at least 3"),
        (["--output", "a.csv", "--matrix", "none.csv"], "none.csv: No such file or directory"),
        (["--output", "a.csv", "--n-trials", "2"], "a count cannot exceed the number of trials"),
        (["--output", "a.csv", "--matrix", "short/m.csv"], "use --trials-csv short/trials.csv"),
        ([], "required: --output"),
    ],
)
def test_other_mistakes_are_one_line(tmp_path: Path, arguments: list[str], message: str) -> None:
    write_inputs(tmp_path)
    theirs = "model,theta_mean,theta_sd,r_hat,ess_bulk\na,0,1,,\n"
    (tmp_path / "theirs.csv").write_text(theirs, encoding="utf-8")
    rows = (tmp_path / "matrix.csv").read_text(encoding="utf-8").splitlines()
    (tmp_path / "two.csv").write_text("\n".join(rows[:3]), encoding="utf-8")
    (tmp_path / "short").mkdir()
    (tmp_path / "short" / "m.csv").write_text("\n".join(rows), encoding="utf-8")
    (tmp_path / "short" / "trials.csv").write_text("model\n", encoding="utf-8")
    before = sorted(tmp_path.rglob("*"))
    usual = ["--matrix", "matrix.csv", "--n-trials", "3", "--difficulty", "difficulty.csv"]
    result = command(tmp_path, *usual, *arguments)
    assert result.returncode == 2 and message in result.stderr, result.stderr
    assert len(result.stderr.splitlines()) == 1
    assert sorted(tmp_path.rglob("*")) == before
    assert (tmp_path / "theirs.csv").read_text(encoding="utf-8") == theirs
