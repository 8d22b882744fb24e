from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from irt.io import InputError, sha256_of, write_csv
from propose.calibrated import CalibrationFiles, check_panel, check_present, files_of, read_calibrated
from propose.calibration_record import (
    CalibrationRecord,
    check_graders,
    graders_of,
    read_record,
    record_fields,
)
from tests.propose.simulation import NAMES, calibrated
from verifier.items import write_items


def write_benchmark(data: Path, benchmark: str = "sim") -> CalibrationFiles:
    """Write pool, matrix and calibration of the simulated benchmark, as `calibrate` leaves them."""
    files, made = files_of(data, benchmark), calibrated()
    columns = [f"q{position}" for position in range(len(made.items))]
    write_items(files.pool, made.items)
    write_csv(
        files.matrix, ["model", *columns], [[name, *row] for name, row in zip(NAMES, made.correct.tolist())]
    )
    write_csv(
        files.difficulty, ["item", "b_mean", "b_sd"], zip(columns, made.b_mean.tolist(), made.b_sd.tolist())
    )
    said = {
        "trials_per_cell": [4],
        "inputs": {"matrix": {"sha256": sha256_of(files.matrix)}},
        "outputs": {"difficulty": {"sha256": sha256_of(files.difficulty)}},
    }
    files.difficulty.with_name("diagnostics.json").write_text(json.dumps(said))
    return files


@pytest.fixture
def files(tmp_path: Path) -> CalibrationFiles:
    return write_benchmark(tmp_path)


def test_what_is_read_is_what_was_written(files: CalibrationFiles) -> None:
    found, made = read_calibrated(files), calibrated()
    assert found.items == made.items
    assert found.models == NAMES
    assert found.n_trials == 4
    assert (found.correct == made.correct).all()
    assert found.abilities.mean == pytest.approx(made.abilities.mean)
    assert (found.guessing == 0).all()


def test_trials_can_be_told_and_are_held_to_the_fit(files: CalibrationFiles) -> None:
    assert read_calibrated(files, 4).n_trials == 4
    with pytest.raises(InputError, match="the calibration had 4 trials of a model and item, not 8"):
        read_calibrated(files, 8)
    files.difficulty.with_name("diagnostics.json").unlink()
    with pytest.raises(
        InputError, match="does not tell the trials of the calibration; say them with --trials"
    ):
        read_calibrated(files)
    assert read_calibrated(files, 4).n_trials == 4


def test_a_table_of_trials_counts(files: CalibrationFiles) -> None:
    rows = [line.split(",") for line in files.matrix.read_text().splitlines()]
    rows[1][1] = "0"
    write_csv(files.matrix, rows[0], rows[1:])
    files.difficulty.with_name("diagnostics.json").write_text('{"trials_per_cell": [3, 4]}')
    trials = [[row[0], *["4"] * (len(row) - 1)] for row in rows[1:]]
    trials[0][1] = "3"
    write_csv(files.trials, rows[0], trials)
    found = read_calibrated(files)
    assert found.trials[0, 0] == 3
    assert found.trials.sum() == 4 * found.trials.size - 1
    write_csv(files.trials, rows[0], [[row[0], *["5"] * (len(row) - 1)] for row in rows[1:]])
    with pytest.raises(InputError, match="the largest number of trials is 5, the calibration had 4"):
        read_calibrated(files)


@pytest.mark.parametrize(
    ("name", "what"),
    [("pool", "item pool"), ("matrix", "response matrix of the panel"), ("difficulty", "calibration table")],
)
def test_a_missing_file_is_one_line_that_says_where_it_belongs(
    files: CalibrationFiles, name: str, what: str
) -> None:
    path = getattr(files, name)
    path.unlink()
    with pytest.raises(InputError) as error:
        read_calibrated(files)
    assert str(error.value).startswith(f"{path}: the {what} is missing; ")
    assert "\n" not in str(error.value)


def test_columns_are_positions_in_the_pool(files: CalibrationFiles) -> None:
    text = files.matrix.read_text()
    files.matrix.write_text(text.replace("q3,q4", "q4,q3"))
    with pytest.raises(InputError, match="column 5 is 'q4' where q3 is expected"):
        read_calibrated(files)
    files.matrix.write_text(text.replace("q0,", "SIM-0001,", 1))
    with pytest.raises(
        InputError, match="column 2 is 'SIM-0001' where q0 is expected: the position of 'SIM-0001'"
    ):
        read_calibrated(files)


def test_pool_and_matrix_have_as_many_items(files: CalibrationFiles) -> None:
    write_items(files.pool, calibrated().items[:-1])
    with pytest.raises(InputError, match="24 columns of items, and .* has 23 items"):
        read_calibrated(files)


def test_a_calibration_of_other_items(files: CalibrationFiles) -> None:
    files.difficulty.write_text(files.difficulty.read_text().replace("q7,", "q70,"))
    with pytest.raises(InputError, match="no row for 1 of 24 items .*'q7'"):
        read_calibrated(files)


