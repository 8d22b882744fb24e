"""Let every model of a panel answer every item several times, grade the answers, and write the count matrix.

Input   --items: JSONL, one item a line (id, question, answer, answer_type math | choice | instructions, choices).
        --panel: TOML, the models, how they are sampled, and where they are served.
Output  in --out: rollouts.jsonl (every answer and verdict, append-only), response_matrix.csv, trials.csv where some
        cells have fewer trials, guessing.csv where there are choices, summary.json.

The same command resumes: what rollouts.jsonl has is not asked again. More --trials are added to those that are there.

Examples:
  python -m verifier.rollout --items data/pool/aime25.jsonl --panel verifier/panel.toml --trials 8 --out aime25
  python -m verifier.rollout --items mine.jsonl --panel verifier/panels/local.toml --trials 4 --out mine
  python -m verifier.rollout --items mine.jsonl --panel verifier/panels/local.toml --trials 4 --out mine --regrade
"""

from __future__ import annotations

import argparse
import json
import shlex
import sys
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path

from irt.command import CommandParser, packages_of, print_json, run, whole_number
from irt.io import InputError, atomic_writer, sha256_of
from irt.settings import available_cpus
from verifier.counts import GUESSING, MATRIX, TRIALS, VerifierSummary, summarise, warnings_of, write_matrix
from verifier.graders.grader_pool import GraderPool
from verifier.graders.grading import check_graders, check_item, grader_version
from verifier.items import Item, read_items
from verifier.journal import open_journal
from verifier.panel import Panel, read_panel
from verifier.regrade import grade_again, regrade_jobs
from verifier.trials import Job, Key, Trial, jobs_of, read_trials

SCHEMA_VERSION = 1
EXIT_INCOMPLETE = 1


def parse_arguments() -> argparse.Namespace:
    """Return the checked command line."""
    parser = CommandParser(__doc__)
    parser.prog = "python -m verifier.rollout"
    parser.add_argument("--items", type=Path, required=True, help="the items, JSONL")
    parser.add_argument("--panel", type=Path, required=True, help="the panel, TOML")
    parser.add_argument(
        "--trials", type=whole_number(1, 9999), required=True, help="answers a model and item"
    )
    parser.add_argument("--out", type=Path, required=True, help="folder for the journal and the files")
    parser.add_argument(
        "--regrade",
        action="store_true",
        help="ask nothing: grade the stored answers again and list what changed",
    )
    parser.add_argument("--json", action="store_true", help="print the summary as JSON")
    return parser.parse_args()


def main() -> int:
    """Check everything, ask what is missing, write what follows from the journal."""
    arguments = parse_arguments()
    if arguments.out.exists() and not arguments.out.is_dir():
        raise InputError(f"{arguments.out} is a file; name a folder for --out")
    items = read_items(arguments.items)
    for item in items:
        check_item(item)
    panel = read_panel(arguments.panel)
    with packages_of("requirements_verifier.txt"):
        from verifier.ask_panel import ask_panel
    answer_types = {item.answer_type for item in items}
    check_graders(answer_types)
    journal = arguments.out / "rollouts.jsonl"
    jobs = list(jobs_of(panel.verifiers, items, arguments.trials))

    with open_journal(journal) as append, GraderPool(answer_types, workers=available_cpus()) as pool:
        trials = read_trials(journal, panel.verifiers, items)
        changes: list[str] = []
        if arguments.regrade:
            check_stored(trials, arguments.out)
            changes = grade_again(journal, {job.key: job for job in jobs}, trials, append, pool)
        else:
            check_versions(trials, jobs)
            grade_again(journal, regrade_jobs(jobs, trials), trials, append, pool)
            missing = [job for job in jobs if job.key not in trials or not trials[job.key].answered]
            # Those that came to nothing before are asked last: one of them may stop its verifier again.
            missing.sort(key=lambda job: job.key in trials)
            if missing:
                for name, reason in ask_panel(panel, missing, arguments.out, append, pool).items():
                    print(f"{name}: stopped: {reason}", file=sys.stderr)

    trials = read_trials(journal, panel.verifiers, items)
    return report(arguments, panel, items, trials, changes)


def check_stored(trials: dict[Key, Trial], out: Path) -> None:
    """Refuse to grade again where there is nothing: most likely the panel or the items are not those of the journal."""
    if not trials:
        raise InputError(
            f"{out / 'rollouts.jsonl'} has no answers of this panel to these items; check --panel, --items and --out"
        )


