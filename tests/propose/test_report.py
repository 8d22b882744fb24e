"""The report, the recalibrated files and a candidate's life, from a run of the real loop with the simulated panel."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
from dataclasses import replace
from html import escape
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from irt.difficulty import diagnose
from irt.difficulty_csv import read_difficulties
from irt.io import InputError
from irt.settings import SamplerSettings
from propose import recalibrate
from propose.candidate import ACCEPTED
from propose.outcome import Outcome, read_outcome
from propose.recalibrate import OUTPUTS, finish
from propose.report import report
from propose.report_drawing import GAP, Panel, draw
from propose.report_summary import how_it_stands, worse_ddm
from propose.settings import Settings
from propose.starts import Ending, Start, ending_row, start_row
from tests.benchfill_simulation import pool_with_gap, run_in_folder, write_benchmark
from verifier.items import read_items

ROOT = Path(__file__).resolve().parents[2]
TRIALS = 4
QUICK = ("--tune", "60", "--draws", "60")
SAME_EVERY_TIME = (
    *("difficulty.csv", "ability.csv", "difficulty_before.csv"),
    *("filled_items.jsonl", "filled.json", "recalibration.json", "report.html"),
)


class _Checker(HTMLParser):
    """Finds tags that are not closed in order."""

    def __init__(self) -> None:
        super().__init__()
        self.open: list[str] = []
        self.tags: list[tuple[str, list[tuple[str, str | None]]]] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, attrs))
        if tag not in ("meta", "br"):
            self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag


def command(module: str, folder: Path, *args: str) -> subprocess.CompletedProcess[str]:
    environment = {**os.environ, "BENCHFILL_DATA": str(folder.parent / "data")}
    return subprocess.run(
        [sys.executable, "-m", f"propose.{module}", str(folder), *args],
        cwd=ROOT, env=environment, capture_output=True, encoding="utf-8", timeout=120,
    )  # fmt: skip


def recalibrate_here(folder: Path, patch: pytest.MonkeyPatch, capture: pytest.CaptureFixture[str]) -> str:
    """Recalibrate in this process, in which the sampler is compiled once, and return what it prints."""
    patch.setenv("BENCHFILL_DATA", str(folder.parent / "data"))
    patch.setattr(sys, "argv", ["recalibrate", str(folder), *QUICK])
    assert recalibrate.main() == 0
    return capture.readouterr().out


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A run of two rounds on 30 items with a gap from -0.8 to 1.2."""
    path = tmp_path_factory.mktemp("run")
    items = pool_with_gap(30, (-0.8, 1.2), seed=3, families=["power", "fractions", "writing"])
    write_benchmark(path / "data", "demo", items, TRIALS, seed=1)
    settings = Settings("demo", "first <run>", gaps=2, max_rounds=2, parents=3, children=2)
    run_in_folder(path / "first", path / "data", settings, TRIALS)
    return path / "first"


@pytest.fixture(scope="module")
def outcome(folder: Path) -> Outcome:
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("BENCHFILL_DATA", str(folder.parent / "data"))
        return read_outcome(folder)


def test_a_run_has_accepted_items_with_full_counts(outcome: Outcome) -> None:
    assert outcome.accepted
    for one in outcome.accepted:
        assert one.figure("trials") == [TRIALS] * 12
        assert one.figure("low") < one.figure("b_mean") < one.figure("high")
    assert outcome.state.expected_false_landings == pytest.approx(
        sum(1 - one.decision.figures["p_in_gap"] for one in outcome.accepted)
    )


def test_the_report_is_one_page_that_loads_nothing_and_says_simulated(outcome: Outcome) -> None:
    page = report(outcome)
    checker = _Checker()
    checker.feed(page)
    assert checker.open == []
    assert not [tag for tag, attrs in checker.tags if tag == "script" or {"src", "href"} & dict(attrs).keys()]
    assert '<p class="simulated">SIMULATED PANEL' in page
    assert "first &lt;run&gt;" in page and "<run>" not in page
    assert "<svg" in page and "Max Gap" in page and "calibrated with the originals yet" in page
    for one in outcome.accepted:
        assert one.item.id in page


