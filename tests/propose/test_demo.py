"""`bash run_experiment.sh demo` shows the whole chain, from any folder, and as often as one likes."""

from __future__ import annotations

import os
import re
import socket
import subprocess
import sys
from pathlib import Path
from statistics import median

import pytest

from scripts.demo_benchfill import BENCHMARK, PLANTED_GAP, RUN
from tests.propose.served import ROOT
from verifier.items import read_items
from verifier.simulated.families import true_difficulty

CHAIN = ("calibrate", "diagnose", "init", "run", "status", "recalibrate")


def demo(folder: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        ["bash", str(ROOT / "run_experiment.sh"), "demo", *arguments],
        cwd=folder,
        env=os.environ | {"PYTHON": os.environ.get("PYTHON", sys.executable)},
        capture_output=True,
        text=True,
        timeout=600,
        check=False,
    )


def test_the_demo_from_another_folder_and_again(tmp_path: Path) -> None:
    first = demo(tmp_path, "--output-dir", "a folder")
    assert first.returncode == 0, first.stdout + first.stderr
    assert [path.name for path in tmp_path.iterdir()] == ["a folder"]
    check_what_is_shown(first.stdout)
    assert len(re.findall(r"^  [1-9]\d* of \d+ accepted", first.stderr, re.M)) >= 2  # round by round
    run = tmp_path / "a folder" / "results" / BENCHMARK / RUN
    check_new_items(run)
    assert "simulated" in (run / "report.html").read_text(encoding="utf-8").lower()
    check_nothing_serves(first.stdout)

    second = demo(tmp_path, "--output-dir", "a folder")
    assert second.returncode == 0, second.stdout + second.stderr
    assert without_port_and_time(second.stdout) == without_port_and_time(first.stdout)


def check_what_is_shown(shown: str) -> None:
    """Assert what a reader must see, in this order."""
    headings = re.findall(r"^(\d)\. (\w+)", shown, re.M)
    assert [int(number) for number, _ in headings] == list(range(1, len(headings) + 1))
    assert tuple(word.lower() for _, word in headings[1:]) == CHAIN
    commands = re.findall(
        r"^\$ python (?:-m propose\.|.*/scripts/)(calibrate|diagnose|init|run|status|recal\w+)", shown, re.M
    )
    assert tuple(commands) == CHAIN
    assert "no model is asked" in shown
    assert "The panel is simulated: its answers say nothing about any model" in shown
    assert f"{BENCHMARK}, run {RUN} (simulated)" in shown
    assert "SIMULATED: these figures are no measurement of any model" in shown
    items, ddm, gap = (
        [float(value) for value in re.findall(rf"^(?:before|after) .*?{what}", shown, re.M)]
        for what in (r" (\d+) items", r"DDM (\d\.\d+)", r"Max Gap (\d\.\d+)")
    )
    assert len(items) == len(ddm) == len(gap) == 2
    assert items[1] > items[0]
    assert gap[1] < gap[0]
    assert ddm[1] < ddm[0]


def check_new_items(run: Path) -> None:
    """Assert that the new items lie where the benchmark was empty: that is known of simulated ones."""
    low, high = PLANTED_GAP
    new = [item for item in read_items(run / "filled_items.jsonl") if "-fill-" in item.id]
    assert low < median(true_difficulty(item.question) for item in new) < high


def check_nothing_serves(shown: str) -> None:
    address = re.search(r"simulated panel ready at http://([\d.]+):(\d+)", shown)
    assert address
    with pytest.raises(ConnectionRefusedError):
        socket.create_connection((address[1], int(address[2])), timeout=5)


def without_port_and_time(shown: str) -> str:
    shown = re.sub(r"127\.0\.0\.1:\d+", "127.0.0.1:PORT", shown)
    return re.sub(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d", "TIME", shown)


@pytest.mark.parametrize("name", ["notes.txt", "data/pool/mine.jsonl", "results/mine/first/config.json"])
def test_a_folder_with_other_files_is_never_emptied(tmp_path: Path, name: str) -> None:
    theirs = tmp_path / "out" / name
    theirs.parent.mkdir(parents=True)
    theirs.write_text("kept")
    refused = demo(tmp_path, "--output-dir", "out")
    assert refused.returncode == 2
    assert refused.stderr.count("\n") == 1
    assert "is not this demo's" in refused.stderr
    assert theirs.read_text() == "kept"
