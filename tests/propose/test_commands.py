"""init, run, status, calibrate and run_experiment.sh, against a simulated server on loopback."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
import pytest

from irt.io import write_csv
from propose.calibrated import files_of, read_calibrated
from tests.propose.served import BENCHMARK, ROOT, Place, place
from tests.propose.simulation import NAMES
from tests.verifier.simulated.panel_process import simulated_panel
from verifier.items import write_items
from verifier.pools.pool_check import check_pool
from verifier.pools.source_formats import read_items_of
from verifier.pools.sources import read_sources
from verifier.simulated.families import make_items


@pytest.fixture(scope="module")
def url() -> Iterator[str]:
    with simulated_panel("--rewriter-bias", "0.3") as panel:
        yield panel.url


@pytest.fixture(scope="module")
def done(url: str, tmp_path_factory: pytest.TempPathFactory) -> Place:
    """A place with a run that has come to its end."""
    here = place(tmp_path_factory.mktemp("done"), url)
    assert here.init("one").returncode == 0
    ended = here.do("run", BENCHMARK, "one")
    assert ended.returncode == 0, ended.stderr
    return here


@pytest.fixture
def here(url: str, tmp_path: Path) -> Place:
    return place(tmp_path, url)


def test_init_says_what_it_starts_from_and_never_overwrites(here: Place) -> None:
    here.folder("one").path.mkdir(parents=True)  # what a kill in the middle of init leaves
    first = here.init("one")
    assert first.returncode == 0, first.stderr
    assert "24 items, b from" in first.stdout
    assert "12 verifiers, 4 answers each" in first.stdout
    assert "simulated" in first.stdout
    config = json.loads(here.folder("one").config.read_bytes())
    assert config["n_trials"] == 4
    assert set(config["inputs"]) == {"pool", "matrix", "difficulty"}
    assert len(config["panel"]["identities"]) == 12
    second = here.init("one")
    assert second.returncode == 2
    assert second.stderr.count("\n") == 1
    assert "is there already and is left as it is" in second.stderr


def _without(name: str) -> Callable[[Place], None]:
    return lambda here: getattr(files_of(here.path / "data", BENCHMARK), name).unlink()


def _other_panel(here: Place) -> None:
    here.panel.write_text(here.panel.read_text().replace('name = "simulated-03"', 'name = "somebody"'))


def _shorter_pool(here: Place) -> None:
    files = files_of(here.path / "data", BENCHMARK)
    write_items(files.pool, make_items(3, seed=1))


def _other_trials(here: Place) -> None:
    files = files_of(here.path / "data", BENCHMARK)
    rows = [line.split(",") for line in files.matrix.read_text().splitlines()]
    write_csv(files.matrix, rows[0], [[row[0], "5", *row[2:]] for row in rows[1:]])


@pytest.mark.parametrize(
    ("spoil", "words"),
    [
        (_without("pool"), "pool/sim.jsonl: the item pool is missing; "),
        (_without("matrix"), "matrix/sim_response_matrix.csv: the response matrix of the panel is missing; "),
        (_without("difficulty"), "calibration/sim/difficulty.csv: the calibration table is missing; "),
        (lambda here: here.panel.unlink(), "panel.toml: No such file"),
        (lambda here: here.rewriter.unlink(), "rewriter.toml: No such file"),
        (_other_panel, "no verifier 'simulated-03', which is a row of"),
        (_shorter_pool, "24 columns of items, and"),
        (_other_trials, "5"),
    ],
)
def test_init_says_in_one_line_what_is_missing(
    here: Place, spoil: Callable[[Place], None], words: str
) -> None:
    spoil(here)
    refused = here.init("one")
    assert refused.returncode == 2
    assert refused.stderr.count("\n") == 1, refused.stderr
    assert words in refused.stderr
    assert not here.folder("one").path.exists()


PARTS = {
    "bbh_3obj": ["bbh_logical_deduction_three_objects", "bbh_tracking_shuffled_objects_three_objects"],
    "mmlu_bio": ["mmlu_biology"],
}


@pytest.mark.parametrize("benchmark", read_sources())
def test_init_on_published_items_and_a_simulated_calibration(here: Place, benchmark: str) -> None:
    if not (folder := os.environ.get("BENCHFILL_ITEMS")):
        pytest.skip("BENCHFILL_ITEMS is not set: no published items to read")
    source = read_sources()[benchmark]
    paths = [Path(folder) / f"{name}.jsonl" for name in PARTS.get(benchmark, [benchmark])]
    items = check_pool(read_items_of(source, paths), source.defects).items
    files = files_of(here.path / "data", benchmark)
    write_items(files.pool, items)
    rng = np.random.default_rng(1)
    columns = [f"q{position}" for position in range(len(items))]
    b = np.round(rng.normal(size=len(items)), 3)
    right = rng.binomial(4, 1 / (1 + np.exp(b - np.linspace(-2, 2, 12)[:, None])))
    write_csv(
        files.matrix, ["model", *columns], [[n, *row] for n, row in zip(NAMES, right.tolist(), strict=True)]
    )
    write_csv(
        files.difficulty, ["item", "b_mean", "b_sd"], [[q, at, 0.3] for q, at in zip(columns, b, strict=True)]
    )
    made = here.do(
        *("init", benchmark, "one", "--panel", here.panel, "--rewriter", here.rewriter, "--trials", 4)
    )
    assert made.returncode == 0, made.stderr
    assert f"{len(items)} items, b from" in made.stdout


def test_run_without_init_is_one_line(here: Place) -> None:
    refused = here.do("run", BENCHMARK, "one")
    assert refused.returncode == 2
    assert "there is no such run" in refused.stderr
    assert refused.stderr.count("\n") == 1


def test_a_run_comes_to_its_end_and_status_tells(done: Place) -> None:
    told = done.do("status", BENCHMARK, "one")
    assert told.returncode == 0, told.stderr
    assert "(simulated)" in told.stdout
    found = json.loads(done.do("status", BENCHMARK, "one", "--json").stdout)
    counts = found["candidates"]
    assert counts["written"] == counts["accepted"] + counts["rejected"]
    assert counts["with the panel"] == counts["to screen"] == 0
    assert counts["accepted"] > 0
    assert found["gaps_now"][0]["width"] < found["gaps_before"][0]["width"]
    assert found["per_accepted_item"]["rollouts"] == pytest.approx(
        found["rollouts"] / counts["accepted"], abs=0.1
    )
    assert 0 <= found["expected_false_landings"] <= 0.5 * counts["accepted"]
    rows = done.folder("one").rollouts.read_text().splitlines()
    assert found["rollouts"] == sum('"kind": "answer"' in row for row in rows)


def test_a_run_that_is_done_asks_nothing_more(done: Place) -> None:
    before = {path: path.read_bytes() for path in done.folder("one").path.glob("*.jsonl")}
    again = done.do("run", BENCHMARK, "one")
    assert again.returncode == 0
    assert before == {path: path.read_bytes() for path in done.folder("one").path.glob("*.jsonl")}


def test_changed_inputs_are_refused(done: Place) -> None:
    files = files_of(done.path / "data", BENCHMARK)
    kept = files.difficulty.read_bytes()
    files.difficulty.write_bytes(kept.replace(b"q0,", b"q0,0", 1))
    try:
        refused = done.do("run", BENCHMARK, "one")
    finally:
        files.difficulty.write_bytes(kept)
    assert refused.returncode == 2
    assert "is not what" in refused.stderr
    assert refused.stderr.count("\n") == 1


def test_another_panel_under_the_same_names_is_refused(done: Place, tmp_path: Path) -> None:
    warmer = tmp_path / "warmer.toml"
    warmer.write_text(done.panel.read_text().replace("temperature = 1.0", "temperature = 0.5", 1))
    refused = done.do("run", BENCHMARK, "one", "--panel", warmer)
    assert refused.returncode == 2
    assert "simulated-01 is not as" in refused.stderr


def test_a_cap_ends_it_cleanly_and_a_higher_one_goes_on(here: Place) -> None:
    assert here.init("one", "--max-rollouts", 50).returncode == 0
    capped = here.do("run", BENCHMARK, "one")
    assert capped.returncode == 0, capped.stderr
    assert "50 of at most 50 answers of the panel are spent" in capped.stdout
    assert json.loads(here.do("status", BENCHMARK, "one", "--json").stdout)["rollouts"] == 50
    more = here.do("run", BENCHMARK, "one", "--max-rollouts", 60)
    assert json.loads(here.do("status", BENCHMARK, "one", "--json").stdout)["rollouts"] == 60
    assert more.returncode == 0


def test_two_on_one_folder_and_ctrl_c(tmp_path: Path) -> None:
    with simulated_panel("--latency", "1.5") as slow:
        here = place(tmp_path, slow.url)
        assert here.init("one").returncode == 0
        process = here.start("run", BENCHMARK, "one")
        try:
            journal = here.folder("one").rollouts
            deadline = time.monotonic() + 60
            while not (journal.exists() and journal.stat().st_size):
                assert process.poll() is None, process.communicate()
                assert time.monotonic() < deadline
                time.sleep(0.05)
            second = here.do("run", BENCHMARK, "one")
            assert second.returncode == 2
            assert "another process is writing to it" in second.stderr
            assert second.stderr.count("\n") == 1
            told = here.do("status", BENCHMARK, "one", "--json")
            assert told.returncode == 0, told.stderr
            assert json.loads(told.stdout)["candidates"]["with the panel"] > 0
            process.send_signal(signal.SIGINT)
            _, errors = process.communicate(timeout=30)
        finally:
            process.kill()
        assert process.returncode == 130
        assert "Traceback" not in errors
        assert "interrupted" in errors


def test_a_server_that_is_not_there_is_one_line(done: Place, tmp_path: Path) -> None:
    here = place(tmp_path, "http://127.0.0.1:9/v1")
    assert here.init("one").returncode == 0
    refused = here.do("run", BENCHMARK, "one")
    assert refused.returncode == 2
    assert "127.0.0.1:9" in refused.stderr
    assert "Traceback" not in refused.stderr


def script(here: Place, *words: str, **settings: str) -> subprocess.CompletedProcess[str]:
    environment = here.environment(
        BENCHMARK="small",
        RUN="one",
        PANEL=str(here.panel),
        REWRITER=str(here.rewriter),
        TRIALS="2",
        **settings,
    )
    return subprocess.run(
        ["bash", str(ROOT / "run_experiment.sh"), *words],
        cwd=here.path,
        env=environment | {"PYTHON": os.environ.get("PYTHON", sys.executable)},
        capture_output=True,
        text=True,
        timeout=180,
        check=False,
    )


def test_the_script_from_an_item_pool_to_a_run(here: Place) -> None:
    data = here.path / "data"
    items = make_items(10, seed=2, difficulties=[-2.4, -2.0, -1.8, -1.5, -1.2, 1.2, 1.5, 1.8, 2.0, 2.4])
    write_items(data / "pool" / "small.jsonl", items)
    refused = script(here, "init")
    assert refused.returncode == 2
    assert "`bash run_experiment.sh calibrate` makes it" in refused.stderr
    made = script(here, "calibrate", "--tune", "200", "--draws", "200")
    assert made.returncode == 0, made.stderr
    found = read_calibrated(files_of(data, "small"))
    assert found.n_trials == 2
    assert found.guessing.max() > 0  # the pool has choices
    again = script(here, "calibrate", "--tune", "200", "--draws", "200")
    assert "answers to ask for" not in again.stderr
    assert (read_calibrated(files_of(data, "small")).b_mean == found.b_mean).all()
    begun = script(here, "init", GAPS="1", MAX_ROUNDS="1", PARENTS="1", CHILDREN="2", MAX_ROLLOUTS="1000")
    assert begun.returncode == 0, begun.stderr
    ended = script(here, "run")
    assert ended.returncode == 0, ended.stderr
    told = script(here, "status", "--json")
    assert json.loads(told.stdout)["candidates"]["written"] == 2
    assert json.loads(told.stdout)["left"]["rollouts"] is not None


@pytest.mark.parametrize("words", [(), ("fly",)])
def test_the_script_says_what_it_can_do(here: Place, words: tuple[str, ...]) -> None:
    refused = script(here, *words)
    assert refused.returncode == 2
    assert "init, run, status, calibrate or demo" in refused.stderr
