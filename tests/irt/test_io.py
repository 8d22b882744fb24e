"""Files are read whatever they are packed in, and written whole or not at all."""

from __future__ import annotations

import csv
import gzip
import json
import os
import threading
from pathlib import Path

import numpy as np
import pytest

from irt.convergence import Estimates
from irt.fit_files import write_fit
from irt.io import (
    InputError,
    atomic_path,
    atomic_writer,
    csv_rows,
    open_text,
    read_json_object,
    remove_file,
    sha256_of,
    write_csv,
)
from irt.rasch import RaschFit
from irt.response_matrix import ResponseMatrix

TEXT = "a,b\r\né,2\r\n"


def read(path: Path) -> str:
    with open_text(path) as handle:
        return handle.read()


@pytest.mark.parametrize("mark", [b"", b"\xef\xbb\xbf"])
@pytest.mark.parametrize("name", ["t.csv", "t.csv.gz", "T.CSV.GZ"])
@pytest.mark.parametrize("packed", [False, True])
def test_gzip_is_known_by_its_first_bytes(tmp_path: Path, mark: bytes, name: str, packed: bool) -> None:
    data = mark + TEXT.encode()
    (tmp_path / name).write_bytes(gzip.compress(data) if packed else data)
    assert read(tmp_path / name) == TEXT


def test_a_pipe_can_be_read(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    writer = threading.Thread(target=lambda: (tmp_path / "pipe").write_bytes(gzip.compress(TEXT.encode())))
    writer.start()
    assert read(tmp_path / "pipe") == TEXT
    writer.join()


@pytest.mark.parametrize("cell", ["\r", "a\rb", "\n", "\r\n", '"', ",", " x ", "\u2028", "\x85", "", "a\r"])
def test_any_id_survives_writing_and_reading(tmp_path: Path, cell: str) -> None:
    write_csv(tmp_path / "t.csv", ["model", cell], [[cell, 1]])
    with open_text(tmp_path / "t.csv") as handle:
        assert [row for _, row in csv_rows("t.csv", handle)] == [["model", cell], [cell, "1"]]
    with open(tmp_path / "t.csv", encoding="utf-8", newline="") as handle:
        assert list(csv.reader(handle)) == [["model", cell], [cell, "1"]]


def test_a_failed_write_leaves_the_old_file_and_nothing_else(tmp_path: Path) -> None:
    target = tmp_path / "t.csv"
    target.write_text("old")
    with pytest.raises(ZeroDivisionError), atomic_writer(target) as handle:
        handle.write("new")
        raise ZeroDivisionError
    assert target.read_text() == "old"
    assert list(tmp_path.iterdir()) == [target]


def test_a_name_as_long_as_names_can_be(tmp_path: Path) -> None:
    write_csv(tmp_path / ("x" * 251 + ".csv"), ["a"], [])
    assert len(list(tmp_path.iterdir())) == 1


def test_a_link_keeps_pointing_to_what_is_written(tmp_path: Path) -> None:
    (tmp_path / "real.csv").write_text("old")
    (tmp_path / "link.csv").symlink_to("real.csv")
    write_csv(tmp_path / "link.csv", ["new"], [])
    assert (tmp_path / "link.csv").is_symlink() and (tmp_path / "real.csv").read_text() == "new\n"


def test_what_a_link_points_to_is_removed_and_the_link_stays(tmp_path: Path) -> None:
    (tmp_path / "real.json").write_text("old")
    (tmp_path / "link.json").symlink_to("real.json")
    for _ in range(2):  # the second time there is nothing to remove
        remove_file(tmp_path / "link.json")
        assert (tmp_path / "link.json").is_symlink() and not (tmp_path / "real.json").exists()


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ('{"a": 1,\n"b"}', "f.json:2: not valid JSON"),
        ("", "f.json:1: not valid JSON"),
        ("[1]", "f.json: expected a JSON object"),
        ('{"a": ' + "9" * 5000 + "}", "f.json: a number is too long or the nesting too deep"),
        ("[" * 200_000, "f.json: a number is too long or the nesting too deep"),
        (b"\xff{}", "f.json"),
    ],
)
def test_what_is_no_json_object_is_one_line(tmp_path: Path, text: str | bytes, message: str) -> None:
    path = tmp_path / "f.json"
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    with pytest.raises(InputError) as caught:
        read_json_object(path)
    assert message in str(caught.value) and "\n" not in str(caught.value) and len(str(caught.value)) < 300
    path.write_text('{"a": [1, null]}', encoding="utf-8")
    assert read_json_object(path) == {"a": [1, None]}


def test_what_is_not_a_file_is_never_replaced(tmp_path: Path) -> None:
    """A rename onto a device puts a plain file in its place; as root, onto /dev/null of the whole machine."""
    os.mkfifo(tmp_path / "pipe")
    (tmp_path / "link").symlink_to("pipe")
    (tmp_path / "folder").mkdir()
    for name in ("pipe", "link", "folder"):
        with (
            pytest.raises(InputError, match=f"{name}: is a folder or a device"),
            atomic_path(tmp_path / name),
        ):
            pass
    assert (tmp_path / "pipe").is_fifo() and (tmp_path / "folder").is_dir()


def test_a_parent_that_is_a_file_is_named(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    for path in (tmp_path / "file" / "t.csv", tmp_path / "file" / "more" / "t.csv"):
        with pytest.raises(InputError, match=r"t\.csv: cannot be written"), atomic_writer(path):
            pass


def test_the_files_of_a_fit_change_together_or_not_at_all(tmp_path: Path) -> None:
    """diagnostics.json vouches for the tables: an old one must not stay beside new tables, nor go without them."""
    estimates = Estimates(*(np.ones(2) for _ in range(4)))
    fit = RaschFit(estimates, estimates, 0, None)
    matrix = ResponseMatrix(("a", "b"), ("q", "r"), [[1, 1], [1, 1]], [[1, 1], [1, 1]])
    for name in ("difficulty.csv", "diagnostics.json"):
        (tmp_path / name).write_text("old")
    (tmp_path / "ability.csv").mkdir()  # cannot be written
    with pytest.raises(InputError, match=r"ability\.csv"):
        write_fit(tmp_path, matrix, fit, {"new": 1})
    assert {p.name: p.read_text() for p in tmp_path.iterdir() if p.is_file()} == {
        "difficulty.csv": "old",
        "diagnostics.json": "old",
    }
    with pytest.raises(ValueError):  # NaN is no JSON
        (tmp_path / "ability.csv").rmdir()
        write_fit(tmp_path, matrix, fit, {"new": float("nan")})
    assert (tmp_path / "difficulty.csv").read_text() == "old"
    write_fit(tmp_path, matrix, fit, {"new": 1})
    assert sorted(p.name for p in tmp_path.iterdir()) == ["ability.csv", "diagnostics.json", "difficulty.csv"]
    assert "old" not in "".join(p.read_text() for p in tmp_path.iterdir())
    table = json.loads((tmp_path / "diagnostics.json").read_text())["outputs"]["difficulty"]
    assert table == {"file": "difficulty.csv", "sha256": sha256_of(tmp_path / "difficulty.csv")}
