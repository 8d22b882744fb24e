"""How commands end, seen from outside: exit status, one line, no traceback."""

from __future__ import annotations

import argparse
import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from irt.command import printable, proportion
from tests.signals import allow_interrupts

ROOT = Path(__file__).resolve().parents[2]
TABLES = [sys.executable, str(ROOT / "scripts" / "diagnose_benchmark.py")]


@pytest.fixture
def difficulties(tmp_path: Path) -> Path:
    path = tmp_path / "difficulty.csv"
    path.write_text("item,b_mean\n" + "".join(f"q{i},{i * i}\n" for i in range(20_000)))
    return path


@pytest.mark.parametrize(
    ("zero", "one", "interval"),
    [
        (True, True, "from 0 to 1"),
        (True, False, "from 0 to below 1"),
        (False, True, "above 0 and at most 1"),
        (False, False, "above 0 and below 1"),
    ],
)
def test_proportions_with_and_without_the_ends(zero: bool, one: bool, interval: str) -> None:
    parse = proportion(zero=zero, one=one)
    assert parse("0.25") == 0.25 and parse("1e-9") == 1e-9
    for text, taken in (
        ("0", zero),
        ("1", one),
        ("-0.1", False),
        ("1.1", False),
        ("nan", False),
        ("x", False),
    ):
        if taken:
            assert parse(text) == float(text)
            continue
        with pytest.raises(argparse.ArgumentTypeError) as caught:
            parse(text)
        assert str(caught.value) == f"must be a number {interval}, found {text!r}"


def test_a_reader_that_stops_early_is_no_error(difficulties: Path) -> None:
    command = f"'{sys.executable}' '{TABLES[1]}' '{difficulties}' --json --gaps 19999 | head -n 1"
    done = subprocess.run(["bash", "-o", "pipefail", "-c", command], capture_output=True, text=True)
    assert (done.returncode, done.stdout, done.stderr) == (0, "{\n", "")


def ended(program: str, reader: str, **more: str) -> int:
    """Return the exit status of a command whose whole output goes to ``reader``, in bash."""
    command = f"""'{sys.executable}' -c "$PROGRAM" 2>&1 | {reader}; exit ${{PIPESTATUS[0]}}"""
    variables = os.environ | {
        "PYTHONUNBUFFERED": "",
        "PROGRAM": COMMAND + program,
        "PYTHONPATH": str(ROOT),
        **more,
    }
    return subprocess.run(["bash", "-c", command], env=variables, capture_output=True, timeout=60).returncode


COMMAND = """
import os, sys, time
from irt.command import run
def say(*lines):
    for line in lines:
        print(line, file=sys.stderr)
        time.sleep(0.2)
"""


@pytest.mark.parametrize("unbuffered", ["", "1"])
def test_work_whose_messages_nobody_reads_is_no_success(tmp_path: Path, unbuffered: str) -> None:
    """It was 0, and what had started the command took the work for done."""
    program = f"run(lambda: say('one', 'two', 'three') or os.mkdir({str(tmp_path / 'made')!r}) or 0)"
    assert ended(program, "head -n 1", PYTHONUNBUFFERED=unbuffered) == 2
    assert not (tmp_path / "made").exists()
    assert ended(program, "cat", PYTHONUNBUFFERED=unbuffered) == 0
    assert (tmp_path / "made").exists()


def test_a_mistake_that_nobody_reads_is_still_a_mistake() -> None:
    program = "import irt.io\ndef main(): time.sleep(0.2); raise irt.io.InputError('so')\nrun(main)"
    assert ended(program, "true") == 2


def test_a_failure_is_none_the_less_one_when_its_output_is_not_read() -> None:
    assert ended("run(lambda: time.sleep(0.2) or print('half of it') or 1)", "true") == 1


def test_another_broken_pipe_keeps_its_traceback() -> None:
    program = "def main():\n  r, w = os.pipe(); os.close(r); os.write(w, b'x')\nrun(main)"
    assert ended(program, "grep Traceback") == 1


def test_closed_standard_output_is_no_error(difficulties: Path) -> None:
    done = subprocess.run(
        ["bash", "-c", f"'{sys.executable}' '{TABLES[1]}' '{difficulties}' >&-"],
        capture_output=True,
        text=True,
    )
    assert (done.returncode, done.stderr) == (0, "")


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="this system has no /dev/full")
def test_a_full_standard_output_is_one_line(difficulties: Path) -> None:
    with open("/dev/full", "w") as full:
        done = subprocess.run([*TABLES, str(difficulties)], stdout=full, stderr=subprocess.PIPE, text=True)
    assert done.returncode == 2
    assert done.stderr == "diagnose_benchmark.py: error: standard output: No space left on device\n"


