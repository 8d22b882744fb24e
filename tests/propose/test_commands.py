"""init, run, status, calibrate and run_experiment.sh, against a simulated server on loopback."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from irt.io import InputError, write_csv
from propose import calibrate, init
from propose.calibrated import files_of, read_calibrated
from propose.calibration_record import graders_of, record_fields
from tests.propose.served import BENCHMARK, ROOT, Place, place
from tests.propose.simulation import NAMES
from tests.verifier.simulated.panel_process import simulated_panel
from verifier.items import read_items, write_items
from verifier.panel import read_panel
from verifier.pools.pool_check import check_pool
from verifier.pools.source_formats import read_items_of
from verifier.pools.sources import read_sources
from verifier.simulated.families import FAMILIES, make_items


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


def test_init_says_what_it_could_not_check(here: Place) -> None:
    made = here.init("one")
    assert made.returncode == 0
    assert made.stderr == (
        f"note: {here.path}/data/calibration/sim/diagnostics.json does not say its pool or how its models were sampled "
        "or who graded their answers, so that it could not be checked; `bash run_experiment.sh calibrate` notes it\n"
    )
    noted = _noted(here)
    assert noted.init("two").stderr == ""


def _noted(here: Place, **changed: object) -> Place:
    """Note pool, verifiers and graders beside the calibration, as `calibrate` does, with some of it changed."""
    files = files_of(here.path / "data", BENCHMARK)
    items = read_items(files.pool)
    identities = {one.name: one.identity for one in read_panel(here.panel).verifiers}
    path = files.difficulty.with_name("diagnostics.json")
    noted = record_fields(files.pool, items, identities, graders_of(items))
    path.write_text(json.dumps(json.loads(path.read_bytes()) | noted | changed))
    return here


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
    write_csv(files.matrix, rows[0], [rows[1], [rows[2][0], "5", *rows[2][2:]], *rows[3:]])


def _other_pool(here: Place) -> None:
    _noted(here)
    items = make_items(24, seed=99)
    write_items(
        files_of(here.path / "data", BENCHMARK).pool, [replace(one, id=f"new-{one.id}") for one in items]
    )


def _warmer_panel(here: Place) -> None:
    _noted(here)
    here.panel.write_text(here.panel.read_text().replace("temperature = 1.0", "temperature = 0.5", 1))


def _table(header: str, *rows: str) -> Callable[[Place], None]:
    """Write another calibration table: the rows given, and then as many as there were."""

    def spoil(here: Place) -> None:
        path = files_of(here.path / "data", BENCHMARK).difficulty
        rest = path.read_text().splitlines()[1 + len(rows) :]
        path.write_text("\n".join([header, *rows, *rest]) + "\n")

    return spoil


def _matrix(old: str, new: str) -> Callable[[Place], None]:
    def spoil(here: Place) -> None:
        path = files_of(here.path / "data", BENCHMARK).matrix
        assert old in path.read_text()
        path.write_text(path.read_text().replace(old, new, 1))

    return spoil


def _trials_of_another_matrix(here: Place) -> None:
    files = files_of(here.path / "data", BENCHMARK)
    rows = [line.split(",") for line in files.matrix.read_text().splitlines()]
    write_csv(files.trials, rows[0], [[row[0], *["8"] * (len(row) - 1)] for row in rows[1:]])


@pytest.mark.parametrize(
    ("spoil", "words"),
    [
        (
            _without("pool"),
            "DATA/pool/sim.jsonl: the item pool is missing; `python -m verifier.simulated.make_items --count 30 "
            "--output DATA/pool/sim.jsonl` makes a simulated one",
        ),
        (
            _without("matrix"),
            "DATA/matrix/sim_response_matrix.csv: the response matrix of the panel is missing; `bash run_experiment.sh "
            "calibrate` makes it",
        ),
        (
            _without("difficulty"),
            "DATA/calibration/sim/difficulty.csv: the calibration table is missing; `bash run_experiment.sh calibrate` "
            "makes it",
        ),
        (
            _table("item,b_sd", "q0,0.3"),
            "DATA/calibration/sim/difficulty.csv:1: no column 'b_mean'; the columns there are 'item', 'b_sd'; use the "
            "difficulty.csv of scripts/fit_irt.py",
        ),
        (
            _table("item,b_mean", "q0,0.3"),
            "DATA/calibration/sim/difficulty.csv:1: no column 'b_sd'; the columns there are 'item', 'b_mean'; use the "
            "difficulty.csv of scripts/fit_irt.py",
        ),
        (
            _table("item,b_mean,b_sd", "q0,nan,0.3"),
            "DATA/calibration/sim/difficulty.csv:2: item 'q0': b_mean must be a finite number, found 'nan'",
        ),
        (
            _table("item,b_mean,b_sd", "q0,1.0,nan"),
            "DATA/calibration/sim/difficulty.csv:2: item 'q0': b_sd must be a number above 0, found 'nan'",
        ),
        (
            _table("item,b_mean,b_sd", "q0,1.0,0.3", "other,1.0,0.3"),
            "DATA/calibration/sim/difficulty.csv: no row for 1 of 24 items of DATA/matrix/sim_response_matrix.csv: "
            "'q1'; calibrate them too, or leave their columns out",
        ),
        (
            _matrix("q3,q4", "q4,q3"),
            "DATA/matrix/sim_response_matrix.csv: column 5 is 'q4' where q3 is expected: the position of 'SIM-0004' in "
            "DATA/pool/sim.jsonl",
        ),
        (
            _matrix("q0,", "SIM-0001,"),
            "DATA/matrix/sim_response_matrix.csv: column 2 is 'SIM-0001' where q0 is expected: the position of "
            "'SIM-0001' in DATA/pool/sim.jsonl",
        ),
        (
            _matrix("simulated-03", "somebody"),
            "DATA/matrix/sim_response_matrix.csv: is not what DATA/calibration/sim/difficulty.csv was fitted to "
            "(DATA/calibration/sim/diagnostics.json); restore it, or `bash run_experiment.sh calibrate` again",
        ),
        (
            _other_trials,
            "DATA/matrix/sim_response_matrix.csv:3: model 'simulated-02', item 'q0': found 5, expected 0 to 4; a count "
            "cannot exceed the number of trials",
        ),
        (
            _trials_of_another_matrix,
            "DATA/matrix/sim_trials.csv: the largest number of trials is 8, the calibration had 4; use the trials and "
            "the calibration of one matrix",
        ),
        (
            _shorter_pool,
            "DATA/matrix/sim_response_matrix.csv: 24 columns of items, and DATA/pool/sim.jsonl has 3 items; a column "
            "q0, q1, … is a position in the pool",
        ),
        (
            _other_pool,
            "DATA/pool/sim.jsonl: item 0 is 'new-SIM-0001', where 'SIM-0001' was calibrated "
            "(DATA/calibration/sim/diagnostics.json); restore the pool, or `bash run_experiment.sh calibrate` again",
        ),
        (
            _other_panel,
            "PLACE/panel.toml: no verifier 'simulated-03', which is a row of DATA/matrix/sim_response_matrix.csv; the "
            "models that calibrated the benchmark must answer new items too",
        ),
        (
            _warmer_panel,
            "PLACE/panel.toml: simulated-01 is not as it was when the benchmark was calibrated "
            "(DATA/calibration/sim/diagnostics.json): model, revision, sampling, thinking, max_tokens or system prompt "
            "differ; restore it, or `bash run_experiment.sh calibrate` with this panel",
        ),
        (
            lambda here: here.rewriter.write_text("[model]"),
            "PLACE/rewriter.toml: unknown key 'model'; a rewriter's file has concurrency, deadline_seconds and "
            "[rewriter]",
        ),
    ],
)
def test_init_says_what_is_missing_or_does_not_fit(
    here: Place, spoil: Callable[[Place], object], words: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    spoil(here)
    for name in ("BENCHFILL_DATA", "BENCHFILL_RESULTS"):
        monkeypatch.setenv(name, here.environment()[name])
    options = ("--panel", str(here.panel), "--rewriter", str(here.rewriter))
    monkeypatch.setattr(sys, "argv", ["init", BENCHMARK, "one", *options])
    with pytest.raises(InputError) as refused:
        init.main()
    said = str(refused.value).replace(str(here.path / "data"), "DATA").replace(str(here.path), "PLACE")
    assert said == words
    assert not here.folder("one").path.exists()


@pytest.mark.parametrize("name", ["panel", "rewriter"])
def test_init_says_in_one_line_which_file_is_missing(here: Place, name: str) -> None:
    getattr(here, name).unlink()
    refused = here.init("one")
    assert refused.returncode == 2
    assert refused.stderr == f"init.py: error: {getattr(here, name)}: No such file or directory\n"
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


def _called_as_a_candidate(here: Place) -> None:
    pool = files_of(here.path / "data", BENCHMARK).pool
    items = read_items(pool)
    write_items(pool, [replace(items[0], id="r01-g1-p1-c2"), *items[1:]])


@pytest.mark.parametrize(
    ("benchmark", "spoil", "words"),
    [
        ("my bench", lambda here: None, "benchmark 'my bench': a name has letters, digits"),
        ("../pool/sim", lambda here: None, "benchmark '../pool/sim': a name has letters, digits"),
        (BENCHMARK, _called_as_a_candidate, "sim.jsonl: item 'r01-g1-p1-c2': candidates are called so"),
    ],
)
def test_calibrate_pays_for_nothing_that_init_refuses(
    here: Place,
    benchmark: str,
    spoil: Callable[[Place], object],
    words: str,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    spoil(here)
    files = files_of(here.path / "data", benchmark)
    if not files.pool.exists():
        write_items(files.pool, make_items(5, seed=1))
    before = sorted(here.path.rglob("*"))
    for name in ("BENCHFILL_DATA", "BENCHFILL_RESULTS"):
        monkeypatch.setenv(name, here.environment()[name])
    monkeypatch.setattr(sys, "argv", ["calibrate", benchmark, "--panel", str(here.panel)])
    with pytest.raises(InputError) as refused:
        calibrate.main()
    assert words in str(refused.value)
    assert sorted(here.path.rglob("*")) == before


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


def _journals(here: Place) -> dict[str, bytes]:
    folder = here.folder("one").path
    return {path.name: path.read_bytes() for path in folder.glob("*.jsonl") if path.name != "starts.jsonl"}


def test_a_run_that_is_done_asks_nothing_more(done: Place) -> None:
    before = _journals(done)
    assert len(before) == 4
    again = done.do("run", BENCHMARK, "one")
    assert again.returncode == 0
    assert _journals(done) == before


def test_status_knows_what_the_panel_cannot_resolve_before_a_round_is_done(here: Place) -> None:
    assert here.init("one", small=()).returncode == 0  # three gaps a round
    found = json.loads(here.do("status", BENCHMARK, "one", "--json").stdout)
    assert (found["starts"], found["last_start"], found["last_row"]) == (0, None, None)
    assert found["rounds"]["done"] == 0
    # With 48 answers an item's difficulty is known to 0.3, and between most of the 24 items there is less room.
    widths = [gap["width"] for gap in found["unresolvable"]]
    assert widths
    assert max(widths) < 0.5
    assert "Not started yet" in (told := here.do("status", BENCHMARK, "one").stdout)
    assert "Too narrow for the panel to resolve: b " in told


def test_another_grader_version_is_refused(done: Place) -> None:
    config = done.folder("one").config
    kept = config.read_text()
    fields = json.loads(kept)
    fields["versions"]["math"] = "0.1"
    config.write_text(json.dumps(fields))
    before = _journals(done)
    try:
        refused = done.do("run", BENCHMARK, "one")
    finally:
        config.write_text(kept)
    assert refused.returncode == 2
    assert refused.stderr.count("\n") == 1
    assert "the run's answers are graded with math 0.1, and this is math " in refused.stderr
    assert "go back to the earlier version" in refused.stderr
    assert _journals(done) == before


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
    assert more.returncode == 0
    found = json.loads(here.do("status", BENCHMARK, "one", "--json").stdout)
    assert found["rollouts"] == 60
    assert found["caps"] == {"rollouts": 60, "tokens": None}
    assert found["left"] == {"rounds": 2, "rollouts": 0, "tokens": None}
    assert found["starts"] == 2
    assert found["last_start"]["ending"]["reason"] == "max_rollouts"
    told = here.do("status", BENCHMARK, "one").stdout
    assert ": 60 of at most 60 answers of the panel are spent\n" in told
    assert "Left: 2 rounds, 0 of at most 60 answers\n" in told


def test_a_run_works_from_another_folder_than_its_init(here: Place) -> None:
    files = ("--panel", "panel.toml", "--rewriter", "./rewriter.toml")
    made = here.do("init", BENCHMARK, "one", *files, "--max-rounds", 1, "--gaps", 1, "--parents", 1)
    assert made.returncode == 0, made.stderr  # from here.path
    elsewhere = here.path / "elsewhere"
    elsewhere.mkdir()
    ended = subprocess.run(
        here.command("run", BENCHMARK, "one", "--max-rollouts", 5),
        cwd=elsewhere, env=here.environment(), capture_output=True, text=True, timeout=120, check=False,
    )  # fmt: skip
    assert ended.returncode == 0, ended.stderr
    assert "5 of at most 5 answers" in ended.stdout


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
            found = json.loads(told.stdout)
            assert found["candidates"]["with the panel"] > 0
            assert found["starts"] == 1  # the one that was refused is none
            assert found["last_start"]["ending"] is None
            assert "has not ended: it is running, or was killed" in here.do("status", BENCHMARK, "one").stdout
            process.send_signal(signal.SIGINT)
            _, errors = process.communicate(timeout=30)
        finally:
            process.kill()
        assert process.returncode == 130
        assert "Traceback" not in errors
        assert "interrupted" in errors
        found = json.loads(here.do("status", BENCHMARK, "one", "--json").stdout)
        assert found["last_start"]["ending"]["reason"] == "interrupted"


def test_a_server_that_is_not_there_is_one_line(done: Place, tmp_path: Path) -> None:
    here = place(tmp_path, "http://127.0.0.1:9/v1")
    assert here.init("one").returncode == 0
    refused = here.do("run", BENCHMARK, "one")
    assert refused.returncode == 2
    assert "127.0.0.1:9" in refused.stderr
    assert "Traceback" not in refused.stderr
    told = here.do("status", BENCHMARK, "one").stdout
    assert "\nEnded " in told
    assert "127.0.0.1:9" in told


def script(here: Place, *words: str, **settings: str) -> subprocess.CompletedProcess[str]:
    files = {"PANEL": str(here.panel), "REWRITER": str(here.rewriter)}
    environment = here.environment(**{"BENCHMARK": "small", "RUN": "one", "TRIALS": "2"} | files | settings)
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
    difficulties = [-2.4, -2.0, -1.8, -1.5, -1.2, 1.2, 1.5, 1.8, 2.0, 2.4]
    # The grader of instructions takes seconds to load in each process of each command.
    families = [name for name in FAMILIES if name != "writing"]
    items = make_items(10, seed=2, families=families, difficulties=difficulties)
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
    diagnostics = json.loads((data / "calibration" / "small" / "diagnostics.json").read_bytes())
    assert diagnostics["pool"]["ids"] == [item.id for item in items]
    assert diagnostics["verifiers"] == {one.name: one.identity for one in read_panel(here.panel).verifiers}
    assert diagnostics["graders"] == graders_of(items)
    begun = script(here, "init", GAPS="1", MAX_ROUNDS="1", PARENTS="1", CHILDREN="2", MAX_ROLLOUTS="1000")
    assert begun.returncode == 0, begun.stderr
    assert begun.stderr == ""
    ended = script(here, "run", PANEL="", REWRITER="")  # as init was told
    assert ended.returncode == 0, ended.stderr
    told = script(here, "status", "--json")
    assert json.loads(told.stdout)["candidates"]["written"] == 2
    assert json.loads(told.stdout)["left"]["rollouts"] is not None

    # Answers of an earlier grader are not mixed with those of this one; graded again, they are.
    journal = data / "rollouts" / "small" / "rollouts.jsonl"
    now = json.dumps(diagnostics["graders"]["math"])
    assert now in (text := journal.read_text())
    journal.write_text(text.replace(f'"grader_version": {now}', '"grader_version": "0.1"'))
    refused = script(here, "calibrate", "--tune", "200", "--draws", "200")
    assert refused.returncode == 2
    assert "run once with --regrade" in refused.stderr
    again = script(here, "calibrate", "--tune", "200", "--draws", "200", "--regrade")
    assert again.returncode == 0, again.stderr
    assert (read_calibrated(files_of(data, "small")).b_mean == found.b_mean).all()

    # Other trials or another fit would replace what the run was made with.
    calibration = {path: path.read_bytes() for path in files_of(data, "small").present().values()}
    for what, words, trials in (
        ("matrix/small_response_matrix.csv", (), "3"),
        ("calibration/small/difficulty.csv", ("--tune", "200", "--draws", "300"), "2"),
    ):
        refused = script(here, "calibrate", *words, TRIALS=trials)
        assert refused.returncode == 2
        last = refused.stderr.splitlines()[-1]
        assert (
            f"{data / what}: would be replaced, and one of {here.path / 'results' / 'small'} could not go on"
            in last
        )
    assert {path: path.read_bytes() for path in calibration} == calibration
    assert script(here, "status").returncode == 0


def test_the_script_tells_its_words(here: Place) -> None:
    told = script(here, "--help")
    assert told.returncode == 0
    assert told.stdout.startswith("BenchFill: find the widest difficulty gaps")
    for word in ("demo", "calibrate", "init", "run", "status"):
        assert f"bash run_experiment.sh {word} " in told.stdout
    assert "set -euo" not in told.stdout


@pytest.mark.parametrize("words", [(), ("fly",)])
def test_the_script_says_what_it_can_do(here: Place, words: tuple[str, ...]) -> None:
    refused = script(here, *words)
    assert refused.returncode == 2
    assert "init, run, status, calibrate or demo" in refused.stderr
