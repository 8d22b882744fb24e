"""Abilities against the truth, against fit_irt's, against brute force; and the command with its memory."""

from __future__ import annotations

import csv
import json
import signal
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from scipy.stats import norm

from irt.command import run
from irt.io import InputError, sha256_of
from tests.simulation import FloatArray, simulate_counts
from tests.verifier.calibrated import calibrated
from verifier.ability_file import AbilityInputs, abilities_of
from verifier.ability_posterior import Abilities, Calibration, fit_ability, log_probabilities
from verifier.fit_ability import main

ROOT = Path(__file__).resolve().parents[2]


def zero_sum_errors(rng: np.random.Generator, sd: FloatArray, draws: int) -> FloatArray:
    """Return (draws, N) errors that sum to zero: the sum is taken off where it is likeliest to come from."""
    errors = sd * rng.normal(size=(draws, len(sd)))
    return errors - errors.sum(axis=1, keepdims=True) * sd**2 / (sd**2).sum()


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


def test_own_matrix_gives_the_abilities_of_fit_irt() -> None:
    """The table has seen these answers; counted twice, they would shrink abilities by 4 % and narrow their sds.

    A mean of fit_irt's has a Monte Carlo error of about 0.03 sd here, an sd one of 2 to 4 %.
    """
    data, fit, table = calibrated()
    found = fit_ability(data.correct, data.trials, data.guessing, table)
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


@pytest.mark.parametrize(("guessing", "asked", "trials_each"), [(0.0, 25, 4), (0.25, 25, 4), (0.25, 12, 40)])
def test_uncertain_difficulties_average_the_posterior(guessing: float, asked: int, trials_each: int) -> None:
    """By brute force: 4,000 tables are drawn, each gives a posterior, and these are mixed.

    Where the panel was asked a part of the table's items, the errors of all together sum to zero, not of that part;
    with 40 trials they are most of what is unknown.
    """
    data = simulate_counts(4, 25, trials_each, guessing=guessing, seed=2)
    rng = np.random.default_rng(0)
    mean, sd = data.b, rng.uniform(0.2, 0.6, 25)
    correct, trials = data.correct[:, :asked], data.trials[:, :asked]
    found = fit_ability(correct, trials, guessing, Calibration(mean[:asked], sd[:asked], sd[asked:]))
    theta = np.linspace(-5, 5, 201)[:, None]
    log_density = np.empty((4000, 4, 201))
    for draw, b in enumerate((mean + zero_sum_errors(rng, sd, 4000))[:, :asked]):
        right, wrong = log_probabilities(theta - b, guessing)
        log_density[draw] = correct @ right.T + (trials - correct) @ wrong.T
    log_density -= theta[:, 0] ** 2 / 2
    weights = np.exp(log_density - log_density.max(axis=-1, keepdims=True))
    weights = (weights / weights.sum(axis=-1, keepdims=True)).mean(axis=0)
    theta_mean = weights @ theta[:, 0]
    theta_sd = np.sqrt(weights @ theta[:, 0] ** 2 - theta_mean**2)
    assert (np.abs(found.mean - theta_mean) < 0.07 * theta_sd).all()
    np.testing.assert_allclose(found.sd_on_scale, theta_sd, rtol=0.04)
    assert found.location_sd == pytest.approx(29**-0.5)


def test_items_that_were_not_asked_are_as_columns_of_blanks() -> None:
    data = simulate_counts(12, 40, 4, guessing=0.25, seed=6)
    sd = np.linspace(0.2, 0.6, 40)
    blank = np.where(np.arange(40) < 30, data.trials, 0)
    whole = fit_ability(np.minimum(data.correct, blank), blank, 0.25, Calibration(data.b, sd))
    part = fit_ability(
        data.correct[:, :30], data.trials[:, :30], 0.25, Calibration(data.b[:30], sd[:30], sd[30:])
    )
    np.testing.assert_allclose(part.mean, whole.mean, atol=1e-9)
    np.testing.assert_allclose(part.sd, whole.sd, atol=1e-9)
    assert part.location_sd == whole.location_sd == pytest.approx(52**-0.5)


def test_each_model_may_have_been_seen_by_the_table_or_not() -> None:
    data = simulate_counts(6, 40, 4, guessing=0.25, seed=7)
    table = Calibration(data.b, np.full(40, 0.4))
    own, other, mixed = (
        fit_ability(data.correct, data.trials, 0.25, table, own_table=seen)
        for seen in (True, False, [True, False, False, True, True, False])
    )
    seen = np.array([True, False, False, True, True, False])
    assert (np.abs(own.mean - other.mean) > 0.05 * own.sd).all()
    np.testing.assert_allclose(mixed.mean, np.where(seen, own.mean, other.mean), atol=1e-9)
    np.testing.assert_allclose(mixed.sd, np.where(seen, own.sd, other.sd), atol=1e-9)