def test_a_scale_without_spread(files: CalibrationFiles) -> None:
    write_csv(files.difficulty, ["item", "b_mean", "b_sd"], [[f"q{n}", 1.0, 0.2] for n in range(24)])
    with pytest.raises(InputError, match="no scale to find gaps on"):
        read_calibrated(files)


def test_guessing_comes_from_the_file_or_from_the_choices(files: CalibrationFiles) -> None:
    items = [
        replace(item, answer_type="choice", choices=("a", "b"), answer="A") for item in calibrated().items
    ]
    write_items(files.pool, items)
    assert np.unique(read_calibrated(files).guessing).tolist() == [0.5]
    write_csv(files.guessing, ["item_id", "guessing"], [[f"q{n}", 0.25] for n in range(24)])
    assert np.unique(read_calibrated(files).guessing).tolist() == [0.25]


def test_whether_the_table_saw_these_answers_matters_only_with_guessing(files: CalibrationFiles) -> None:
    write_csv(files.guessing, ["item_id", "guessing"], [[f"q{n}", 0.25] for n in range(24)])
    own = read_calibrated(files).abilities.mean
    files.difficulty.with_name("diagnostics.json").write_text('{"trials_per_cell": [4]}')
    assert (read_calibrated(files).abilities.mean != own).any()


def test_panel_and_matrix_have_the_same_models() -> None:
    matrix, panel = Path("m.csv"), Path("p.toml")
    silent = CalibrationRecord(Path("d.json"), None, None, {}, None, None, None)
    check_panel(("a", "b"), {"b": "1", "a": "2"}, matrix, panel, silent)
    with pytest.raises(InputError, match="p.toml: no verifier 'b', which is a row of m.csv"):
        check_panel(("a", "b"), {"a": "1"}, matrix, panel, silent)
    with pytest.raises(InputError, match="m.csv: no row 'c', which is a verifier of p.toml"):
        check_panel(("a",), {"a": "1", "c": "2"}, matrix, panel, silent)


# What the calibration notes of itself ----------------------------------------------------------------------------


def record(files: CalibrationFiles, **changed: object) -> CalibrationRecord:
    """Note pool, verifiers and graders, as `calibrate` does, with some of it changed; return what is read back."""
    items = calibrated().items
    noted = record_fields(files.pool, items, {"a": "1", "b": "2"}, graders_of(items))
    path = files.difficulty.with_name("diagnostics.json")
    path.write_text(json.dumps(json.loads(path.read_bytes()) | noted | changed))
    return read_record(files.difficulty)


def test_the_pool_that_was_calibrated_is_accepted(files: CalibrationFiles) -> None:
    assert record(files).lacking == []
    assert read_calibrated(files).items == calibrated().items


def test_another_pool_of_the_same_length_is_refused(files: CalibrationFiles) -> None:
    record(files)
    items = calibrated().items
    write_items(files.pool, [*items[:3], items[4], items[3], *items[5:]])
    with pytest.raises(InputError, match=f"item 3 is '{items[4].id}', where '{items[3].id}' was calibrated"):
        read_calibrated(files)
    write_items(files.pool, [replace(items[0], question="What is 1 + 1?"), *items[1:]])
    with pytest.raises(InputError, match="has the ids of the pool that was calibrated, but is another file"):
        read_calibrated(files)
    write_items(files.pool, items[:-1])
    with pytest.raises(InputError, match=f"item 23 is None, where '{items[23].id}' was calibrated"):
        read_calibrated(files)


def test_a_verifier_that_is_sampled_otherwise_is_refused(files: CalibrationFiles) -> None:
    noted, matrix, panel = record(files), Path("m.csv"), Path("p.toml")
    check_panel(("a", "b"), {"b": "2", "a": "1"}, matrix, panel, noted)
    with pytest.raises(InputError, match="p.toml: b is not as it was when the benchmark was calibrated"):
        check_panel(("a", "b"), {"a": "1", "b": "3"}, matrix, panel, noted)


def test_a_calibration_of_another_grader_is_refused(files: CalibrationFiles) -> None:
    now = graders_of(calibrated().items)
    check_graders(record(files), now)
    (name,) = now
    with pytest.raises(InputError, match=f"graded with {name} 0.1, and this is {name} .*calibrate --regrade"):
        check_graders(record(files, graders={name: "0.1"}), now)


@pytest.mark.parametrize("said", ["", "[]", "{", "{}", '{"models": 12, "inputs": {}}'])
def test_what_a_calibration_does_not_say_is_not_checked_and_told(files: CalibrationFiles, said: str) -> None:
    files.difficulty.with_name("diagnostics.json").write_text(said)
    found = read_record(files.difficulty)
    assert found.n_trials is None
    assert found.lacking == [
        *("its pool", "its matrix", "its table"),
        *("how its models were sampled", "who graded their answers"),
    ]
    assert read_calibrated(files, 4).n_trials == 4


