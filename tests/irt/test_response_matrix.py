"""Every mistake in the matrix, trials and guessing files gets its own line; what is right is read as it stands."""

from __future__ import annotations

import gzip
from pathlib import Path

import pytest

from irt.io import InputError
from irt.response_matrix import ResponseMatrix, drop_models, read_guessing, read_response_matrix

GOOD = "model,q0,q1\na,1,2\nb,0,1\n"


def read(folder: Path, text: str, trials: str | None = None, n_trials: int | None = 2) -> ResponseMatrix:
    (folder / "m.csv").write_text(text, encoding="utf-8", newline="")
    if trials is None:
        return read_response_matrix(folder / "m.csv", n_trials=n_trials)
    (folder / "t.csv").write_text(trials, encoding="utf-8", newline="")
    return read_response_matrix(folder / "m.csv", trials_path=folder / "t.csv")


def test_counts_blanks_and_trials(tmp_path: Path) -> None:
    assert read(tmp_path, GOOD) == ResponseMatrix(
        ("a", "b"), ("q0", "q1"), [[1, 2], [0, 1]], [[2, 2], [2, 2]]
    )
    blank = read(tmp_path, "model,q0,q1\na,1,\nb,0,1\n")
    assert (blank.correct, blank.trials) == ([[1, 0], [0, 1]], [[2, 0], [2, 2]])
    uneven = read(tmp_path, "model,q0,q1\na,1,\nb,0,7\n", trials="model,q0,q1\na,3,\nb,1,9\n")
    assert uneven.trials == [[3, 0], [1, 9]]
    zero = read(tmp_path, "model,q0,q1\na,1,\nb,0,7\n", trials="model,q0,q1\na,3,0\nb,1,9\n")
    assert zero == uneven


def test_what_other_programs_write_is_read(tmp_path: Path) -> None:
    """Excel adds a byte-order mark and CRLF; pandas writes 1.0 for counts in a column with blanks."""
    expected = read(tmp_path, GOOD)
    assert read(tmp_path, "\ufeff" + GOOD.replace("\n", "\r\n")) == expected
    assert read(tmp_path, GOOD.replace("a,1,2", "a,1.0,2.")) == expected
    (tmp_path / "m.csv.gz").write_bytes(gzip.compress(GOOD.encode()))
    assert read_response_matrix(tmp_path / "m.csv.gz", n_trials=2) == expected
    odd = read(tmp_path, 'model,007,"q,1"\n1e3,1,2\nmödel,0,1\n')
    assert (odd.models, odd.items) == (("1e3", "mödel"), ("007", "q,1"))


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "the file is empty"),
        ("model\na\nb\n", "number of items: 0"),
        ("model,q0\na,1\nb,1\n", "number of items: 1; a fit needs at least 2 models and 2 items"),
        ("model,q0,q1\n", "number of models: 0"),
        ("model,q0,q1\na,1,1\n", "number of models: 1"),
        ("name,q0,q1\na,1,1\nb,1,1\n", "m.csv:1: the first column must be 'model', found 'name'"),
        ("model,q0,q0\na,1,1\nb,1,1\n", "item 'q0' is there twice"),
        ("model,q0,\na,1,1\nb,1,1\n", "item 2 has an empty id"),
        ("model,q0,q1\na,1,1\na,1,1\n", "model 'a' is there twice"),
        ("model,q0,q1\n,1,1\na,1,1\n", "model 1 has an empty id"),
        ("model,q0,q1\na,1\nb,1,1\n", "m.csv:2: 2 cells where the header has 3"),
        ("model,q0,q1\na,1,3\nb,1,1\n", "m.csv:2: model 'a', item 'q1': found 3, expected 0 to 2"),
        ("model,q0,q1\na,1,1\nb,-1,1\n", "m.csv:3: model 'b', item 'q0': found '-1'"),
        ("model,q0,q1\na,1,0.5\nb,1,1\n", "found '0.5'; expected a whole number"),
        ("model,q0,q1\na,1,NA\nb,1,1\n", "found 'NA'"),
        ("model,q0,q1\na,1,nan\nb,1,1\n", "found 'nan'"),
        ("model,q0,q1\na,1,1e0\nb,1,1\n", "found '1e0'"),
        ("model,q0,q1\na,1," + "9" * 5000 + "\nb,1,1\n", "expected a whole number"),
        ("model,q0,q1\na,1,\u0663\nb,1,1\n", "expected a whole number"),
        ("model,q0,q1\na,,\nb,1,1\n", "m.csv:2: model 'a' was never asked anything"),
        ("model,q0,q1\na,1,\nb,1,\n", "no model was asked 1 items; leave them out: 'q1'"),
        ('model,q0,q1\na,"1,1\nb,1,1\n', "not valid CSV"),
        ("model," + ",".join(f"q{i}" for i in range(8)) + "\na" + ",9" * 8 + "\nb" + ",1" * 8, "and 3 more"),
    ],
)
def test_mistakes_in_the_matrix(tmp_path: Path, text: str, message: str) -> None:
    with pytest.raises(InputError) as caught:
        read(tmp_path, text)
    assert message in str(caught.value)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("trials", "message"),
    [
        ("model,q0,q1\na,2,2\nc,2,2\n", "its models are not those of"),
        ("model,q0,q2\na,2,2\nb,2,2\n", "only in one of them: 'q1', 'q2'"),
        ("model,q1,q0\na,2,2\nb,2,2\n", "their order differs"),
        ("model,q0,q1\na,2,\nb,2,2\n", "t.csv:2: model 'a', item 'q1': a count without trials"),
        ("model,q0,q1\na,2,1\nb,2,2\n", "found 2, expected 0 to 1"),
        ("model,q0,q1\na,2,two\nb,2,2\n", "found 'two'"),
    ],
)
def test_mistakes_in_the_trials(tmp_path: Path, trials: str, message: str) -> None:
    with pytest.raises(InputError, match=r"(?s).*") as caught:
        read(tmp_path, GOOD, trials=trials)
    assert message in str(caught.value)


