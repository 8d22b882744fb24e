"""verifier/run_rollout.sh: a benchmark by name, from any folder, with the settings of the environment."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from types import MappingProxyType

from irt.response_matrix import read_response_matrix
from tests.verifier.simulated.panel_process import simulated_panel
from tests.verifier.test_rollout import ROOT, write_panel, write_pool

SCRIPT = ROOT / "verifier" / "run_rollout.sh"


def run(
    folder: Path, *words: str, script: Path = SCRIPT, settings: Mapping[str, str] = MappingProxyType({})
) -> subprocess.CompletedProcess[str]:
    environment = {**os.environ, "PYTHON": sys.executable, **settings}
    return subprocess.run(
        ["bash", str(script), *words],
        cwd=folder,
        env=environment,
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )


def test_it_runs_from_any_folder_and_through_a_link(tmp_path: Path) -> None:
    folder = tmp_path / "a folder"
    folder.mkdir()
    write_pool(folder / "items.jsonl", 3)
    link = folder / "link.sh"
    link.symlink_to(SCRIPT)
    with simulated_panel() as server:
        write_panel(folder / "panel.toml", server.url)
        settings = {"PANEL": "panel.toml", "ITEMS": "items.jsonl", "OUT": "my out", "TRIALS": "2"}
        first = run(folder, "mine", script=link, settings=settings)
        assert first.returncode == 0, first.stderr
        passed_on = run(folder, "mine", "--regrade", "--json", settings=settings)
    assert passed_on.returncode == 0, passed_on.stderr
    assert passed_on.stdout.startswith("{")
    assert read_response_matrix(folder / "my out" / "response_matrix.csv", n_trials=2).correct


def test_items_of_your_own_are_never_replaced_by_fetched_ones(tmp_path: Path) -> None:
    """A typo in ITEMS together with a known name must not ask that benchmark instead."""
    ended = run(tmp_path, "amc23", settings={"ITEMS": "typo.jsonl", "PANEL": "panel.toml", "OUT": "out"})
    assert ended.returncode == 2
    assert ended.stderr.splitlines() == ["rollout.py: error: typo.jsonl: No such file or directory"]


def test_mistakes_and_help(tmp_path: Path) -> None:
    for words in ((), ("--regrade",)):
        ended = run(tmp_path, *words)
        assert ended.returncode == 2
        assert ended.stderr.startswith("run_rollout.sh: name a benchmark first")
    missing = run(tmp_path, "mine", settings={"PYTHON": "/no/python"})
    assert missing.returncode == 2
    assert "run 'make setup'" in missing.stderr
    text = run(tmp_path, "--help").stdout
    assert all(f"  {name}=" in text for name in ("PANEL", "TRIALS", "ITEMS", "OUT", "PYTHON"))
