"""A mass fill from end to end on a simulated panel that is served: passes, what is released, going on, its mistakes."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from irt.tables import read_filled_rows
from propose.run_folder import RunFolder
from propose.run_journals import open_journals
from propose.starts import read_starts
from tests.benchfill_simulation import pool_with_gap, write_benchmark
from tests.signals import allow_interrupts
from tests.verifier.simulated.panel_process import simulated_panel
from verifier.items import read_items

ROOT = Path(__file__).resolve().parents[2]
SIMULATED = ROOT / "verifier" / "panels" / "simulated.toml", ROOT / "propose" / "rewriters" / "simulated.toml"


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Path, Path]]:
    """The simulated panel on a free port; panel and rewriter files that point there."""
    folder = tmp_path_factory.mktemp("served")
    with simulated_panel() as panel:
        for path, name in zip(SIMULATED, ("panel.toml", "rewriter.toml"), strict=True):
            (folder / name).write_text(path.read_text().replace(":8399/", f":{panel.port}/"))
        yield folder / "panel.toml", folder / "rewriter.toml"


def words(folder: Path, served: tuple[Path, Path], *args: str) -> list[str]:
    return [
        *(sys.executable, "-m", "propose.mass_fill", "demo", "SIM-T"),
        *("--panel", str(served[0]), "--rewriter", str(served[1]), "--output", str(folder / "filled")),
        *("--gaps", "1", "--max-rounds", "1", "--parents", "3", "--children", "2", "--max-gap", "0"),
        *("--tune", "100", "--draws", "100", "--passes", "2", *args),
    ]


def environment(folder: Path) -> dict[str, str]:
    roots = {"BENCHFILL_DATA": str(folder / "data"), "BENCHFILL_RESULTS": str(folder / "results")}
    return os.environ | roots | {"PYTHONPATH": str(ROOT)}


def mass_fill(folder: Path, served: tuple[Path, Path], *args: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        words(folder, served, *args),
        cwd=folder, env=environment(folder), capture_output=True, encoding="utf-8", timeout=300,
    )  # fmt: skip


def test_two_passes_are_released_and_the_same_command_asks_nothing_again(
    tmp_path: Path, served: tuple[Path, Path]
) -> None:
    items = pool_with_gap(24, (-0.9, 1.3), seed=5, families=["power", "ordering"])
    calibrated = write_benchmark(tmp_path / "data", "demo", items, 4, seed=1)
    done = mass_fill(tmp_path, served)
    assert done.returncode == 0, done.stderr
    assert "SIMULATED" in done.stdout

    entries = json.loads((tmp_path / "filled" / "SIM-T.json").read_text(encoding="utf-8"))
    beside = tmp_path / "filled" / "SIM-T"
    provenance = json.loads((beside / "provenance.json").read_text(encoding="utf-8"))
    new = provenance["accepted"]
    assert [entry["id"] for entry in entries] == [
        *(f"SIM-T-origin-{number:03d}" for number in range(24)),
        *(f"SIM-T-fill-{number:03d}" for number in range(1, new + 1)),
    ]
    assert [entry["answer"] for entry in entries[:24]] == [item.answer for item in items]
    pool = read_items(beside / "items.jsonl")
    assert [item.question for item in pool[:24]] == [i.question for i in items]
    assert [item.source_item_id for item in pool[:24]] == [item.id for item in items]
    # A new item leads to its candidate in the run of its pass, and to its parent in what is released.
    named = {item.id: item for item in pool}
    passes = tmp_path / "results" / "demo" / "mass-SIM-T"
    for item in pool[24:]:
        number, candidate = item.source_item_id.split("/")
        run = passes / number / "results" / "demo" / "fill"
        row = json.loads(next(line for line in (run / "candidates.jsonl").open() if f'"{candidate}"' in line))
        there = {one.id: one for one in read_items(passes / number / "data" / "pool" / "demo.jsonl")}
        assert named[item.parent_id].question == there[row["parent"]].question
    assert {item.source_item_id[:7] for item in pool[24:]} == {"pass-01", "pass-02"}
    (row,), without = read_filled_rows(tmp_path / "filled")
    assert without == [] and row.panel == "simulated" == provenance["panel"]
    assert (row.items_before, row.items_after) == (24, 24 + new)
    assert row.max_gap_after < row.max_gap_before
    assert row.max_gap_before == pytest.approx(provenance["before"]["max_gap"], abs=1e-5)

    # The second pass starts from all counts of the first.
    second = passes / "pass-02" / "data" / "matrix"
    first_row = (second / "demo_response_matrix.csv").read_text().splitlines()[1].split(",")[1:]
    assert [int(cell) for cell in first_row[:24]] == calibrated.correct[0].tolist()

    journals = {path: path.read_bytes() for path in (tmp_path / "results").rglob("rollouts.jsonl")}
    assert len(journals) == 2
    again = mass_fill(tmp_path, served)
    assert again.stdout == done.stdout
    assert {path: path.read_bytes() for path in journals} == journals

    # Another fill of that name overwrites nothing, and pays for nothing.
    write_benchmark(tmp_path / "other" / "data", "demo", items, 4, seed=2)
    other = mass_fill(tmp_path / "other", served, "--output", str(tmp_path / "filled"))
    assert (other.returncode, other.stdout) == (2, "")
    assert other.stderr.endswith(
        "filled/SIM-T.json: is there already and not of this fill; choose another name or --output, or remove it\n"
    )
    assert other.stderr.count("\n") == 1
    assert not (tmp_path / "other" / "results").exists()
    assert json.loads((tmp_path / "filled" / "SIM-T.json").read_text(encoding="utf-8")) == entries

    # Nor does this fill go on from another calibration than it was started with.
    table = tmp_path / "data" / "calibration" / "demo" / "difficulty.csv"
    table.write_text(table.read_text().replace(",0.2\n", ",0.3\n", 1))
    changed = mass_fill(tmp_path, served)
    assert (changed.returncode, changed.stdout) == (2, "")
    assert "mass-SIM-T was started with" in changed.stderr
    assert changed.stderr.count("\n") == 1


def test_a_benchmark_that_is_under_the_target_already_is_left_alone(tmp_path: Path) -> None:
    items = pool_with_gap(24, (-0.9, 1.3), seed=2, families=["power"])
    write_benchmark(tmp_path / "data", "demo", items, 4, seed=1)
    done = mass_fill(tmp_path, SIMULATED, "--max-gap", "0.9")  # whose server is not there
    assert done.returncode == 0, done.stderr
    assert re.fullmatch(
        r"Ended: Max Gap is 0\.[3-8]\d{3}, under 0\.9\nNo pass was made, and nothing was written\n",
        done.stdout,
    )
    assert not (tmp_path / "filled").exists()
    assert not (tmp_path / "results").exists()


def test_an_interrupt_ends_its_commands_too_and_the_same_command_goes_on(tmp_path: Path) -> None:
    items = pool_with_gap(12, (-0.9, 1.3), seed=2, families=["ordering"])
    write_benchmark(tmp_path / "data", "demo", items, 4, seed=1)
    with simulated_panel("--latency", "1") as slow:
        files = []
        for path in SIMULATED:
            files.append(tmp_path / path.name.replace("simulated", path.parent.name))
            files[-1].write_text(path.read_text().replace(":8399/", f":{slow.port}/"))
        process = subprocess.Popen(
            words(tmp_path, (files[0], files[1])), cwd=tmp_path, env=environment(tmp_path),
            stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, preexec_fn=allow_interrupts,
        )  # fmt: skip
        folder = RunFolder(tmp_path / "results/demo/mass-SIM-T/pass-01/results/demo/fill")
        deadline = time.monotonic() + 60
        while not folder.rollouts.exists() or not folder.rollouts.stat().st_size:
            assert process.poll() is None, process.communicate()
            assert time.monotonic() < deadline
            time.sleep(0.05)
        process.send_signal(signal.SIGINT)
        _, errors = process.communicate(timeout=60)
    assert process.returncode == 130
    assert "Traceback" not in errors
    (start,) = read_starts(folder.starts)
    assert (
        start.ending is not None and start.ending.reason == "interrupted"
    )  # its command has ended, and said so
    with open_journals(folder):  # and holds nothing any more
        pass


def test_a_cap_of_tokens_ends_it(tmp_path: Path, served: tuple[Path, Path]) -> None:
    write_benchmark(tmp_path / "data", "demo", pool_with_gap(12, (-0.9, 1.3), seed=2), 4, seed=1)
    done = mass_fill(tmp_path, served, "--max-tokens", "5000")
    assert done.returncode == 0, done.stderr
    provenance = json.loads((tmp_path / "filled" / "SIM-T" / "provenance.json").read_text(encoding="utf-8"))
    assert 5000 - 4096 < provenance["tokens"] <= 5000
    assert f"Ended: {provenance['tokens']:,} of at most 5,000 tokens are spent" in done.stdout
    assert len(list((tmp_path / "results" / "demo" / "mass-SIM-T").iterdir())) == 1


@pytest.mark.parametrize(
    ("args", "message"),
    [
        ((), "the item pool is missing"),
        (("--max-gap", "2"), "must be a number from 0 to 1, found '2'"),
    ],
)
def test_mistakes_are_one_line(
    tmp_path: Path, served: tuple[Path, Path], args: tuple[str, ...], message: str
) -> None:
    done = mass_fill(tmp_path, served, *args)
    assert (done.returncode, done.stdout) == (2, "")
    assert message in done.stderr and done.stderr.count("\n") == 1
    assert not (tmp_path / "filled").exists()
