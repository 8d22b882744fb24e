"""Downloads against a stand-in for the Hub and GitHub: what arrives, and the one line for what does not."""

from __future__ import annotations

import hashlib
import os
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from irt.io import InputError
from tests.verifier.pools.hub_stand_in import StandIn, invented_files, stand_in
from verifier.pools.fetching import fetch
from verifier.pools.sources import Source, read_sources

ROOT = Path(__file__).resolve().parents[3]
SOURCES = read_sources()
# huggingface_hub reads its environment when it is first imported, so each of its downloads has its own process.
PROGRAM = """
import sys
from pathlib import Path
from irt.io import InputError
from verifier.pools.fetching import fetch
from verifier.pools.sources import Source
try:
    print(*fetch({source!r}, Path("unused"), {seconds}), sep="\\n")
except InputError as error:
    sys.exit(f"refused: {{error}}")
"""


@pytest.fixture
def hub() -> Iterator[StandIn]:
    with stand_in() as server:
        yield server


def environment(cache: Path, url: str, **more: str) -> dict[str, str]:
    kept = {name: value for name, value in os.environ.items() if not name.startswith(("HF_", "HUGGING"))}
    ours = {"HF_HOME": str(cache), "HF_ENDPOINT": url, "BENCHFILL_GITHUB_RAW": url, "NO_PROXY": "*"}
    return kept | ours | more


def from_hub(
    source: Source, cache: Path, url: str, seconds: float = 20, **more: str
) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-c", PROGRAM.format(source=source, seconds=seconds)],
        cwd=ROOT,
        env=environment(cache, url, **more),
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )


def refusal(done: subprocess.CompletedProcess[str]) -> str:
    """Expect one line that says what was refused, and nothing else; return it."""
    assert done.returncode == 1 and done.stdout == "", done.stderr
    assert done.stderr.startswith("refused: ") and done.stderr.count("\n") == 1, done.stderr
    return done.stderr.strip()


def held(hub: StandIn, benchmark: str) -> tuple[Source, list[bytes]]:
    """Let the stand-in hold a benchmark's files; return its source with their checksums."""
    source = SOURCES[benchmark]
    contents = invented_files(source)
    hub.hold(source, contents)
    if source.sha256:
        source = replace(source, sha256=tuple(hashlib.sha256(content).hexdigest() for content in contents))
    return source, contents


# Hugging Face Hub ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("benchmark", ["aime25", "mmlu_bio", "ifeval"])
def test_hub_files_arrive_whole_at_the_pinned_revision_and_once(
    hub: StandIn, tmp_path: Path, benchmark: str
) -> None:
    source, contents = held(hub, benchmark)
    done = from_hub(source, tmp_path, hub.url)
    assert (done.returncode, done.stderr) == (0, "")
    paths = [Path(line) for line in done.stdout.splitlines()]
    assert [path.read_bytes() for path in paths] == contents
    assert all(path.is_relative_to(tmp_path) for path in paths)
    hub.asked.clear()
    assert from_hub(source, tmp_path, hub.url).stdout == done.stdout
    assert hub.asked == []  # a pinned revision does not change, so the cache is enough


def test_the_token_goes_to_the_hub_and_not_to_its_storage(hub: StandIn, tmp_path: Path) -> None:
    source, contents = held(hub, "aime26")
    hub.token = "hf_invented"
    done = from_hub(source, tmp_path, hub.url, HF_TOKEN="hf_invented")
    assert Path(done.stdout.strip()).read_bytes() == contents[0], done.stderr
    assert {path.startswith("/storage") for _, path, _ in hub.asked} == {True, False}
    for _, path, headers in hub.asked:
        assert headers.get("authorization") == (
            None if path.startswith("/storage") else "Bearer hf_invented"
        ), path


def test_a_gated_data_set_is_refused_with_the_way_in(hub: StandIn, tmp_path: Path) -> None:
    source, _ = held(hub, "aime26")
    hub.token = "hf_invented"
    line = refusal(from_hub(source, tmp_path, hub.url))
    assert "access is refused (HTTP 401)" in line and f"accept the terms at {hub.url}/datasets/" in line
    line = refusal(from_hub(source, tmp_path, hub.url, HF_TOKEN="hf_wrong"))
    assert "the token in HF_TOKEN has no access" in line and "--from" in line


@pytest.mark.parametrize(
    ("fault", "says"),
    [
        ("forbidden", "access is refused (HTTP 403)"),
        ("broken body", "fails (HTTP 500)"),
        ("changed", "is not the file on record"),
        ("other revision", "answers with another revision"),
        ("no commit", "X-Repo-Commit"),
    ],
)
def test_what_the_hub_cannot_deliver_is_one_line(hub: StandIn, tmp_path: Path, fault: str, says: str) -> None:
    source, _ = held(hub, "ifeval")
    hub.fault = fault
    assert says in refusal(from_hub(source, tmp_path, hub.url))


def test_a_changed_file_is_found_by_the_hubs_own_checksum_where_none_is_on_record(
    hub: StandIn, tmp_path: Path
) -> None:
    for benchmark in ("mmlu_bio", "ifeval"):  # a sha256 in the Hub's storage, a git blob in its repository
        source, _ = held(hub, benchmark)
        hub.fault = "changed"
        line = refusal(from_hub(replace(source, sha256=()), tmp_path, hub.url))
        assert "is not the file on record" in line


