"""Several matrices become one: joined by the models' names, with the trials that belong to each."""

from __future__ import annotations

import gzip
import json
import os
from pathlib import Path

import numpy as np
import pytest

from irt.io import InputError
from irt.matrix_options import without_trials
from irt.mirt_data import groups_of, read_benchmarks


def write(folder: Path, name: str, text: str) -> Path:
    path = folder / name
    path.parent.mkdir(exist_ok=True)
    if name.endswith(".gz"):
        path.write_bytes(gzip.compress(text.encode()))
    else:
        path.write_text(text, encoding="utf-8")
    return path


def test_models_are_joined_by_name_whatever_their_order(tmp_path: Path) -> None:
    one = write(tmp_path, "one.csv", "model,x,y\na,1,0\nb,0,\nc,1,1\n")
    two = write(tmp_path, "two.csv.gz", "model,x\nd,1\nc,0\na,1\n")
    found = read_benchmarks([one, two], n_trials=1)
    assert found.models == ("a", "b", "c", "d") and found.names == ("one", "two")
    assert found.items == (("one", "x"), ("one", "y"), ("two", "x"))
    np.testing.assert_array_equal(found.benchmark_of, [0, 0, 1])
    np.testing.assert_array_equal(found.trials, [[1, 1, 1], [1, 0, 0], [1, 1, 1], [0, 0, 1]])
    np.testing.assert_array_equal(found.correct, [[1, 0, 1], [0, 0, 0], [1, 1, 0], [0, 0, 1]])
    np.testing.assert_array_equal(found.answered(), [[2, 1], [1, 0], [2, 1], [0, 1]])
    common = read_benchmarks([one, two], n_trials=1, common_models=True)
    assert common.models == ("a", "c")
    np.testing.assert_array_equal(common.correct, found.correct[[0, 2]])
    kept = found.keep_models([3, 0])
    assert kept.models == ("d", "a") and kept.trials.tolist() == [[0, 0, 1], [1, 1, 1]]


def test_trials_come_from_beside_the_matrix(tmp_path: Path) -> None:
    counts = write(tmp_path, "counts.csv", "model,x,y\na,3,0\nb,1,2\n")
    write(tmp_path, "counts.trials.csv", "model,x,y\na,4,1\nb,2,2\n")
    told = write(tmp_path, "told.csv", "model,z\na,3\nb,1\n")
    write(tmp_path, "told.json", json.dumps({"n_trials": 5}))
    prepared = write(tmp_path, "bench/response_matrix.csv", "model,w\na,1\nb,2\n")
    write(tmp_path, "bench/trials.csv", "model,w\na,2\nb,3\n")
    found = read_benchmarks([counts, told, prepared])
    assert found.names == ("counts", "told", "bench")
    assert found.trials.tolist() == [[4, 1, 5, 2], [2, 2, 5, 3]]
    assert [(entry["benchmark"], entry["file"]) for entry in (file.entry() for file in found.inputs)] == [
        ("counts", "counts.csv"),
        ("counts", "counts.trials.csv"),
        ("told", "told.csv"),
        ("told", "told.json"),
        ("bench", "response_matrix.csv"),
        ("bench", "trials.csv"),
    ]


@pytest.mark.parametrize(
    ("files", "message"),
    [
        (
            {"one.csv": "model,x\na,1\nb,0\n", "two.csv": "model,x\nc,1\nd,0\n"},
            r"nothing connects the answers of 'a' \(in 'one'\) and 'c' \(in 'two'\): the models fall into 2 groups ",
        ),
        (
            {
                "one.csv": "model,x\na,1\nb,0\n",
                "two.csv": "model,x\nc,1\nd,0\n",
                "three.csv": "model,x\nc,1\nb,0\n",
            },
            None,  # the third connects the first two
        ),
        (
            {"one.csv": "model,x,y,z\na,1,,\nb,0,,\nc,,1,1\nd,,0,0\n"},
            r"answers of 'a' \(in 'one'\) and 'c' \(in 'one'\)",
        ),
        ({"one.csv": "model,x\na,1\nb,0\n", "two.csv": "model,x\na,1\nb,0\n"}, "the same content as"),
        (
            {"one.csv": "model,x\na,1\nb,0\n", "one.csv.gz": "model,y\na,1\nb,1\n"},
            "a second benchmark named 'one'",
        ),
        ({"one.csv": "model,x\na,1\na,0\n"}, "model 'a' is there twice"),
        ({"one.csv": "model,x\na,2\nb,0\n"}, "found 2, expected 0 to 1"),
        ({"one.csv": "model\na\nb\n"}, "number of items: 0; a fit needs at least 2 models and 1 items"),
    ],
)
def test_what_cannot_be_joined_is_named(tmp_path: Path, files: dict[str, str], message: str | None) -> None:
    paths = [write(tmp_path, name, text) for name, text in files.items()]
    if message is None:
        assert read_benchmarks(paths, n_trials=1).models == ("a", "b", "c", "d")
        return
    with pytest.raises(InputError, match=message) as caught:
        read_benchmarks(paths, n_trials=1)
    assert "\n" not in str(caught.value)


