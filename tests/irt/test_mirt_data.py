"""Several matrices become one: joined by the models' names, with the trials that belong to each."""

from __future__ import annotations

import gzip
import json
from pathlib import Path

import numpy as np
import pytest

from irt.io import InputError
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
    assert [entry["file"] for entry in found.inputs] == [
        *("counts.csv", "counts.trials.csv", "told.csv", "response_matrix.csv", "trials.csv")
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
    with pytest.raises(InputError, match="1 models are in every matrix"):
        read_benchmarks([one, two], n_trials=1, common_models=True)


def test_trials_are_never_guessed(tmp_path: Path) -> None:
    path = write(tmp_path, "one.csv", "model,x\na,1\nb,0\n")
    with pytest.raises(InputError, match="Use --n-trials, or put one.trials.csv beside it"):
        read_benchmarks([path])
    write(tmp_path, "one.json", '{"n_trials": "varies"}')
    with pytest.raises(InputError, match="n_trials must be a whole number of at least 1 where there is no"):
        read_benchmarks([path])
    write(tmp_path, "one.json", "{")
    with pytest.raises(InputError, match="one.json:1: not valid JSON"):
        read_benchmarks([path])


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


def test_trials_without_their_matrix_are_refused(tmp_path: Path) -> None:
    path = write(tmp_path, "one.trials.csv.gz", "model,x\na,2\nb,2\n")
    with pytest.raises(InputError) as caught:
        read_benchmarks([path], n_trials=2)
    assert (
        str(caught.value)
        == f"{path}: has the trials of a matrix and is none; give one.csv.gz, which finds it"
    )


def test_groups() -> None:
    assert groups_of(np.array([[1, 0, 0], [1, 1, 0], [0, 0, 0]])).tolist() == [0, 0, -1]
    assert groups_of(np.array([[1, 0, 0], [0, 0, 1], [0, 0, 3]])).tolist() == [0, 1, 1]
    assert groups_of(np.zeros((2, 3), dtype=np.int64)).tolist() == [-1, -1]