@pytest.mark.parametrize(
    ("items", "asked", "trials", "guessing"), [(40, 40, 1, 1 / 3), (100, 100, 4, 0.25), (100, 40, 8, 0.0)]
)
def test_nine_in_ten_intervals_hold_the_truth_of_other_models(
    items: int, asked: int, trials: int, guessing: float
) -> None:
    """40 panels that the table has not seen, a new table for each; a standard error is 1.4 points."""
    rng = np.random.default_rng(3)
    z, theta, found_mean = np.empty((40, 12)), rng.normal(size=(40, 12)), np.empty((40, 12))
    for number, own_theta in enumerate(theta):
        mean, sd = rng.normal(size=items), rng.uniform(0.25, 0.55, items)
        b = (mean + zero_sum_errors(rng, sd, 1)[0])[:asked]
        p = guessing + (1 - guessing) / (1 + np.exp(b - own_theta[:, None]))
        correct = rng.binomial(trials, p)
        table = Calibration(mean[:asked], sd[:asked], sd[asked:])
        found = fit_ability(correct, np.full_like(correct, trials), guessing, table, own_table=False)
        found_mean[number] = found.mean
        z[number] = (found.mean - own_theta) / found.sd_on_scale
    assert 0.86 < np.mean(np.abs(z) < norm.ppf(0.95)) < 0.94
    assert abs(z.mean()) < 0.15
    assert np.corrcoef(found_mean.ravel(), theta.ravel())[0, 1] > (0.8 if trials == 1 else 0.95)


def test_recovery_with_guessing_and_a_shuffled_control() -> None:
    data, _, table = calibrated()
    found = fit_ability(data.correct, data.trials, data.guessing, table)
    assert np.corrcoef(found.mean, data.theta)[0, 1] > 0.8
    order = np.random.default_rng(0).random(data.correct.shape).argsort(axis=0)
    correct, trials = (np.take_along_axis(cells, order, axis=0) for cells in (data.correct, data.trials))
    control = fit_ability(correct, trials, data.guessing, table)
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


Done = subprocess.CompletedProcess[str]


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


def command(folder: Path, *arguments: object, python_options: Sequence[str] = ()) -> Done:
    line = [sys.executable, *python_options, "-m", "verifier.fit_ability", *map(str, arguments)]
    return subprocess.run(
        line, cwd=folder, env={"PYTHONPATH": str(ROOT)}, capture_output=True, text=True, check=False
    )


def in_process(
    folder: Path, patch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], arguments: Sequence[str]
) -> tuple[object, str, str]:
    """Return exit status, standard output and error of the command, without the seconds of a new Python."""
    patch.chdir(folder)
    patch.setattr(sys, "argv", ["fit_ability.py", *arguments])
    handlers = {number: signal.getsignal(number) for number in (signal.SIGTERM, signal.SIGHUP)}
    with pytest.raises(SystemExit) as end:
        run(main)
    for number, handler in handlers.items():
        signal.signal(number, handler)
    captured = capsys.readouterr()
    return end.value.code, captured.out, captured.err


def same(one: Abilities, other: Abilities) -> bool:
    return bool((one.mean == other.mean).all() and (one.sd == other.sd).all())