def check_versions(trials: dict[Key, Trial], jobs: Sequence[Job]) -> None:
    """Refuse to add verdicts of one grader version, or for one key, to those of another."""
    versions = {
        answer_type: grader_version(answer_type) for answer_type in {job.item.answer_type for job in jobs}
    }
    for job in jobs:
        trial = trials.get(job.key)
        if trial is None or trial.grader is None:
            continue
        present = (*versions[job.item.answer_type], job.item.key)
        if trial.grader != present:
            if trial.grader[:2] == present[:2]:
                what, before, now = "key", trial.grader[2], present[2]
            else:
                what, before, now = "grader", " ".join(trial.grader[:2]), " ".join(present[:2])
            raise InputError(
                f"item {job.item.id}: its answers were graded with another {what} ({before}; now {now}); "
                f"run once with --regrade, so that one matrix has one {what}"
            )


def report(
    arguments: argparse.Namespace,
    panel: Panel,
    items: Sequence[Item],
    trials: dict[Key, Trial],
    changes: Sequence[str],
) -> int:
    """Write the files and print the summary, all from the journal; return the exit status."""
    names = [verifier.name for verifier in panel.verifiers]
    summaries = summarise(names, items, arguments.trials, trials)
    warnings = warnings_of(summaries, trials)
    summary = {
        "schema_version": SCHEMA_VERSION,
        "items": {"file": arguments.items.name, "sha256": sha256_of(arguments.items), "count": len(items)},
        "panel": {"file": arguments.panel.name, "sha256": sha256_of(arguments.panel)},
        "identities": {verifier.name: verifier.identity for verifier in panel.verifiers},
        "graders": dict(
            sorted(grader_version(answer_type) for answer_type in {item.answer_type for item in items})
        ),
        "n_trials": arguments.trials,
        "verifiers": [asdict(one) for one in summaries],
        "warnings": warnings,
        "changes": changes,
    }
    written = write_matrix(arguments.out, names, items, arguments.trials, trials)
    with atomic_writer(arguments.out / "summary.json") as handle:
        json.dump(summary, handle, indent=2, ensure_ascii=False)
        handle.write("\n")
    for warning in warnings:
        print(f"warning: {warning}", file=sys.stderr)
    if arguments.json:
        print_json(summary)
    else:
        print("".join(f"{line}\n" for line in changes), end="")
        print_table(summaries)
        print(f"Wrote {', '.join([*written, 'summary.json'])} to {arguments.out}")
        if MATRIX in written and len(items) > 1:
            print(f"Next: {fit_command(arguments.out, written, arguments.trials)}")
    return tell_missing(summaries)


def tell_missing(summaries: Sequence[VerifierSummary]) -> int:
    """Say what is missing and how to get it; return the exit status."""
    unanswered = sum(one.outcomes["error"] + one.outcomes["missing"] for one in summaries)
    unjudged = sum(one.outcomes["grader_error"] + one.outcomes["grader_timeout"] for one in summaries)
    if unanswered:
        print(
            f"{unanswered} answers are missing; the same command (without --regrade) asks for them",
            file=sys.stderr,
        )
    if unjudged:
        print(
            f"{unjudged} answers could not be judged; the same command tries once more, and detail in rollouts.jsonl "
            "says why",
            file=sys.stderr,
        )
    return EXIT_INCOMPLETE if unanswered or unjudged else 0


def fit_command(folder: Path, written: Sequence[str], n_trials: int) -> str:
    """Return the command that fits what was written."""
    words = ["python", "scripts/fit_irt.py", str(folder / MATRIX)]
    words += ["--trials-csv", str(folder / TRIALS)] if TRIALS in written else ["--n-trials", str(n_trials)]
    words += ["--guessing-csv", str(folder / GUESSING)] if GUESSING in written else []
    return shlex.join([*words, "--output-dir", str(folder)])


def print_table(summaries: Sequence[VerifierSummary]) -> None:
    """Print one line a verifier; columns in which everybody has 0 are left out."""
    outcomes = [
        name for name in summaries[0].outcomes if name != "ok" and any(s.outcomes[name] for s in summaries)
    ]
    width = max(len("verifier"), *(len(summary.verifier) for summary in summaries))
    print(f"{'verifier':<{width}}  {'trials':>7}  correct", *(f"{name:>10}" for name in outcomes), sep="  ")
    for summary in summaries:
        share = f"{summary.correct / summary.trials:7.1%}" if summary.trials else f"{'-':>7}"
        cells = (f"{summary.outcomes[name]:>10}" for name in outcomes)
        print(f"{summary.verifier:<{width}}  {summary.trials:>7}  {share}", *cells, sep="  ")


if __name__ == "__main__":
    run(main)