def test_no_model_in_every_matrix(tmp_path: Path) -> None:
    one = write(tmp_path, "one.csv", "model,x\na,1\nb,0\n")
    two = write(tmp_path, "two.csv", "model,x\nb,1\nc,0\n")
    far = write(tmp_path, "far.csv", "model,x\nd,1\nb,0\na,0\n")
    with pytest.raises(InputError) as caught:
        read_benchmarks([one, two, far], n_trials=1, common_models=True)
    assert str(caught.value) == (
        "--common-models: 1 of the models in every matrix, and a fit needs at least 2; 'two' has 1 in common with 'one'"
    )


def test_trials_are_never_guessed(tmp_path: Path) -> None:
    path = write(tmp_path, "one.csv", "model,x\na,1\nb,0\n")
    with pytest.raises(InputError, match="Use --n-trials, or put one.trials.csv beside it"):
        read_benchmarks([path])
    write(tmp_path, "one.json", '{"n_trials": "varies"}')
    with pytest.raises(
        InputError, match="n_trials must be a whole number from 1 to 999999 where there is no"
    ):
        read_benchmarks([path])
    write(tmp_path, "one.json", "{")
    with pytest.raises(InputError, match="one.json:1: not valid JSON"):
        read_benchmarks([path])


@pytest.mark.parametrize(
    ("value", "message"),
    [
        (str(10**20), "found 100000000000000000000"),
        ("1000000", "n_trials must be a whole number from 1 to 999999"),
        ("9223372036854775807", "found 9223372036854775807"),
        ("1e999", "found inf"),
        ("NaN", "found nan"),
        ("-1", "found -1"),
        ("true", "found True"),
        ("9" * 3000, "found 9999"),
        ("9" * 5000, "a number is too long or the nesting too deep"),
        ("[" * 100_000, "a number is too long or the nesting too deep"),
    ],
)
def test_trials_of_a_description_are_bounded_like_those_of_the_option(
    tmp_path: Path, value: str, message: str
) -> None:
    path = write(tmp_path, "one.csv", "model,x\na,1\nb,0\n")
    write(tmp_path, "one.json", f'{{"n_trials": {value}}}')
    with pytest.raises(InputError, match=message) as caught:
        read_benchmarks([path])
    assert str(caught.value).startswith(f"{tmp_path / 'one.json'}: ") and len(str(caught.value)) < 400


@pytest.mark.parametrize(
    ("matrix", "trials"),
    [
        ("one.csv", "one.trials.csv"),
        ("one.csv.gz", "one.trials.csv.gz"),
        ("response_matrix.csv", "trials.csv"),
    ],
)
def test_a_file_of_trials_is_no_benchmark(tmp_path: Path, matrix: str, trials: str) -> None:
    path = write(tmp_path, matrix, "model,x,y\na,1,0\nb,0,2\n")
    beside = write(tmp_path, trials, "model,x,y\na,2,2\nb,2,3\n")
    found = read_benchmarks([beside, path])
    assert len(found.names) == 1 and found.trials.tolist() == [[2, 2], [2, 3]]
    assert found.inputs == read_benchmarks([path]).inputs