@pytest.mark.parametrize(
    ("said", "words"),
    [
        ({"trials_per_cell": ["4"]}, r"trials_per_cell cannot be \['4'\]"),
        ({"trials_per_cell": [True]}, r"trials_per_cell cannot be \[True\]"),
        ({"trials_per_cell": [10**30]}, "trials_per_cell cannot have 1000"),
        ({"trials_per_cell": [0]}, "trials_per_cell cannot have 0"),
        ({"pool": 1}, "pool cannot be 1"),
        ({"pool": {}}, "no sha256"),
        ({"pool": {"sha256": "x", "ids": 5}}, "ids cannot be 5"),
        ({"inputs": {"matrix": "x"}}, "inputs cannot be"),
        ({"inputs": {"matrix": {}}}, "no sha256"),
        ({"outputs": []}, r"outputs cannot be \[\]"),
        ({"verifiers": {"a": 1}}, "verifiers cannot be"),
        ({"graders": None}, "graders cannot be None"),
    ],
)
def test_a_record_of_another_form_is_one_line(
    files: CalibrationFiles, said: dict[str, object], words: str
) -> None:
    files.difficulty.with_name("diagnostics.json").write_text(json.dumps(said))
    with pytest.raises(InputError, match=f"diagnostics.json: not the record of a calibration .{words}"):
        read_calibrated(files, 4)


def _zero(files: CalibrationFiles) -> None:
    header, *rows = (line.split(",") for line in files.matrix.read_text().splitlines())
    write_csv(files.matrix, header, [[row[0], *["0"] * (len(row) - 1)] for row in rows])


def _rotate(files: CalibrationFiles) -> None:
    header, *rows = (line.split(",") for line in files.matrix.read_text().splitlines())
    counts = [row[1:] for row in rows]
    write_csv(
        files.matrix,
        header,
        [[row[0], *of] for row, of in zip(rows, counts[1:] + counts[:1], strict=True)],
    )


def _reverse(files: CalibrationFiles) -> None:
    header, *rows = (line.split(",") for line in files.difficulty.read_text().splitlines())
    write_csv(files.difficulty, header, [[row[0], str(-float(row[1])), *row[2:]] for row in rows])


def _add_trials(files: CalibrationFiles) -> None:
    header, *rows = (line.split(",") for line in files.matrix.read_text().splitlines())
    write_csv(files.trials, header, [[row[0], *["4"] * (len(row) - 1)] for row in rows])


@pytest.mark.parametrize(
    ("spoil", "words"),
    [
        (_zero, r"sim_response_matrix.csv: is not what .*difficulty.csv was fitted to"),
        (_rotate, r"sim_response_matrix.csv: is not what .*difficulty.csv was fitted to"),
        (_reverse, r"difficulty.csv: is not as the fit wrote it"),
        (_add_trials, r"sim_trials.csv: is not what .*difficulty.csv was fitted to"),
    ],
)
def test_counts_and_table_of_other_fits_are_refused(
    files: CalibrationFiles, spoil: Callable[[CalibrationFiles], None], words: str
) -> None:
    spoil(files)
    with pytest.raises(InputError, match=f"{words} .*diagnostics.json.; restore it, or .* calibrate` again"):
        read_calibrated(files)
    # A table from elsewhere, of which nothing is known.
    files.difficulty.with_name("diagnostics.json").write_text('{"trials_per_cell": [4]}')
    assert read_calibrated(files).n_trials == 4


def test_the_guessing_that_was_fitted_is_held_to_where_it_was_a_file(files: CalibrationFiles) -> None:
    write_csv(files.guessing, ["item_id", "guessing"], [[f"q{n}", 0.25] for n in range(24)])
    assert (read_calibrated(files).guessing == 0.25).all()
    fitted = {name: {"sha256": sha256_of(getattr(files, name))} for name in ("matrix", "guessing")}
    record(files, inputs=fitted)
    assert (read_calibrated(files).guessing == 0.25).all()
    write_csv(files.guessing, ["item_id", "guessing"], [[f"q{n}", 0.2] for n in range(24)])
    with pytest.raises(InputError, match=r"sim_guessing.csv: is not what .* was fitted to"):
        read_calibrated(files)


@pytest.mark.parametrize("taken", ["r01-g1-p1-c2", "r100-g12-p3-c4"])
def test_an_item_that_is_called_as_a_candidate_is_refused(files: CalibrationFiles, taken: str) -> None:
    items = calibrated().items
    write_items(files.pool, [replace(items[0], id=taken), *items[1:]])
    with pytest.raises(InputError, match=f"sim.jsonl: item '{taken}': candidates are called so"):
        read_calibrated(files)
    write_items(files.pool, [replace(items[0], id=f"{taken}x"), *items[1:]])
    assert read_calibrated(files).items[0].id == f"{taken}x"


@pytest.mark.parametrize(
    ("benchmark", "how"),
    [
        ("aime25", "`python scripts/fetch_items.py aime25 --output .*` fetches it"),
        ("demo", "`python -m verifier.simulated.make_items --count 30 --output .*demo.jsonl` makes"),
        ("simple", "write one JSON object a line there"),
    ],
)
def test_how_a_missing_pool_is_made(tmp_path: Path, benchmark: str, how: str) -> None:
    with pytest.raises(InputError, match=f"{benchmark}.jsonl: the item pool is missing; {how}"):
        check_present(files_of(tmp_path, benchmark), "pool")