def test_trials_where_nothing_was_counted(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="item 'q1': 2 trials without a count"):
        read(tmp_path, "model,q0,q1\na,1,\nb,0,1\n", trials="model,q0,q1\na,2,2\nb,2,2\n")


def test_not_utf8_and_damaged_gzip(tmp_path: Path) -> None:
    (tmp_path / "m.csv").write_bytes(b"model,q\xe9,q1\na,1,1\nb,1,1\n")
    with pytest.raises(InputError, match="not UTF-8"):
        read_response_matrix(tmp_path / "m.csv", n_trials=2)
    whole = gzip.compress(GOOD.encode() * 1000)
    for name, damaged in (
        ("cut", whole[:-20]),
        ("flipped", whole[:30] + b"\0\0\0" + whole[33:]),
    ):
        (tmp_path / f"{name}.csv.gz").write_bytes(damaged)
        with pytest.raises(InputError):
            read_response_matrix(tmp_path / f"{name}.csv.gz", n_trials=2)


def read_g(folder: Path, text: str) -> list[float]:
    (folder / "g.csv").write_text(text, encoding="utf-8")
    return read_guessing(folder / "g.csv", ("q0", "q1"))


def test_guessing_follows_the_items(tmp_path: Path) -> None:
    assert read_g(tmp_path, "guessing,note,item_id\n0.25,x,q1\n0,y,q0\n") == [0.0, 0.25]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("item_id,guessing\nq0,0.1\n", "no row for 1 items of the matrix: 'q1'"),
        ("item_id,guessing\nq0,0.1\nq1,0.1\nq2,0.1\n", "1 items are not in the matrix: 'q2'"),
        ("item_id,guessing\nq0,0.1\nq0,0.1\nq1,0.1\n", "g.csv:3: item 'q0' is there twice"),
        (
            "item_id,guessing\nq0,1\nq1,0\n",
            "g.csv:2: item 'q0': guessing must be a number from 0 to below 1, found '1'",
        ),
        ("item_id,guessing\nq0,-0.1\nq1,0\n", "found '-0.1'"),
        ("item_id,guessing\nq0,nan\nq1,0\n", "found 'nan'"),
        ("item_id,guessing\nq0,\nq1,0\n", "found ''"),
        ("item,guessing\nq0,0\nq1,0\n", "no column 'item_id'; columns there: 'item', 'guessing'"),
        ("", "no column 'item_id'"),
    ],
)
def test_mistakes_in_guessing(tmp_path: Path, text: str, message: str) -> None:
    with pytest.raises(InputError) as caught:
        read_g(tmp_path, text)
    assert message in str(caught.value)


def test_models_can_be_left_out(tmp_path: Path) -> None:
    matrix = read(tmp_path, GOOD + "c,2,2\n")
    assert drop_models(matrix, frozenset({"b"}), "m.csv").models == ("a", "c")
    with pytest.raises(InputError, match="no such model to leave out: 'd'"):
        drop_models(matrix, frozenset({"d"}), "m.csv")
    with pytest.raises(InputError, match="1 models left"):
        drop_models(matrix, frozenset({"a", "b"}), "m.csv")
