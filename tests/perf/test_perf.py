"""The comparisons start, the quick ones run, and what they derive from their measurements is right."""

from __future__ import annotations

import math
import re
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from irt.io import InputError
from perf.agreement import Comparison
from perf.bars import Bar, print_bars
from perf.cost import measure
from perf.fit import scaled_seconds
from perf.mirt_simulated import fit_in_process, simulate

ROOT = Path(__file__).resolve().parents[2]
COMMANDS = sorted(
    path.name for path in (ROOT / "perf").glob("*.py") if "__main__" in path.read_text(encoding="utf-8")
)


def run(script: str, *arguments: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, f"perf/{script}", *arguments]
    return subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=60, check=False)


@pytest.mark.parametrize("script", COMMANDS)
def test_help_answers_with_two_examples(script: str) -> None:
    answer = run(script, "--help")
    assert answer.returncode == 0, answer.stderr
    assert len(re.findall(rf"^\s+python3? perf/{re.escape(script)}\b", answer.stdout, re.M)) >= 2


@pytest.mark.parametrize(("script", "rows"), [("prepare.py", 4), ("diagnose.py", 3)])
def test_quick_look_prints_its_table(script: str, rows: int) -> None:
    answer = run(script, "--items", "2")
    assert answer.returncode == 0, answer.stderr
    assert len(re.findall(r" \d+\.\d\d +\d+ +\d+\.\d\d$", answer.stdout, re.M)) == rows


def test_make_perf_runs_files_that_exist() -> None:
    answer = subprocess.run(["make", "-n", "perf"], cwd=ROOT, capture_output=True, text=True, check=True)
    named = set(re.findall(r"perf/\w+\.py", answer.stdout))
    helpers = {"joint_pymc.py", "answering_server.py", "mirt_peers.py"}
    assert named == {f"perf/{name}" for name in COMMANDS if name not in helpers}


def test_a_failed_command_is_told_with_its_last_words() -> None:
    with pytest.raises(InputError, match=r"exit status 3 of .*\n  the disk is full"):
        measure([sys.executable, "-c", "import sys; print('the disk is full', file=sys.stderr); sys.exit(3)"])


def test_scaling_multiplies_the_draws_and_not_the_compilation() -> None:
    """Cold 30 s, of which 20 s compile; warm 10 s, and 0.1 s for each of 195 more draws."""
    assert scaled_seconds(cold=30, start=10, cost=29.5, few=100) == pytest.approx(30 + 0.1 * 2000)


def test_verdict_is_no_where_the_methods_differ() -> None:
    z = np.random.default_rng(0).normal(size=300)
    assert Comparison(z[:50], z[50:], 2.0).agrees()
    assert not Comparison(z[:50] + 1.5, z[50:], 2.0).agrees()
    assert not Comparison(z[:50], 1.5 * z[50:], 2.0).agrees()
    assert not Comparison(z[:50], np.append(z[50:], 6.0), 2.0).agrees()
    assert not Comparison(z[:50], z[50:], 6.0).agrees()


def test_no_program_is_given_the_hidden_answers() -> None:
    data = simulate(60)
    flipped = data._replace(correct=np.where(data.hidden, 1 - data.correct, data.correct))
    found, again = (fit_in_process("ours", sys.executable, one).found for one in (data, flipped))
    assert found is not None and again is not None
    np.testing.assert_array_equal(found["chance"], again["chance"])
    assert data.log_loss(data.chance) < data.log_loss(found["chance"]) < np.log(2)


def test_recovery_of_simulated_abilities_does_not_depend_on_the_rotation() -> None:
    data = simulate(60)
    turn = np.array([[0.6, -0.8], [0.8, 0.6]]) @ np.diag([1, -1])
    for found in data.recovery(data.theta @ turn, data.a @ turn):
        assert found == pytest.approx([1, 1])
    abilities, loadings = data.recovery(data.theta[::-1], data.a)
    assert max(abilities) < 0.5 and loadings == pytest.approx([1, 1])


def test_a_bar_is_missed_beyond_either_end(capsys: pytest.CaptureFixture[str]) -> None:
    inside, below, above = (Bar("r", measured, 0.9, 1.0) for measured in (0.95, 0.8999, 1.1))
    assert print_bars([inside, Bar("seconds", 30.0, -math.inf, 30.0)])
    assert not print_bars([inside, below])
    assert not print_bars([above, inside])
    assert not print_bars([Bar("r", math.nan, 0.9, math.inf)])
    lines = capsys.readouterr().out.splitlines()
    assert [line.split()[-1] for line in lines] == ["ok", "ok", "ok", "NO", "NO", "ok", "NO"]
    assert "at most 30" in lines[1] and "at least 0.9" in lines[-1]


def test_unknown_benchmark_is_refused_with_the_known_ones() -> None:
    answer = run("agreement.py", "--matrices", ".", "--only", "AIME25-I", "Nonesuch")
    assert answer.returncode == 2
    assert "Nonesuch" in answer.stderr and "simulated" in answer.stderr


@pytest.mark.parametrize(
    "arguments",
    [
        ["--matrix", "m.csv"],
        ["--n-trials", "1"],
        ["--matrix", "m.csv", "--n-trials", "1", "--guessing", "0", "0.25"],
        ["--few", "3"],
    ],
)
def test_fit_refuses_options_that_do_not_go_together(arguments: list[str]) -> None:
    assert run("fit.py", *arguments).returncode == 2