@pytest.mark.parametrize(
    ("trials", "beside", "message"),
    [
        ("one.trials.csv.gz", "one.csv", "has the trials of a matrix and is none; give one.csv, which finds it"),
        ("one.trials.csv", "one.csv.gz", "has the trials of a matrix and is none; give one.csv.gz, which finds it"),
        ("a.trials.b.trials.csv", "a.trials.b.csv", "is none; give a.trials.b.csv, which finds it"),
        ("one.trials.csv", "a.csv", "of which matrix are these trials? Rename it NAME.trials.csv, or remove it"),
        # A response_matrix.csv has its trials in trials.csv.
        ("response_matrix.trials.csv", "response_matrix.csv", "of which matrix are these trials? Rename it"),
    ],
)  # fmt: skip
def test_trials_without_their_matrix_are_refused(
    tmp_path: Path, trials: str, beside: str, message: str
) -> None:
    path = write(tmp_path, trials, "model,x\na,2\nb,2\n")
    write(tmp_path, beside, "model,x\na,2\nb,1\n")
    with pytest.raises(InputError) as caught:
        read_benchmarks([path], n_trials=2)
    assert str(caught.value).startswith(f"{path}: ") and message in str(caught.value)


def test_trials_packed_twice_belong_to_one_file_alone(tmp_path: Path) -> None:
    """The matrix reads one.trials.csv, so nobody finds the packed ones."""
    one = write(tmp_path, "one.csv", "model,x\na,1\nb,0\n")
    packed = write(tmp_path, "one.trials.csv.gz", "model,x\na,2\nb,2\n")
    write(tmp_path, "one.trials.csv", "model,x\na,1\nb,1\n")
    with pytest.raises(InputError, match=r"one\.trials\.csv\.gz: of which matrix are these trials\?"):
        read_benchmarks([one, packed])


@pytest.mark.parametrize("beside", ["trials.csv", "trials.csv.gz"])
def test_trials_that_may_be_those_of_any_matrix_are_refused(tmp_path: Path, beside: str) -> None:
    trials = "model,x,y\na,2,2\nb,2,3\n"
    one = write(tmp_path, "one.csv", "model,x,y\na,1,0\nb,0,2\n")
    stray = write(tmp_path, beside, trials)
    message = (
        f"{stray}: of which matrix are these trials? Rename it one.trials.csv if of one.csv, or remove it"
    )
    with pytest.raises(InputError) as caught:
        read_benchmarks([one], n_trials=3)
    assert str(caught.value) == message
    write(tmp_path, "one.trials.csv", trials)
    assert read_benchmarks([one]).trials.tolist() == [[2, 2], [2, 3]]
    with pytest.raises(InputError) as caught:
        read_benchmarks([one, stray], n_trials=3)
    assert str(caught.value) == (
        f"{stray}: of which matrix are these trials? Rename it NAME.trials.csv, or remove it"
    )
    # Beside a response_matrix.csv it is known whose they are.
    two = write(tmp_path, "two.csv", "model,x\na,1\nb,0\n")
    prepared = write(tmp_path, "response_matrix.csv", "model,x,y\na,0,1\nb,1,1\n")
    found = read_benchmarks([one, stray, two, prepared], n_trials=1)
    assert found.names == ("one", "two", tmp_path.name)
    with pytest.raises(InputError, match="is none; give response_matrix.csv, which finds it"):
        read_benchmarks([one, stray], n_trials=1)


@pytest.mark.parametrize(
    "name", ["b\n.csv", "b\x1b[31m.csv", "b\x85.csv", "b\u2028.csv", "b\udcff.csv", ".csv"]
)
def test_a_name_that_no_file_or_table_can_show(tmp_path: Path, name: str) -> None:
    path = write(tmp_path, name, "model,x\na,1\nb,0\n")
    with pytest.raises(InputError, match="in UTF-8 without control characters") as caught:
        read_benchmarks([path], n_trials=1)
    assert str(caught.value).isascii() and "\n" not in str(caught.value)


def test_what_is_no_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    for path in (Path("."), Path(""), tmp_path, Path("..")):
        with pytest.raises(InputError, match="is a folder; give the matrices in it"):
            read_benchmarks([path], n_trials=1)
    os.mkfifo("pipe.csv")
    with pytest.raises(InputError, match="pipe.csv: is no file; write the matrix to one"):
        read_benchmarks([Path("pipe.csv")], n_trials=1)


