"""Commands as their users run them, on a benchmark in a folder and a simulated server on loopback."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from propose.run_folder import RunFolder
from tests.propose.test_calibrated import write_benchmark
from tests.signals import allow_interrupts

ROOT = Path(__file__).resolve().parents[2]
BENCHMARK = "sim"
SMALL = ("--gaps", "1", "--max-rounds", "2", "--parents", "2", "--children", "3", "--solutions", "2")


@dataclass(frozen=True)
class Place:
    """A root of data and results, and a panel and rewriter served at a URL."""

    path: Path
    url: str

    def environment(self, **more: str) -> dict[str, str]:
        """What the commands run with."""
        return os.environ | {
            "BENCHFILL_DATA": str(self.path / "data"),
            "BENCHFILL_RESULTS": str(self.path / "results"),
            "PYTHONPATH": str(ROOT),
            **more,
        }

    @property
    def panel(self) -> Path:
        """The panel's file."""
        return self.path / "panel.toml"

    @property
    def rewriter(self) -> Path:
        """The rewriter's file."""
        return self.path / "rewriter.toml"

    def folder(self, run: str) -> RunFolder:
        """Where a run is."""
        return RunFolder(self.path / "results" / BENCHMARK / run)

    def command(self, module: str, *arguments: object) -> list[str]:
        """The words of a command."""
        return [sys.executable, "-m", f"propose.{module}", *map(str, arguments)]

    def do(self, module: str, *arguments: object) -> subprocess.CompletedProcess[str]:
        """Run a command to its end, from another folder than the repository's."""
        return subprocess.run(
            self.command(module, *arguments),
            cwd=self.path,
            env=self.environment(),
            capture_output=True,
            text=True,
            timeout=120,
            check=False,
        )

    def start(self, module: str, *arguments: object) -> subprocess.Popen[str]:
        """Start a command in a session of its own."""
        return subprocess.Popen(
            self.command(module, *arguments),
            cwd=self.path,
            env=self.environment(),
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            preexec_fn=allow_interrupts,
        )

    def init(self, run: str, *more: object, small: Sequence[str] = SMALL) -> subprocess.CompletedProcess[str]:
        """Make a run."""
        files = ("--panel", self.panel, "--rewriter", self.rewriter)
        return self.do("init", BENCHMARK, run, *files, *small, *more)


def place(path: Path, url: str) -> Place:
    """Write the benchmark, the panel and the rewriter."""
    write_benchmark(path / "data", BENCHMARK)
    for name, example in (
        ("panel.toml", "verifier/panels/simulated.toml"),
        ("rewriter.toml", "propose/rewriters/simulated.toml"),
    ):
        text = (ROOT / example).read_text(encoding="utf-8")
        (path / name).write_text(text.replace("http://127.0.0.1:8399/v1", url), encoding="utf-8")
    return Place(path, url)