def test_ctrl_c_is_status_130_and_one_line(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    command = [*TABLES, str(tmp_path / "pipe")]
    process = subprocess.Popen(command, stderr=subprocess.PIPE, text=True, preexec_fn=allow_interrupts)
    with open(tmp_path / "pipe", "w") as pipe:  # returns once the command has opened the other end
        time.sleep(0.2)
        process.send_signal(signal.SIGINT)
        error = process.communicate(timeout=20)[1]
        pipe.close()
    assert (process.returncode, error) == (130, "diagnose_benchmark.py: interrupted\n")


def interrupted(program: str) -> tuple[int, str]:
    """Send Ctrl-C to a program once it has written a line; return its status and standard error."""
    process = subprocess.Popen(
        [sys.executable, "-c", program], env=os.environ | {"PYTHONPATH": str(ROOT)}, preexec_fn=allow_interrupts,
        stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
    )  # fmt: skip
    assert process.stdout is not None and process.stdout.readline() == "ready\n"
    process.send_signal(signal.SIGINT)
    _, error = process.communicate(timeout=15)
    return process.returncode, error


@pytest.mark.parametrize("package", ["propose", "verifier"])
def test_ctrl_c_while_a_command_is_imported_is_one_line(package: str) -> None:
    """`python -m` calls itself "-m" while it imports the package of a module."""
    program = (
        f"import sys, time\nsys.argv[0] = '-m'\nimport {package}\nprint('ready', flush=True)\ntime.sleep(20)"
    )
    assert interrupted(program) == (130, "interrupted\n")


def test_ctrl_c_that_a_callback_swallows_is_not_lost() -> None:
    """A library that calls Python back cannot raise what is raised there, and the work went on to its end."""
    program = """
import ctypes, sys, time
from irt.command import run
@ctypes.CFUNCTYPE(None)
def callback():
    print("ready", flush=True)
    time.sleep(20)
def main():
    callback()
    time.sleep(20)
    return 0
run(main)
"""
    assert interrupted(program) == (130, "-c: interrupted\n")


def test_ctrl_c_inside_a_text_that_is_executed_is_status_130_too() -> None:
    text = "print('ready', flush=True); time.sleep(20)"
    program = f"from irt.command import run\nimport time\nrun(lambda: exec({text!r}))"
    assert interrupted(program) == (130, "-c: interrupted\n")


@pytest.mark.parametrize("encoding", ["ascii", "utf-8", "cp1252", "utf-16"])
def test_json_is_valid_in_every_encoding_and_other_text_is_no_failure(encoding: str) -> None:
    value = {"é\u2028": ["±", "\ud800", "\x1b[31m", '"\\']}
    for program in (f"print_json({ascii(value)}) or 0", r"print('± \ud800 中') or 0"):
        done = subprocess.run(
            [sys.executable, "-c", f"from irt.command import print_json, run\nrun(lambda: {program})"],
            env=os.environ | {"PYTHONIOENCODING": encoding, "PYTHONPATH": str(ROOT)},
            capture_output=True,
        )
        assert (done.returncode, done.stderr) == (0, b"")
        if "json" in program:
            assert json.loads(done.stdout.decode(encoding)) == value


def test_all_json_is_printed_in_one_way() -> None:
    for room in ("scripts", "propose", "verifier", "irt"):
        for path in (ROOT / room).rglob("*.py"):
            assert path.name == "command.py" or "print(json." not in path.read_text(encoding="utf-8"), path


def test_a_terminal_is_shown_no_control_sequence() -> None:
    assert printable("a\tb\n中 é") == "a\tb\n中 é"
    assert printable("\x1b[2Jx\r\x07\x9b1m\x7f\u202e") == r"\x1b[2Jx\r\x07\x9b1m\x7f\u202e"


def test_an_unknown_option_is_one_line() -> None:
    done = subprocess.run([*TABLES, "f.csv", "--colum", "b"], capture_output=True, text=True)
    assert done.returncode == 2
    assert done.stderr == "diagnose_benchmark.py: error: unrecognized arguments: --colum b; see --help\n"


def test_a_program_that_imports_the_packages_keeps_its_hooks() -> None:
    code = "import sys, propose, verifier, irt.command; print(sys.excepthook is sys.__excepthook__)"
    ran = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, timeout=60, check=False
    )
    assert ran.stdout == "True\n", ran.stderr