def fates(page: str) -> dict[str, int]:
    """What the table of candidates says, by what became of them."""
    table = page.partition("<h2>Candidates</h2>")[2].partition("</table>")[0]
    rows = re.findall(r"<td class=text>([^<]*)</td><td class=text>[^<]*</td><td>(\d+)</td></tr>", table)
    found: dict[str, int] = {}
    for what, count in rows:
        found[what] = found.get(what, 0) + int(count)
    return found


def test_what_became_of_the_candidates_adds_up_to_all_of_them(outcome: Outcome) -> None:
    page = report(outcome)
    found = fates(page)
    every = found.pop("all")
    assert every == sum(found.values()) == len(outcome.state.candidates)
    assert found["accepted"] == len(outcome.accepted)
    assert f"<p>{every} candidates were made in 2 finished rounds." in page
    assert "The run is finished: all its rounds are done." in page
    assert "2 gaps, the widest; for each 3 parents; of each 2 children" in page
    one = replace(outcome.config.settings, gaps=1, parents=1, children=1)
    asked = report(replace(outcome, config=replace(outcome.config, settings=one)))
    assert "1 gap, the widest; for each 1 parent; of each 1 child<" in asked
    assert "with the panel" not in page


def test_a_run_that_a_cap_ended_says_so_and_what_is_still_with_the_panel(
    folder: Path, outcome: Outcome, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It said that all candidates were made in the finished rounds, and its counts did not add up."""
    monkeypatch.setenv("BENCHFILL_DATA", str(folder.parent / "data"))
    cap = outcome.state.rounds[0]["rollouts"] + 30
    settings = replace(outcome.config.settings, max_rollouts=cap)
    run_in_folder(tmp_path / "capped", folder.parent / "data", settings, TRIALS)
    rows = [
        start_row(settings),
        ending_row("max_rollouts", f"{cap} of at most {cap} answers of the panel are spent"),
    ]
    (tmp_path / "capped" / "starts.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    page = report(read_outcome(tmp_path / "capped"))
    found = fates(page)
    with_panel = found["with the panel"]
    assert with_panel > 0
    every = found.pop("all")
    assert every == sum(found.values()) == len(outcome.state.candidates)
    listed = re.search(r"<p>Still with the panel: (.*)\.</p>", page)
    assert listed
    assert len(re.findall(r"<code>r02-g\d-p\d-c\d</code>", listed[1])) == with_panel
    first = outcome.state.rounds[0]["candidates"]
    made = f"{first} in 1 finished round, {every - first} in round 2, which is not finished."
    assert f"<p>{every} candidates were made: {made}" in page
    assert f"The run is unfinished, and was ended by a cap: {cap} of at most {cap} answers" in page


@pytest.mark.parametrize(
    ("ending", "said"),
    [
        (None, "The run is unfinished: it is running, or was killed."),
        (("no_target", "no gap is left"), "The run is finished: no gap is left."),
        (("error", "x.toml: is not there"), "The run is unfinished, and ended 2026: x.toml: is not there."),
    ],
)
def test_the_report_says_how_the_run_ended(
    outcome: Outcome, ending: tuple[str, str] | None, said: str
) -> None:
    last = Start("2026", None, None, None if ending is None else Ending("2026", *ending))
    unfinished = replace(outcome.state, rounds=outcome.state.rounds[:1])
    assert how_it_stands(replace(outcome, state=unfinished, starts=[last])) == said


def test_each_models_right_answers_stand_below_its_name(outcome: Outcome) -> None:
    table = report(outcome).partition("<h2>Accepted items</h2>")[2].partition("</table>")[0]
    assert re.findall(r'<th class="model">([^<]*)</th>', table) == list(outcome.calibrated.models)
    counts = [int(count) for count in re.findall(r'<td class="count">(\d+)</td>', table)]
    assert counts == [count for one in outcome.accepted for count in one.figure("correct")]


def test_gaps_that_touch_are_two_in_the_drawing() -> None:
    panel = Panel("after", [-2.0, -1.0, 0.0, 0.5, 1.0], [], [(-1.0, 0.0), (-2.0, -1.0)])
    found = re.findall(
        rf'<rect x="([\d.]+)" y="\d+" width="([\d.]+)" height="\d+" fill="{GAP}"', draw([panel])
    )
    (start, width), (next_start, _) = sorted((float(x), float(wide)) for x, wide in found)
    assert next_start - (start + width) >= 2


def test_a_fill_that_makes_ddm_worse_says_so_and_why(outcome: Outcome) -> None:
    edges = np.sort(outcome.calibrated.b_mean)
    widest = int(np.diff(edges).argmax())
    low, high = edges[widest : widest + 2]
    inside = sum(low < b < high for b in outcome.b_accepted)
    assert inside > 1
    said = worse_ddm(outcome, 0.06, 0.0641)
    assert said.startswith("DDM got worse, 0.0600 to 0.0641: ")
    assert (
        f"{inside} of the {len(outcome.accepted)} accepted lie in one gap, b {low:.2f} to {high:.2f}," in said
    )
    assert worse_ddm(outcome, 0.06, 0.06) == worse_ddm(outcome, 0.06, 0.05) == ""
    assert worse_ddm(replace(outcome, accepted=()), 0.06, 0.07) == ""  # two fits of the same items


def test_the_headline_has_ddm_and_max_gap(outcome: Outcome) -> None:
    headline = report(outcome).partition("<h2>")[0]
    b = outcome.calibrated.b_mean.tolist()
    for spread in (diagnose(b), diagnose(b + outcome.b_accepted.tolist())):
        assert f"<b>{spread.ddm:.4f}</b>" in headline and f"<b>{spread.max_gap:.4f}</b>" in headline


def test_recalibrate_writes_the_filled_benchmark_its_fit_and_the_report(
    folder: Path, outcome: Outcome, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    done = command("recalibrate", folder, *QUICK, "--json")
    assert done.returncode == 0, done.stderr
    figures: dict[str, Any] = json.loads(done.stdout)
    entries = json.loads((folder / "filled.json").read_text(encoding="utf-8"))
    n, new = len(outcome.calibrated.items), len(outcome.accepted)
    assert [entry["id"] for entry in entries] == [
        *(f"DEMO-origin-{number:03d}" for number in range(n)),
        *(f"DEMO-fill-{number:03d}" for number in range(1, new + 1)),
    ]
    assert all(set(entry) == {"id", "question", "answer"} for entry in entries)
    assert read_difficulties(folder / "difficulty.csv").ids == tuple(entry["id"] for entry in entries)
    assert len(read_difficulties(folder / "difficulty_before.csv").ids) == n
    assert figures["after"]["items"] == n + new and figures["simulated_panel"] is True
    assert figures["after"]["max_gap"]["of_estimates"] < figures["before"]["max_gap"]["of_estimates"]
    page = (folder / "report.html").read_text(encoding="utf-8")
    assert "DEMO-fill-001" in page and "90 % interval" in page

    # All b are on the scale of the calibration, and both figures and page say so.
    b = read_difficulties(folder / "difficulty.csv").values[:n]
    assert np.mean(b) == pytest.approx(outcome.calibrated.b_mean.mean(), abs=1e-5)
    assert f"shifted by {figures['shift']:+.4f}" in figures["scale"]
    assert escape(figures["scale"]) in page

    # Once more, in another process: every figure and file comes out the same.
    assert json.loads((folder / "recalibration.json").read_text(encoding="utf-8")) == figures
    written = {name: (folder / name).read_bytes() for name in SAME_EVERY_TIME}
    told = recalibrate_here(folder, monkeypatch, capsys)
    assert {name: (folder / name).read_bytes() for name in SAME_EVERY_TIME} == written

    # What the page and the command say of the true difficulties is what the figures hold.
    after = figures["after"]["max_gap"]
    assert f"{after['median']:.4f} [{after['low']:.4f}, {after['high']:.4f}]" in page
    assert (
        f"estimates: DDM {figures['after']['ddm']['of_estimates']:.4f}; Max Gap {after['of_estimates']:.4f}"
        in told
    )
    assert f"Max Gap median {after['median']:.4f}, 90 % {after['low']:.4f} to {after['high']:.4f}" in told

    # A user's own ids, the candidates and the parents can be found again.
    pool = {item.id: item for item in read_items(folder / "filled_items.jsonl")}
    assert [pool[entry["id"]].source_item_id for entry in entries] == [
        *(item.id for item in outcome.calibrated.items),
        *(one.candidate.id for one in outcome.accepted),
    ]
    for number, one in enumerate(outcome.accepted, 1):
        parent = pool[pool[f"DEMO-fill-{number:03d}"].parent_id]
        assert parent.source_item_id == one.candidate.parent
    by_id = command("show", folder, "DEMO-fill-001")
    assert by_id.stdout == command("show", folder, outcome.accepted[0].candidate.id).stdout != ""
    original = command("show", folder, "DEMO-origin-003")
    assert (original.returncode, original.stdout) == (2, "")
    own = outcome.calibrated.items[3].id
    assert original.stderr.endswith(
        f"DEMO-origin-003 is an original item, {own!r}; give the id of a new one\n"
    )


def test_a_run_that_accepted_nothing_says_what_is_in_its_filled_benchmark(
    folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    mine = tmp_path / "first"
    shutil.copytree(folder, mine)
    (tmp_path / "data").symlink_to(folder.parent / "data")
    for journal, change in (
        ("decisions.jsonl", {"decision": "rejected", "reason": "uncertain"}),
        ("rounds.jsonl", {"accepted": []}),
    ):
        rows = [json.loads(line) for line in (mine / journal).read_text().splitlines()]
        rows = [row if row.get("decision", ACCEPTED) != ACCEPTED else row | change for row in rows]
        (mine / journal).write_text("".join(json.dumps(row) + "\n" for row in rows))
    told = recalibrate_here(mine, monkeypatch, capsys)
    assert "\nThe run has accepted no item: filled.json has the originals alone\n" in told
    assert "DDM got worse" not in told
    assert len(json.loads((mine / "filled.json").read_text())) == 30
    assert (
        "<b>0 were accepted</b>. The filled benchmark is the original one."
        in (mine / "report.html").read_text()
    )


@pytest.mark.parametrize("name", OUTPUTS)
def test_recalibration_and_report_are_both_written_or_none(
    folder: Path, tmp_path: Path, name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """An output that cannot be written is found before the fit, and the other outputs stay as they were."""
    monkeypatch.setenv("BENCHFILL_DATA", str(folder.parent / "data"))
    mine = tmp_path / "first"
    shutil.copytree(folder, mine)
    for output in OUTPUTS:
        (mine / output).unlink(missing_ok=True)
    for output in ("report.html", "recalibration.json"):
        (mine / output).write_text("of an earlier recalibration")
    (mine / name).unlink(missing_ok=True)
    (mine / name).mkdir()
    before = {path: path.read_bytes() for path in mine.iterdir() if path.is_file()}
    with pytest.raises(InputError, match=f"{name}: is a folder"):
        finish(read_outcome(mine), "X", SamplerSettings(chains=1, tune=1, draws=4))
    assert {path: path.read_bytes() for path in mine.iterdir() if path.is_file()} == before


def test_a_failure_between_outputs_leaves_neither_recalibration_nor_report(
    folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """They vouch for the other files, so they are gone while those change: here, an original cannot be written."""
    monkeypatch.setenv("BENCHFILL_DATA", str(folder.parent / "data"))
    mine = tmp_path / "first"
    shutil.copytree(folder, mine)
    for output in ("report.html", "recalibration.json"):
        (mine / output).write_text("of an earlier recalibration")
    outcome = read_outcome(mine)
    first, *others = outcome.calibrated.items
    broken = replace(outcome.calibrated, items=(replace(first, question="\ud800"), *others))
    with pytest.raises(UnicodeEncodeError):
        finish(replace(outcome, calibrated=broken), "X", SamplerSettings(chains=1, tune=50, draws=50))
    assert (mine / "difficulty.csv").exists()
    assert not (mine / "report.html").exists()
    assert not (mine / "recalibration.json").exists()


def test_a_pool_that_changed_since_is_refused(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("BENCHFILL_DATA", str(folder.parent / "data"))
    pool = folder.parent / "data" / "pool" / "demo.jsonl"
    was = pool.read_text(encoding="utf-8")
    pool.write_text(was + "\n", encoding="utf-8")
    try:
        with pytest.raises(InputError, match="restore it, init a new run, or say with BENCHFILL_DATA"):
            read_outcome(folder)
    finally:
        pool.write_text(was, encoding="utf-8")


# A candidate's life ----------------------------------------------------------------------------------------------


def test_every_candidate_can_be_listed_and_its_life_read_back(folder: Path, outcome: Outcome) -> None:
    listed = command("show", folder)
    assert listed.returncode == 0, listed.stderr
    assert len(listed.stdout.splitlines()) == len(outcome.state.decisions)
    everything = json.loads(command("show", folder, "--json").stdout)
    assert [one["id"] for one in everything] == sorted(outcome.state.decisions)
    for one in everything:
        assert one["candidate"]["prompt"] and one["candidate"]["reply"] and one["parent"]["question"]
        assert one["decision"] in ("accepted", "rejected")
        assert (one["reason"] is None) == (one["decision"] == ACCEPTED)


def test_the_life_of_an_accepted_candidate_has_all_of_it(folder: Path, outcome: Outcome) -> None:
    one = outcome.accepted[0]
    text = command("show", folder, one.item.id).stdout
    for part in (
        f"{one.item.id}: accepted",
        "SIMULATED",
        f"--- parent {one.candidate.parent}",
        one.candidate.prompt.strip(),
        one.candidate.reply.strip(),
        f"key: {one.item.answer}",
        "solution 1",
        "agrees with the key",
        f"P(b from {one.figure('low'):.2f} to {one.figure('high'):.2f}) = {one.figure('p_in_gap'):.3f}",
    ):
        assert part in text, part
    assert len(re.findall(rf"^simulated-\d\d  +\d of {TRIALS} right", text, re.M)) == 12


def test_a_candidate_without_a_reply_has_a_life_too(folder: Path, tmp_path: Path) -> None:
    mine = tmp_path / "first"
    shutil.copytree(folder, mine)
    (tmp_path / "data").symlink_to(folder.parent / "data")
    rows = [json.loads(line) for line in (mine / "candidates.jsonl").read_text().splitlines()]
    name = next(row["id"] for row in rows if row["kind"] == "candidate")
    parent = next(row["parent"] for row in rows if row["id"] == name)
    failed: dict[str, Any] = {
        "reply": "",
        "finish_reason": None,
        "served_model": None,
        "completion_tokens": None,
    }
    failed |= {"seconds": 0.0, "attempts": 3, "error": "status 503: no room"}
    rows = [
        row | failed if row["kind"] == "candidate" else row
        for row in rows
        if row["id"] == name and (row["kind"] == "candidate" or row["number"] == 1)
    ]
    (mine / "candidates.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    (mine / "decisions.jsonl").write_text(
        json.dumps({"id": name, "round": 1, "stage": "screen", "decision": "rejected", "reason": "no_reply"})
        + "\n"
    )
    for journal in ("rounds.jsonl", "rollouts.jsonl"):  # which are of what is gone
        (mine / journal).unlink()
    assert command("show", mine).stdout == (f"{name:14} {'screen  rejected  no_reply':34} parent {parent}\n")
    (one,) = json.loads(command("show", mine, "--json").stdout)
    assert one["candidate"]["error"] == "status 503: no room"
    assert one["parent"]["id"] == parent
    text = command("show", mine, name).stdout
    for part in (
        f"{name}: rejected, the rewriter's request failed",
        f"--- parent {parent}",
        f"--- prompt\n{one['candidate']['prompt']}".rstrip(),
        "3 attempts, no reply",
        "--- error\nstatus 503: no room\n",
        "--- decisions\nscreen  rejected, the rewriter's request failed",
    ):
        assert part in text, part
    assert "--- reply" not in text


def test_a_pool_that_changed_since_has_no_lives(folder: Path, tmp_path: Path) -> None:
    shutil.copytree(folder, tmp_path / "first")
    shutil.copytree(folder.parent / "data", tmp_path / "data")
    pool = tmp_path / "data" / "pool" / "demo.jsonl"
    pool.write_text("".join(pool.read_text().splitlines(keepends=True)[:2]))
    refused = command("show", tmp_path / "first", "--json")
    assert (refused.returncode, refused.stdout) == (2, "")
    assert "pool/demo.jsonl: is not what" in refused.stderr
    assert refused.stderr.count("\n") == 1


def test_an_id_that_is_not_there_is_one_line(folder: Path) -> None:
    done = command("show", folder, "r99-g1-p1-c1")
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.endswith("no candidate 'r99-g1-p1-c1'; leave the id out to list all\n")
    assert done.stderr.count("\n") == 1
