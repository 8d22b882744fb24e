"""The shell scripts behind `make setup`, run for real: broken shims, half-made environments, odd file times."""

from __future__ import annotations

import os
import shlex
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
REAL = getattr(sys, "_base_executable", sys.executable)


def executable(path: Path, *lines: str) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("\n".join(["#!/bin/sh", *lines, ""]), encoding="utf-8")
    path.chmod(0o755)
    return path


def broken(path: Path) -> Path:
    """Make what pyenv leaves on PATH for a version that is not selected."""
    return executable(path, f"echo 'pyenv: {path.name}: command not found' >&2", "exit 127")


def working(path: Path, before: str = "") -> Path:
    return executable(path, f'{before} exec {shlex.quote(REAL)} "$@"')


def find_python(home: Path, *path: Path, **variables: str) -> subprocess.CompletedProcess[str]:
    """Run the search with nothing else in its environment."""
    environment = {"HOME": str(home), "PATH": os.pathsep.join(map(str, path)), **variables}
    command = ["/bin/sh", str(ROOT / "tools" / "find_python.sh")]
    return subprocess.run(command, env=environment, capture_output=True, text=True, timeout=60, check=False)


def assert_found(answer: subprocess.CompletedProcess[str]) -> None:
    assert (answer.returncode, answer.stdout, answer.stderr) == (0, REAL + "\n", "")


def assert_one_line_of_failure(answer: subprocess.CompletedProcess[str], words: str) -> None:
    assert (answer.returncode, answer.stdout) == (1, "")
    assert words in answer.stderr
    assert answer.stderr.count("\n") == 1


@pytest.mark.parametrize("name", ["python3.12", "python3", "python"])
def test_a_broken_shim_does_not_hide_a_working_python(tmp_path: Path, name: str) -> None:
    broken(tmp_path / "shims" / "python3.12")
    working(tmp_path / "a folder" / name)
    assert_found(find_python(tmp_path, tmp_path / "shims", tmp_path / "a folder"))


def test_nothing_usable_is_one_line(tmp_path: Path) -> None:
    broken(tmp_path / "shims" / "python3.12")
    assert_one_line_of_failure(find_python(tmp_path, tmp_path / "shims"), "no Python 3.12 or newer")


def test_a_python_without_ensurepip_is_passed_over(tmp_path: Path) -> None:
    """Debian's python3 comes without it unless python3-venv is installed."""
    (tmp_path / "ensurepip.py").write_text("raise ImportError", encoding="utf-8")
    working(tmp_path / "debian" / "python3.13", before=f"PYTHONPATH={shlex.quote(str(tmp_path))}")
    assert_one_line_of_failure(find_python(tmp_path, tmp_path / "debian"), "venv module")
    working(tmp_path / "other" / "python3")
    assert_found(find_python(tmp_path, tmp_path / "debian", tmp_path / "other"))


def test_pyenv_versions_are_found_without_their_shims(tmp_path: Path) -> None:
    working(tmp_path / ".pyenv" / "versions" / "3.12.9" / "bin" / "python")
    assert_found(find_python(tmp_path, tmp_path / "empty"))
    shutil.move(tmp_path / ".pyenv", tmp_path / "elsewhere")
    assert_found(find_python(tmp_path, tmp_path / "empty", PYENV_ROOT=str(tmp_path / "elsewhere")))


def test_uv_is_asked_last(tmp_path: Path) -> None:
    python = working(tmp_path / "uv managed" / "python3.12")
    executable(tmp_path / "bin" / "uv", f"echo {shlex.quote(str(python))}")
    assert_found(find_python(tmp_path, tmp_path / "bin"))


def test_a_named_python_is_taken_or_refused_but_never_replaced(tmp_path: Path) -> None:
    named = working(tmp_path / "named" / "mine")
    assert_found(find_python(tmp_path, PYTHON=str(named)))
    assert_found(find_python(tmp_path, tmp_path / "named", PYTHON="mine"))
    working(tmp_path / "bin" / "python3")
    refused = find_python(tmp_path, tmp_path / "bin", PYTHON=str(broken(tmp_path / "named" / "shim")))
    assert_one_line_of_failure(refused, "named/shim is no Python 3.12 or newer")


def test_setup_does_nothing_twice_repairs_what_was_interrupted_and_follows_the_pins(tmp_path: Path) -> None:
    folder = tmp_path / "a folder"
    shutil.copytree(ROOT / "tools", folder / "tools")
    pins = folder / "requirements_irt.txt"
    pins.write_text("# no packages\n", encoding="utf-8")
    (folder / "requirements_verifier.txt").write_text("-r requirements_irt.txt\n", encoding="utf-8")
    (folder / "requirements_dev.txt").write_text("-r requirements_verifier.txt\n", encoding="utf-8")

    def setup() -> list[str]:
        command = ["sh", str(folder / "tools" / "setup.sh")]
        environment = {**os.environ, "PYTHON": REAL}
        return subprocess.run(
            command, env=environment, capture_output=True, text=True, check=True
        ).stdout.splitlines()

    assert [line.split()[1] for line in setup()] == ["using", "installing", "ready"]
    assert setup() == []

    os.utime(pins, (2_000_000_000, 2_000_000_000))  # a clone with odd times is not a change
    assert setup() == []

    (folder / ".venv" / ".installed").unlink()  # interrupted while installing
    (folder / ".venv" / "bin" / "python").unlink()
    assert setup()[-1] == "setup: ready"

    pins.write_text("# still no packages\n", encoding="utf-8")
    assert setup()[-1] == "setup: ready"
    assert setup() == []
