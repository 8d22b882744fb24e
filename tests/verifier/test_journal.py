"""A journal is readable after a kill at any byte, whatever the texts in it (verifiers#803, #1644)."""

from __future__ import annotations

import json
import multiprocessing
import os
import signal
from pathlib import Path
from typing import Any

import pytest

from irt.io import InputError
from verifier.journal import open_journal, read_journal

HARD_TEXTS = [
    "plain",
    "line\u2028and\u0085and\u2029\nend",
    "half \ud800 a pair",
    "\x00\x1f",
    "答案：４",
    "x" * 100_000,
]


def records(path: Path) -> list[dict[str, Any]]:
    return [record for _, record in read_journal(path)]


def test_what_is_appended_is_read_whatever_the_text(tmp_path: Path) -> None:
    path = tmp_path / "new" / "journal.jsonl"
    for part in (HARD_TEXTS[:3], HARD_TEXTS[3:]):
        with open_journal(path) as append:
            for text in part:
                append({"text": text})
    assert [record["text"] for record in records(path)] == HARD_TEXTS


def test_a_cut_at_any_byte_costs_the_last_record_alone(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    whole = b'{"id": 1}\n{"id": 2, "text": "\xe7\xad\x94"}\n'
    path = tmp_path / "journal.jsonl"
    for size in range(len(whole) + 1):
        path.write_bytes(whole[:size])
        complete = whole[:size].count(b"\n")
        assert [record["id"] for record in records(path)] == [1, 2][:complete]
        with open_journal(path) as append:
            append({"id": 3})
        assert [record["id"] for record in records(path)] == [*[1, 2][:complete], 3]
        torn = size - (whole[:size].rfind(b"\n") + 1)
        assert (f"{path}: removed a record of {torn} bytes" in capsys.readouterr().err) == (torn > 0)


def test_a_long_torn_record_is_removed_too(tmp_path: Path) -> None:
    path = tmp_path / "journal.jsonl"
    path.write_bytes(b'{"id": 1}\n{"text": "' + b"x" * 300_000)
    with open_journal(path) as append:
        append({"id": 2})
    assert [record["id"] for record in records(path)] == [1, 2]


@pytest.mark.parametrize("line", [b'{"id": 2, "te', b"[1]", b"\xff\xfe", b"", b"{}{}"])
def test_a_bad_line_in_the_middle_stops_with_its_place(tmp_path: Path, line: bytes) -> None:
    path = tmp_path / "journal.jsonl"
    path.write_bytes(b'{"id": 1}\n' + line + b'\n{"id": 3}\n')
    with pytest.raises(InputError, match=f"^{path}:2: "):
        records(path)


def test_a_second_writer_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "journal.jsonl"
    with open_journal(path), pytest.raises(InputError, match="another process"), open_journal(path):
        pass
    with open_journal(path) as append:
        append({"id": 1})
    assert len(records(path)) == 1


def _append_for_ever(path: Path) -> None:
    with open_journal(path) as append:
        number = 0
        while True:
            append({"number": number, "text": "x" * 5000})
            number += 1


def test_kills_leave_a_readable_journal(tmp_path: Path) -> None:
    path = tmp_path / "journal.jsonl"
    for _ in range(5):
        child = multiprocessing.get_context("fork").Process(target=_append_for_ever, args=(path,))
        child.start()
        assert child.pid is not None
        before = path.stat().st_size if path.exists() else 0
        while not path.exists() or path.stat().st_size < before + 50_000:
            assert child.is_alive()
        os.kill(child.pid, signal.SIGKILL)
        child.join()
    with open_journal(path):
        pass
    numbers = [record["number"] for record in records(path)]
    assert numbers.count(0) == 5
    assert all(after in (0, before + 1) for before, after in zip(numbers, numbers[1:], strict=False))
    assert all(json.loads(line) for line in path.read_bytes().splitlines())