def test_the_command_writes_a_row_a_model_and_then_has_nothing_to_do(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    write_inputs(tmp_path)
    usual = ["--matrix", "matrix.csv", "--n-trials", "3", "--difficulty", "difficulty.csv"]
    usual += ["--output", "new/a.csv"]
    first = command(tmp_path, *usual)
    assert first.returncode == 0, first.stderr
    assert first.stdout == (
        "The difficulties were fitted to other answers\nWrote the abilities of 4 models to new/a.csv\n"
    )
    with open(tmp_path / "new/a.csv", encoding="utf-8", newline="") as handle:
        rows = list(csv.DictReader(handle))
    assert [row["model"] for row in rows] == [f"m,{m}" for m in range(4)]
    assert list(rows[0]) == ["model", "theta_mean", "theta_sd", "location_sd"]
    assert {row["location_sd"] for row in rows} == {f"{13**-0.5:.6f}"}
    again = in_process(tmp_path, monkeypatch, capsys, usual)
    assert again[0] == 0 and again[1].startswith("Nothing to do: new/a.csv holds")
    guessed = in_process(tmp_path, monkeypatch, capsys, [*usual, "--guessing", "0.25"])
    assert "\nWrote" in guessed[1]


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
    assert other.seen == ()
    beside.write_text(json.dumps({"inputs": {"matrix": {"sha256": sha256_of(inputs.matrix)}}}))
    own = abilities_of(inputs, output)
    assert own.fitted and own.seen is None and not same(own.abilities, other.abilities)
    # Without guessing it makes no difference.
    plain = replace(inputs, guessing=0.0)
    seen = abilities_of(plain, output)
    beside.unlink()
    unseen = abilities_of(plain, output)
    assert unseen.fitted and same(seen.abilities, unseen.abilities)


def test_models_that_the_abilities_beside_the_table_name_are_taken_for_seen(tmp_path: Path) -> None:
    """A table from these answers and more: its diagnostics.json names another matrix."""
    inputs, output = replace(write_inputs(tmp_path), guessing=0.25), tmp_path / "a.csv"
    beside, table = tmp_path / "diagnostics.json", tmp_path / "ability.csv"
    beside.write_text(json.dumps({"inputs": {"matrix": {"sha256": sha256_of(inputs.matrix)}}}))
    own = abilities_of(inputs, output).abilities
    beside.write_text('{"inputs": {"matrix": {"sha256": "another"}}}')
    other = abilities_of(inputs, output).abilities
    assert not np.isclose(own.mean, other.mean).any()

    names = [f'"m,{m}"' for m in range(4)]
    for named, seen in ((["x", *names], [0, 1, 2, 3]), (["x", names[2], names[0]], [0, 2]), (["x"], [])):
        rows = "".join(f"{name},0,1,1.0,900\n" for name in named)
        table.write_text("model,theta_mean,theta_sd,r_hat,ess_bulk\n" + rows, encoding="utf-8")
        found = abilities_of(inputs, output)
        assert found.fitted and found.seen == tuple(f"m,{m}" for m in seen)
        expected = np.where(np.isin(np.arange(4), seen), own.mean, other.mean)
        np.testing.assert_allclose(found.abilities.mean, expected, atol=2e-6)
    table.write_text("model,theta_mean,theta_sd,location_sd\n" + "".join(f"{name},0,1,0\n" for name in names))
    assert abilities_of(inputs, output).seen == ()  # fit_ability's own


def test_the_command_warns_of_what_it_takes_for_seen_where_it_matters(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    write_inputs(tmp_path)
    (tmp_path / "ability.csv").write_text('model,theta_mean,theta_sd,r_hat,ess_bulk\n"m,1",0,1,,\n')
    usual = [
        "--matrix",
        "matrix.csv",
        "--n-trials",
        "3",
        "--difficulty",
        "difficulty.csv",
        "--output",
        "a.csv",
    ]
    status, said, warned = in_process(tmp_path, monkeypatch, capsys, [*usual, "--guessing", "0.25"])
    assert status == 0 and said.startswith("The difficulties were fitted to answers of 1 of these models\n")
    assert len(warned.splitlines()) == 1 and warned.startswith(
        "warning: difficulty.csv was fitted to another"
    )
    assert "with answers of 'm,1'; those in matrix.csv" in warned
    assert in_process(tmp_path, monkeypatch, capsys, usual)[2] == ""


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
        (",0.4,1.0,\n", ",1e300,1.0,\n", "b_sd 1e300 from 1e-09 to 100"),
        (",0.4,1.0,\n", ",1e-300,1.0,\n", "difficulty.csv:2: item 'q0': no difficulty in logits: b_mean"),
        ("q0,", "q0,1e300,1,,\nx,", "b_mean 1e300 must be within ±100"),
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


@pytest.mark.parametrize("values", ["100,100", "-100,1e-9", "100,1e-9", "-100,100"])
def test_the_most_extreme_difficulties_give_finite_abilities(tmp_path: Path, values: str) -> None:
    inputs = write_inputs(tmp_path)
    rows = "".join(f"q{item},{values}\n" for item in range(9))
    inputs.difficulty.write_text("item,b_mean,b_sd\n" + rows, encoding="utf-8")
    for guessing in (0.0, 0.25):
        found = abilities_of(replace(inputs, guessing=guessing), tmp_path / "a.csv").abilities
        assert np.isfinite(found.mean).all() and (found.sd > 0).all()


def test_records_nested_too_deeply_are_as_good_as_none(tmp_path: Path) -> None:
    inputs, output = write_inputs(tmp_path), tmp_path / "a.csv"
    (tmp_path / "diagnostics.json").write_text("[" * 100_000, encoding="utf-8")
    assert abilities_of(inputs, output).seen == ()
    (tmp_path / "a.csv.inputs.json").write_text("[" * 100_000, encoding="utf-8")
    assert abilities_of(inputs, output).fitted
    assert not abilities_of(inputs, output).fitted


def test_rows_of_further_items_are_part_of_the_scale(tmp_path: Path) -> None:
    inputs, output = write_inputs(tmp_path), tmp_path / "a.csv"
    alone = abilities_of(inputs, output).abilities
    text = inputs.difficulty.read_text(encoding="utf-8")
    header, *rows = text.splitlines()
    more = [f"extra{i},{i - 3},0.4,," for i in range(7)]
    inputs.difficulty.write_text("\n".join([header, *more[:3], *rows, *more[3:]]), encoding="utf-8")
    part = abilities_of(inputs, output).abilities
    assert part.location_sd == pytest.approx(20**-0.5, abs=1e-6)
    np.testing.assert_allclose(part.mean, alone.mean, atol=2e-6)
    assert (part.sd_on_scale > alone.sd_on_scale + 0.001).all()


def test_items_without_a_row_are_named(tmp_path: Path) -> None:
    inputs = write_inputs(tmp_path)
    inputs.difficulty.write_text("item,b_mean,b_sd\nq1,0,1\nextra,0,1\n", encoding="utf-8")
    with pytest.raises(InputError, match=r"no row for 8 of 9 items .*: 'q0', .* and 3 more; calibrate them"):
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
        (
            ["--output", "a.csv", "--matrix", "lucky/m.csv"],
            "use --guessing-csv lucky/guessing.csv, or --guessing 0",
        ),
        ([], "python -m verifier.fit_ability: error: the following arguments are required: --output"),
    ],
)
def test_other_mistakes_are_one_line(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    arguments: list[str],
    message: str,
) -> None:
    write_inputs(tmp_path)
    theirs = "model,theta_mean,theta_sd,r_hat,ess_bulk\na,0,1,,\n"
    (tmp_path / "theirs.csv").write_text(theirs, encoding="utf-8")
    rows = (tmp_path / "matrix.csv").read_text(encoding="utf-8").splitlines()
    (tmp_path / "two.csv").write_text("\n".join(rows[:3]), encoding="utf-8")
    for folder, beside in (("short", "trials.csv"), ("lucky", "guessing.csv")):
        (tmp_path / folder).mkdir()
        (tmp_path / folder / "m.csv").write_text("\n".join(rows), encoding="utf-8")
        (tmp_path / folder / beside).write_text("model\n", encoding="utf-8")
    before = sorted(tmp_path.rglob("*"))
    usual = ["--matrix", "matrix.csv", "--n-trials", "3", "--difficulty", "difficulty.csv"]
    status, said, error = in_process(tmp_path, monkeypatch, capsys, [*usual, *arguments])
    assert (status, said) == (2, "") and message in error
    assert len(error.splitlines()) == 1
    assert sorted(tmp_path.rglob("*")) == before
    assert (tmp_path / "theirs.csv").read_text(encoding="utf-8") == theirs