def test_the_same_matrix_packed_is_the_same(tmp_path: Path) -> None:
    text = "model,x\na,1\nb,0\n"
    paths = [write(tmp_path, "one.csv", text), write(tmp_path, "two.csv.gz", text)]
    with pytest.raises(
        InputError, match="two.csv.gz: the same content as .*one.csv; give each benchmark once"
    ):
        read_benchmarks(paths, n_trials=1)


def matrix_of(models: list[str], column: str) -> str:
    return f"model,{column}\n" + "".join(f"{model},{i % 2}\n" for i, model in enumerate(models))


def test_models_that_are_not_in_all_matrices_are_told(tmp_path: Path) -> None:
    names = [f"org/model-{i}" for i in range(30)]
    slips = names[:26] + [name.replace("org/model-", "Org Model_") for name in names[26:]]
    one = write(tmp_path, "one.csv", matrix_of(names, "x"))
    two = write(tmp_path, "two.csv", matrix_of(slips, "y"))
    few = write(tmp_path, "few.csv", matrix_of(names[:9], "z"))
    slip = (
        "likely the same model under two names: 'org/model-26' in one and 'Org Model_26' in two, "
        "'org/model-27' in one and 'Org Model_27' in two, 'org/model-28' in one and 'Org Model_28' in two, "
        "and 1 more; models are joined by name as it stands"
    )
    only = "only 9 of 34 models are in all 3 matrices (few 9, one 30, two 30); --common-models "
    assert read_benchmarks([one, two, few], n_trials=1).warnings == (only + "uses only these 9", slip)
    common = read_benchmarks([one, two, few], n_trials=1, common_models=True)
    assert common.warnings == (only + "leaves out 25", slip) and len(common.models) == 9
    assert read_benchmarks([one], n_trials=1).warnings == ()
    # Two in one matrix are two models, however alike.
    both = write(tmp_path, "both.csv", matrix_of(["m-1.1", "m-11", "M_11x"], "x"))
    again = write(tmp_path, "again.csv", matrix_of(["m-1.1", "m-11", "M_11x"], "y"))
    assert read_benchmarks([both, again], n_trials=1).warnings == ()


def test_trials_that_no_cell_uses_up_are_doubted(tmp_path: Path) -> None:
    models = [f"m{i}" for i in range(24)]
    once = write(tmp_path, "once.csv", matrix_of(models, "x"))
    warning = "no cell of 'once' has more than 1 of 3 correct: is --n-trials right?"
    assert read_benchmarks([once], n_trials=3).warnings == (warning,)
    assert read_benchmarks([once], n_trials=1).warnings == ()
    write(tmp_path, "once.json", '{"n_trials": 3}')
    assert read_benchmarks([once]).warnings == (warning.replace("--n-trials", "n_trials in once.json"),)
    # Nobody right says nothing of the trials, and few cells say little.
    wrong = write(tmp_path, "wrong.csv", matrix_of(models, "x").replace(",1", ",0"))
    few = write(tmp_path, "few.csv", matrix_of(models[:10], "x"))
    assert read_benchmarks([wrong], n_trials=3).warnings == read_benchmarks([few], n_trials=3).warnings == ()


def test_ids_that_a_spreadsheet_would_take_for_formulas_are_kept(tmp_path: Path) -> None:
    path = write(tmp_path, "one.csv", "model,=1+1,@x\n+a,1,0\n-b,0,1\n")
    found = read_benchmarks([path], n_trials=1)
    assert found.models == ("+a", "-b") and found.items == (("one", "=1+1"), ("one", "@x"))


def test_groups() -> None:
    assert groups_of(np.array([[1, 0, 0], [1, 1, 0], [0, 0, 0]])).tolist() == [0, 0, -1]
    assert groups_of(np.array([[1, 0, 0], [0, 0, 1], [0, 0, 3]])).tolist() == [0, 1, 1]
    assert groups_of(np.zeros((2, 3), dtype=np.int64)).tolist() == [-1, -1]


def test_files_of_trials_are_left_out_of_what_a_pattern_finds(tmp_path: Path) -> None:
    names = ("a.csv.gz", "a.trials.csv", "b.csv", "own/response_matrix.csv", "own/trials.csv")
    (tmp_path / "own").mkdir()
    paths = [tmp_path / name for name in names]
    for path in paths:
        path.touch()
    assert without_trials(paths) == [paths[0], paths[2], paths[3]]
    assert without_trials(paths[1:3]) == paths[1:3]  # of a matrix that is not among them
