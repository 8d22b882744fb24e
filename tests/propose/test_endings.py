"""A run that is stopped where it stood says so, and nothing goes on as if it had come to its end."""

from __future__ import annotations

import shlex
import shutil
import subprocess
import time
from pathlib import Path

import pytest

from propose.run_folder import RunFolder
from propose.starts import ERROR, INTERRUPTED, read_starts
from tests.propose.served import BENCHMARK, Place, place
from tests.verifier.simulated.panel_process import simulated_panel

TINY = ("--gaps", "1", "--max-rounds", "1", "--parents", "1", "--children", "2")


def status_with_reader(here: Place, reader: str, module: str, *arguments: object) -> int:
    """Return the exit status of a command whose whole output goes to ``reader``."""
    command = shlex.join(here.command(module, *arguments))
    return subprocess.run(
        ["bash", "-c", f"{command} 2>&1 | {reader} >/dev/null; exit ${{PIPESTATUS[0]}}"],
        cwd=here.path,
        env=here.environment(),
        timeout=120,
    ).returncode


def test_a_run_whose_messages_nobody_reads_is_not_done_and_goes_on(tmp_path: Path) -> None:
    with simulated_panel("--rewriter-bias", "0.3") as panel:
        here = place(tmp_path, panel.url)
        assert here.init("one", small=TINY).returncode == 0
        assert status_with_reader(here, "head -n 1", "run", BENCHMARK, "one") == 2
        (start,) = read_starts(here.folder("one").starts)
        assert start.ending is not None and start.ending.reason == ERROR
        assert "has gone" in start.ending.detail
        assert here.do("run", BENCHMARK, "one").returncode == 0
        assert read_starts(here.folder("one").starts)[-1].ending != start.ending


def test_a_pass_that_did_not_come_to_its_end_is_not_released(tmp_path: Path) -> None:
    with simulated_panel("--rewriter-bias", "0.3") as panel:
        here = place(tmp_path, panel.url)
        files = ("--panel", here.panel, "--rewriter", here.rewriter, "--output", tmp_path / "filled")
        words = (BENCHMARK, "SIM-T", *files, "--passes", "1", "--max-gap", "0", *TINY)
        assert status_with_reader(here, "grep -m 1 'round 1'", "mass_fill", *words) == 2
        run = RunFolder(tmp_path / f"results/{BENCHMARK}/mass-SIM-T/pass-01/results/{BENCHMARK}/fill")
        assert read_starts(run.starts)[-1].ending is not None
        assert not (run.path / "recalibration.json").exists()
        assert not (tmp_path / "filled").exists()


@pytest.mark.skipif(shutil.which("setpriv") is None, reason="this system has no setpriv")
def test_a_killed_mass_fill_leaves_no_run_behind_that_goes_on_asking(tmp_path: Path) -> None:
    with simulated_panel("--latency", "1") as slow:
        here = place(tmp_path, slow.url)
        files = ("--panel", here.panel, "--rewriter", here.rewriter, "--output", tmp_path / "filled")
        process = here.start("mass_fill", BENCHMARK, "SIM-T", *files, "--max-gap", "0", *TINY)
        run = RunFolder(tmp_path / f"results/{BENCHMARK}/mass-SIM-T/pass-01/results/{BENCHMARK}/fill")
        deadline = time.monotonic() + 60
        while not run.starts.exists() or not read_starts(run.starts):
            assert process.poll() is None and time.monotonic() < deadline
            time.sleep(0.05)
        process.kill()
        process.communicate(
            timeout=60
        )  # returns when nobody holds the pipes any more: the run has ended, too
        (start,) = read_starts(run.starts)
        assert start.ending is not None and start.ending.reason == INTERRUPTED
