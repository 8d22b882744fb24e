"""The settings of run_experiment.sh are data, whatever they look like."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

from tests.propose.served import ROOT


@pytest.mark.parametrize(
    ("word", "settings"),
    [
        ("init", {"BENCHMARK": "--help"}),
        ("run", {"RUN": "--help"}),
        ("status", {"BENCHMARK": "-h"}),
        ("calibrate", {"BENCHMARK": "--regrade"}),
    ],
)
def test_a_name_that_looks_like_an_option_is_refused(word: str, settings: dict[str, str]) -> None:
    """It was one: the command printed its help, and the script ended with status 0."""
    done = subprocess.run(
        ["bash", str(ROOT / "run_experiment.sh"), word],
        env=os.environ | {"PYTHON": os.environ.get("PYTHON", sys.executable), **settings},
        capture_output=True,
        text=True,
        timeout=60,
    )
    (name,) = settings.values()
    assert (done.returncode, done.stdout) == (2, "")
    assert f"{name!r}: a name has letters" in done.stderr and done.stderr.count("\n") == 1
