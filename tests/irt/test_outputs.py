"""Outputs that could not be written, or would overwrite an input, are refused before a fit."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from irt.io import InputError
from irt.outputs import check_outputs


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A matrix, its description and links to both kinds, a folder, a pipe; the working directory."""
    monkeypatch.chdir(tmp_path)
    Path("one.csv").write_text("model,x\n")
    Path("fit.json").write_text("{}")
    Path("out").mkdir()
    Path("out/taken.csv").mkdir()
    os.mkfifo("out/pipe.csv")
    Path("out/link.csv").symlink_to("../one.csv")
    os.link("one.csv", "out/hard.csv")
    Path("out/loop.csv").symlink_to("loop.csv")
    Path("out/a.csv").symlink_to("target.csv")
    Path("out/b.csv").symlink_to("target.csv")
    Path("out/lost.csv").symlink_to("../one.csv/x.csv")
    Path("gone").symlink_to("unmounted/disk")
    return tmp_path


@pytest.mark.parametrize(
    ("outputs", "message"),
    [
        (["one.csv"], "one.csv is an input and would be overwritten; choose another place"),
        (["x/../one.csv"], "x/../one.csv is an input and would be overwritten"),
        (["out/../fit.json"], "out/../fit.json is an input and would be overwritten"),
        (["out/link.csv"], "out/link.csv is an input and would be overwritten"),
        (["out/hard.csv"], "out/hard.csv is an input and would be overwritten"),
        (["out/taken.csv"], "out/taken.csv: is a folder or a device; name a file to write"),
        (["out/pipe.csv"], "out/pipe.csv: is a folder or a device"),
        (["/dev/null"], "/dev/null: is a folder or a device"),
        (["one.csv/fit.csv"], "one.csv: is a file, not a folder; choose another"),
        (["one.csv/new/fit.csv"], "one.csv: is a file, not a folder; choose another"),
        (["out/lost.csv"], "one.csv: is a file, not a folder; choose another"),
        (["gone/fit.csv"], "gone: is a link to a folder that is not there; make that, or choose another"),
        (["gone/new/fit.csv"], "gone: is a link to a folder that is not there"),
        (["out/a.csv", "out/b.csv"], "out/b.csv and out/a.csv are the same file; remove the link"),
        (["out/new.csv", "new/folder/new.csv", "out/a.csv"], None),
    ],
)
def test_outputs(outputs: list[str], message: str | None) -> None:
    before = sorted(Path().rglob("*"))
    inputs = [Path("one.csv"), Path("fit.json")]
    if message is None:
        check_outputs([Path(output) for output in outputs], inputs)
    else:
        with pytest.raises(InputError) as caught:
            check_outputs([Path(output) for output in outputs], inputs)
        assert message in str(caught.value) and "\n" not in str(caught.value)
    assert sorted(Path().rglob("*")) == before


@pytest.mark.parametrize("output", ["out/loop.csv", f"out/{'x' * 300}.csv"])
def test_outputs_that_the_system_refuses(output: str) -> None:
    with pytest.raises(OSError) as caught:
        check_outputs([Path(output)], [])
    assert caught.value.filename == output or str(caught.value.filename) == output


@pytest.mark.skipif(not Path("/proc/self").exists(), reason="no folder here that even root may not write")
def test_a_folder_that_cannot_be_written() -> None:
    with pytest.raises(InputError, match="/proc: this folder cannot be written to"):
        check_outputs([Path("/proc/new/fit.json")], [])
