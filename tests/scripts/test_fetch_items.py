"""scripts/fetch_items.py as its users run it: from the stand-ins and from local copies to a pool."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.verifier.pools.hub_stand_in import StandIn, invented_files, stand_in
from verifier.items import read_items
from verifier.pools.sources import read_sources

SCRIPT = Path(__file__).resolve().parents[2] / "scripts" / "fetch_items.py"
SOURCES = read_sources()
BBH = [Path(file).name for file in SOURCES["bbh_3obj"].files]


@pytest.fixture
def hub() -> Iterator[StandIn]:
    with stand_in() as server:
        yield server


def fetch_items(folder: Path, *args: str, url: str = "", **more: str) -> subprocess.CompletedProcess[str]:
    kept = {name: value for name, value in os.environ.items() if not name.startswith(("HF_", "HUGGING"))}
    ours = {
        "HF_HOME": str(folder / "cache"),
        "HF_ENDPOINT": url,
        "BENCHFILL_GITHUB_RAW": url,
        "NO_PROXY": "*",
    }
    return subprocess.run(
        [sys.executable, str(SCRIPT), *args],
        cwd=folder,
        env=kept | ours | more,
        capture_output=True,
        encoding="utf-8",
        timeout=60,
        check=False,
    )


def refusal(done: subprocess.CompletedProcess[str]) -> str:
    """Expect one line on standard error and status 2; return the line without its prefix."""
    prefix = "fetch_items.py: error: "
    assert (done.returncode, done.stdout) == (2, ""), done.stderr
    assert done.stderr.startswith(prefix) and done.stderr.count("\n") == 1, done.stderr
    return done.stderr[len(prefix) : -1]


# From its home to the pool -------------------------------------------------------------------------------------


def test_from_the_hub_to_the_pool(hub: StandIn, tmp_path: Path) -> None:
    source = SOURCES["mmlu_bio"]
    hub.hold(source, invented_files(source))
    hub.token = "hf_invented"
    done = fetch_items(tmp_path, "mmlu_bio", "--output", "pool.jsonl", url=hub.url, HF_TOKEN="hf_invented")
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout == (
        f"Wrote pool.jsonl: 454 items from huggingface.co/datasets/cais/mmlu@{source.revision[:12]}\n"
        "Licence: MIT. The items belong to their source.\n"
    )
    items = read_items(tmp_path / "pool.jsonl")
    assert [items[0].id, items[144].id, items[-1].id] == [
        "college_biology/0",
        "high_school_biology/0",
        "high_school_biology/309",
    ]
    assert {item.answer for item in items} == set("ABCD")
    assert list(tmp_path.glob(".*")) == []


def test_from_github_to_the_pool_without_what_is_broken(hub: StandIn, tmp_path: Path) -> None:
    source = SOURCES["bbh_3obj"]
    first, second = (json.loads(content) for content in invented_files(source))
    first["examples"][3]["target"] = "(D)"
    second["examples"][5] = second["examples"][4]
    hub.hold(source, [json.dumps(first).encode(), json.dumps(second).encode()])
    done = fetch_items(tmp_path, "bbh_3obj", "--output", "new/pool.jsonl", url=hub.url)
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.splitlines() == [
        "left out: logical_deduction_three_objects/3: not an item: "
        "\"answer must be one of A to C, found 'D'\"",
        "kept: tracking_shuffled_objects_three_objects/5: the same as "
        "tracking_shuffled_objects_three_objects/4: "
        "'Three things, bbh/tracking_shuffled_objects_three_objects.json 4: which?'",
        "Left out: 1 of 500. The ids are the source's, but an item's place in the pool is not its place there.",
        f"Wrote new/pool.jsonl: 499 items from github.com/suzgunmirac/BIG-Bench-Hard@{source.revision[:12]}",
        "Licence: MIT. The items belong to their source.",
    ]
    assert [item.id for item in read_items(tmp_path / "new" / "pool.jsonl")][2:4] == [
        "logical_deduction_three_objects/2",
        "logical_deduction_three_objects/4",
    ]


@pytest.mark.parametrize(
    ("benchmark", "fault"),
    [("ifeval", "gated"), ("ifeval", "cut"), ("ifeval", "changed"), ("amc23", "broken"), ("amc23", "hang")],
)
def test_a_download_that_fails_leaves_the_old_pool(
    hub: StandIn, tmp_path: Path, benchmark: str, fault: str
) -> None:
    source = SOURCES[benchmark]
    hub.hold(source, invented_files(source))
    hub.fault = fault
    (tmp_path / "pool.jsonl").write_text("the pool of last week\n")
    done = fetch_items(tmp_path, benchmark, "--output", "pool.jsonl", "--timeout", "2", url=hub.url)
    line = refusal(done)
    assert source.repository in line and "--from" in line
    assert (tmp_path / "pool.jsonl").read_text() == "the pool of last week\n"
    assert {path.name for path in tmp_path.iterdir()} <= {"pool.jsonl", "cache"}


# From local copies ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize("benchmark", ["aime25", "gaokao2023en", "mmlu_bio", "ifeval"])
def test_from_a_copy_of_the_sources_own_files(tmp_path: Path, benchmark: str) -> None:
    source = SOURCES[benchmark]
    names = []
    for number, (file, content) in enumerate(zip(source.files, invented_files(source), strict=True)):
        names += ["--from", f"{number}/{Path(file).name}"]
        (tmp_path / str(number)).mkdir()
        (tmp_path / names[-1]).write_bytes(content)
    done = fetch_items(tmp_path, benchmark, *names, "--output", "pool.jsonl")
    assert (done.returncode, done.stderr) == (0, "")
    assert len(read_items(tmp_path / "pool.jsonl")) == source.items - len(source.defects)


def test_the_same_items_from_the_network_and_from_a_copy(hub: StandIn, tmp_path: Path) -> None:
    source = SOURCES["bbh_3obj"]
    contents = invented_files(source)
    hub.hold(source, contents)
    for name, content in zip(BBH, contents, strict=True):
        (tmp_path / name).write_bytes(content)
    assert fetch_items(tmp_path, "bbh_3obj", "--output", "a.jsonl", url=hub.url).returncode == 0
    local = ["--from", BBH[1], "--from", BBH[0], "--output", "b.jsonl"]
    assert fetch_items(tmp_path, "bbh_3obj", *local).returncode == 0
    assert (tmp_path / "a.jsonl").read_bytes() == (tmp_path / "b.jsonl").read_bytes()


def test_a_real_file_with_broken_items(tmp_path: Path) -> None:
    if not (folder := os.environ.get("BENCHFILL_ITEMS")):
        pytest.skip("BENCHFILL_ITEMS names no folder of item files")
    path = Path(folder) / "gaokao2023en.jsonl"
    done = fetch_items(tmp_path, "gaokao2023en", "--from", str(path), "--output", "pool.jsonl")
    assert (done.returncode, done.stderr) == (0, "")
    left_out = [line for line in done.stdout.splitlines() if line.startswith("left out: ")]
    assert len(left_out) == 8
    assert "left out: gaokao2023en-107: the answer carries stray words: '$145$solution:'" in left_out
    assert f"Wrote pool.jsonl: 377 items from {path}" in done.stdout


# Listing and checking ------------------------------------------------------------------------------------------


def test_the_list_has_every_benchmark_with_home_and_licence(tmp_path: Path) -> None:
    done = fetch_items(tmp_path, "--list")
    assert (done.returncode, done.stderr) == (0, "")
    lines = done.stdout.splitlines()
    assert [line.split()[0] for line in lines] == list(SOURCES)
    assert lines[-1].split() == [
        "ifeval",
        "541",
        "items",
        f"huggingface.co/datasets/google/IFEval@{SOURCES['ifeval'].revision[:12]}",
        "Apache-2.0",
    ]


def test_a_pool_of_your_own_is_checked(tmp_path: Path) -> None:
    good = {"id": "1", "question": "Which?", "answer": "A", "answer_type": "choice", "choices": ["x", "y"]}
    (tmp_path / "own.jsonl").write_text(json.dumps(good) + "\n")
    done = fetch_items(tmp_path, "--check", "own.jsonl")
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout == "own.jsonl: 1 sound, 0 broken, 0 duplicates\n"
    with (tmp_path / "own.jsonl").open("a") as handle:
        handle.write(
            json.dumps(good | {"id": "2"}) + "\n" + json.dumps(good | {"id": "3", "answer": "C"}) + "\n"
        )
    done = fetch_items(tmp_path, "--check", "own.jsonl")
    assert (done.returncode, done.stderr) == (1, "")
    assert done.stdout == (
        "broken: own.jsonl:3: not an item: answer must be one of A to B, found 'C'\n"
        "kept: 2: the same as 1: 'Which?'\n"
        "own.jsonl: 2 sound, 1 broken, 1 duplicates\n"
    )


# Mistakes ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("args", "says"),
    [
        ([], "name one benchmark, or use --list or --check FILE"),
        (["aime24", "--list"], "name one benchmark, or use --list or --check FILE"),
        (["aime99"], "unknown benchmark 'aime99'; choose from aime24, aime25, aime26, amc23"),
        (["--list", "--output", "x"], "--from, --output and --timeout go with a benchmark"),
        (["amc23", "--from", "x", "--timeout", "3"], "--timeout is for downloads"),
        (["amc23", "--timeout", "0"], "must be a whole number from 1"),
        (["amc23", "--from", "absent.jsonl"], "absent.jsonl: No such file or directory"),
        (["amc23", "--from", "empty.jsonl", "--output", "."], ".: is a folder or a device"),
        (["amc23", "--from", "empty.jsonl", "--output", "empty.jsonl"], "is both --from and --output"),
        (["amc23", "--from", "empty.jsonl", "--output", "p"], "empty.jsonl: 0 items of amc23, which has 40"),
        (["--check", "empty.jsonl"], "empty.jsonl: holds no items"),
        (["--check", "absent.jsonl"], "absent.jsonl: No such file or directory"),
    ],
)
def test_a_mistake_is_one_line_and_writes_nothing(tmp_path: Path, args: list[str], says: str) -> None:
    (tmp_path / "empty.jsonl").write_text("")
    assert says in refusal(fetch_items(tmp_path, *args))
    assert [path.name for path in tmp_path.iterdir()] == ["empty.jsonl"]