@pytest.mark.parametrize("guessing", [["--guessing", "0"], ["--guessing-csv", "guessing.csv"]])
def test_guessing_beside_the_matrix_need_only_be_spoken_of(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], guessing: list[str]
) -> None:
    write_inputs(tmp_path)
    (tmp_path / "guessing.csv").write_text("item_id,guessing\n" + "".join(f"q{i},0.2\n" for i in range(9)))
    usual = [
        "--matrix",
        "matrix.csv",
        "--n-trials",
        "3",
        "--difficulty",
        "difficulty.csv",
        "--output",
        "a.csv",
    ]
    assert in_process(tmp_path, monkeypatch, capsys, [*usual, *guessing])[0] == 0


def test_without_packages_help_answers_and_a_fit_is_one_line(tmp_path: Path) -> None:
    write_inputs(tmp_path)
    shown = command(tmp_path, "--help", python_options=["-S"])
    assert shown.returncode == 0 and shown.stdout.startswith("usage: python -m verifier.fit_ability ")
    usual = ["--matrix", "matrix.csv", "--n-trials", 3, "--difficulty", "difficulty.csv", "--output", "a.csv"]
    result = command(tmp_path, *usual, python_options=["-S"])
    assert result.returncode == 2 and "has no package 'numpy'" in result.stderr
    assert len(result.stderr.splitlines()) == 1 and "requirements_irt.txt" in result.stderr