@pytest.mark.parametrize(
    ("change", "says"),
    [
        ({"repository": "nobody/nothing"}, "has no such data set"),
        ({"revision": "0" * 40}, "has no such revision"),
        ({"files": ("gone.jsonl",)}, "has no file gone.jsonl"),
    ],
)
def test_what_is_not_on_the_hub_is_named(
    hub: StandIn, tmp_path: Path, change: dict[str, object], says: str
) -> None:
    source, _ = held(hub, "ifeval")
    assert says in refusal(from_hub(replace(source, **change), tmp_path, hub.url))  # type: ignore[arg-type]


@pytest.mark.parametrize("fault", ["hang", "cut", "nobody listens"])
def test_a_hub_that_does_not_come_round_ends_at_the_deadline(
    hub: StandIn, tmp_path: Path, fault: str
) -> None:
    source, _ = held(hub, "ifeval")
    url = hub.url
    if fault == "nobody listens":
        with socket.create_server(("127.0.0.1", 0)) as closed:
            url = f"http://127.0.0.1:{closed.getsockname()[1]}"
    hub.fault = fault
    line = refusal(from_hub(source, tmp_path, url, seconds=2))
    assert "google/IFEval" in line and url in line
    assert [path for path in tmp_path.rglob("*.jsonl") if path.is_file()] == []
    hub.fault = ""
    assert from_hub(source, tmp_path, hub.url).returncode == 0  # and nothing half-written stands in the way


def test_a_cache_that_cannot_be_used_is_named(hub: StandIn, tmp_path: Path) -> None:
    source, _ = held(hub, "ifeval")
    (tmp_path / "file").write_text("in the way")
    line = refusal(from_hub(source, tmp_path / "file", hub.url))
    assert "the cache cannot be used" in line and str(tmp_path / "file") in line


def test_offline_uses_the_cache_and_says_when_there_is_none(hub: StandIn, tmp_path: Path) -> None:
    source, _ = held(hub, "ifeval")
    assert "HF_HUB_OFFLINE" in refusal(from_hub(source, tmp_path, hub.url, HF_HUB_OFFLINE="1"))
    assert from_hub(source, tmp_path, hub.url).returncode == 0
    assert from_hub(source, tmp_path, hub.url, HF_HUB_OFFLINE="1").returncode == 0


# GitHub --------------------------------------------------------------------------------------------------------


@pytest.fixture
def github(hub: StandIn, monkeypatch: pytest.MonkeyPatch) -> StandIn:
    monkeypatch.setenv("BENCHFILL_GITHUB_RAW", hub.url + "/")
    monkeypatch.setenv("NO_PROXY", "*")
    return hub


@pytest.mark.parametrize("benchmark", ["amc23", "bbh_3obj"])
def test_github_files_arrive_whole(github: StandIn, tmp_path: Path, benchmark: str) -> None:
    source, contents = held(github, benchmark)
    paths = fetch(source, tmp_path)
    assert [path.read_bytes() for path in paths] == contents
    assert [path.name for path in paths] == [Path(file).name for file in source.files]


def test_github_is_asked_again_after_a_passing_fault(github: StandIn, tmp_path: Path) -> None:
    source, contents = held(github, "amc23")
    github.fails_first = 2
    assert fetch(source, tmp_path)[0].read_bytes() == contents[0]
    assert len(github.asked) == 3


@pytest.mark.parametrize(
    ("fault", "says", "requests"),
    [
        ("broken", "HTTP 500", 3),
        ("cut", "broke off after", 3),
        ("forbidden", "is refused (HTTP 403)", 1),
        ("gone", "is not there (HTTP 404)", 1),
        ("changed", "is not the file on record", 1),
    ],
)
def test_what_github_cannot_deliver_is_one_line_and_no_file(
    github: StandIn, tmp_path: Path, fault: str, says: str, requests: int
) -> None:
    source, contents = held(github, "amc23")
    source = replace(source, sha256=(hashlib.sha256(contents[0]).hexdigest(),))
    github.fault = fault
    if fault == "gone":
        github.files.clear()
    with pytest.raises(InputError) as caught:
        fetch(source, tmp_path)
    assert says in str(caught.value) and "\n" not in str(caught.value) and "--from" in str(caught.value)
    assert len(github.asked) == requests
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("fault", ["hang", "slow"])
def test_github_ends_at_the_deadline(github: StandIn, tmp_path: Path, fault: str) -> None:
    """A server that sends a few bytes now and then never runs into the timeout of a read."""
    source, _ = held(github, "amc23")
    github.fault = fault
    started = time.monotonic()
    with pytest.raises(InputError, match="not there after 1 s"):
        fetch(source, tmp_path, 1)
    assert time.monotonic() - started < 5


def test_nobody_listens_at_github(github: StandIn, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with socket.create_server(("127.0.0.1", 0)) as closed:
        monkeypatch.setenv("BENCHFILL_GITHUB_RAW", f"http://127.0.0.1:{closed.getsockname()[1]}")
    with pytest.raises(InputError, match="in 3 tries .*[Rr]efused"):
        fetch(SOURCES["amc23"], tmp_path)


def test_the_mirror_must_be_an_address(
    github: StandIn, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("BENCHFILL_GITHUB_RAW", "file:///etc")
    with pytest.raises(InputError, match="BENCHFILL_GITHUB_RAW must begin with http"):
        fetch(SOURCES["amc23"], tmp_path)
