"""The demo runs the real commands on simulated responses and finds what was planted."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

from scripts.demo import compare, widest_gap

ROOT = Path(__file__).resolve().parents[2]


def test_comparison_counts_the_intervals_that_hold_the_truth() -> None:
    true = {"a": -1.0, "b": 0.0, "c": 1.0}
    # a: 0.5 away, 1.645 × 0.3 = 0.4935 reaches not quite; b: exact; c: 0.4 away, 0.4935 reaches.
    found = compare(true, {"c": (1.4, 0.3), "a": (-1.5, 0.3), "b": (0.0, 0.1)})
    assert (found.covered, found.items) == (2, 3)
    assert found.correlation == pytest.approx(0.9991, abs=1e-3)
    assert compare(true, {"a": (1, 1), "b": (0, 1), "c": (-1, 1)}).correlation == pytest.approx(-1)


def test_widest_gap_is_on_the_scale_of_the_easiest_and_hardest_item() -> None:
    assert widest_gap([6.0, -2.0, 0.0, 1.0]) == pytest.approx((0.375, 1.0))


def test_demo_runs_from_any_folder_and_finds_the_planted_gap(tmp_path: Path) -> None:
    answer = subprocess.run(
        [sys.executable, str(ROOT / "scripts" / "demo.py"), "--output-dir", "a folder"],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        timeout=600,
        check=False,
    )
    assert answer.returncode == 0, answer.stdout + answer.stderr
    assert sorted(path.name for path in tmp_path.iterdir()) == ["a folder"]
    assert all(path.name.startswith("simulated_") for path in (tmp_path / "a folder").iterdir())

    gaps = re.search(r"planted (\S+) to (\S+), estimated (\S+) to (\S+)\.$", answer.stdout, re.M)
    assert gaps
    low, high, left, right = map(float, gaps.groups())
    assert min(high, right) - max(low, left) > 0.5 * (high - low)

    correlation = re.search(r"Correlation of the difficulties: (\d\.\d+)", answer.stdout)
    assert correlation and float(correlation[1]) > 0.95
    # 36 expected; the errors share one shift of the scale, so the number spreads more than a binomial's.
    covered = re.search(r"(\d+) of 40 intervals of 90 %", answer.stdout)
    assert covered and int(covered[1]) >= 30
