"""Start the simulated panel as a user does, for tests that need a server."""

from __future__ import annotations

import contextlib
import json
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tests.signals import allow_interrupts

ROOT = Path(__file__).resolve().parents[3]


@dataclass(frozen=True)
class Panel:
    url: str  # up to and with /v1
    process: subprocess.Popen[str]

    @property
    def port(self) -> int:
        return int(self.url.removesuffix("/v1").rpartition(":")[2])


@contextlib.contextmanager
def simulated_panel(*options: object) -> Iterator[Panel]:
    """Serve until the block ends; port 0 unless the options have another."""
    arguments = [str(option) for option in options]
    if "--port" not in arguments:
        arguments += ["--port", "0"]
    process = subprocess.Popen(
        [sys.executable, "-m", "verifier.simulated", *arguments],
        cwd=ROOT,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        preexec_fn=allow_interrupts,
    )
    assert process.stdout is not None
    try:
        line = process.stdout.readline()
        assert line.startswith("simulated panel ready at http://"), line or process.communicate()[1]
        yield Panel(line.split()[-1], process)
    finally:
        process.terminate()
        try:
            process.communicate(timeout=20)
        finally:
            process.kill()


def log_rows(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]
