"""Show the life of a candidate: parent, prompt, texts, screen, counts, posterior, decision, reason.

Input   a run's folder (propose/results/BENCHMARK/RUN) and the id of a candidate, or of a new item in its filled
        benchmark; without an id, a line for each candidate.
Output  text; with --json one JSON object.

Examples:
  python -m propose.show propose/results/aime26/first
  python -m propose.show propose/results/aime26/first r03-g1-p2-c4
  python -m propose.show propose/results/aime26/first AIME26-fill-003
"""

from __future__ import annotations

import argparse
from collections.abc import Mapping
from dataclasses import asdict
from pathlib import Path
from typing import Any

from irt.command import CommandParser, packages_of, print_json, printable, run
from irt.io import InputError
from propose.calibrated import files_of
from propose.candidate import REASONS, Candidate, Decision, last_decision
from propose.config import Config, read_config
from propose.run import check_input
from propose.run_folder import RunFolder, RunState, data_root, read_state
from verifier.items import LABELS, Item, as_fields, read_items

NOT_YET = "not decided yet"


def parse_arguments() -> argparse.Namespace:
    """Return the checked command line."""
    parser = CommandParser(__doc__)
    parser.prog = "python -m propose.show"
    parser.add_argument("run", type=Path, metavar="RUN_FOLDER", help="the run's folder")
    parser.add_argument(
        "candidate", nargs="?", metavar="ID", help="a candidate, r03-g1-p2-c4, or a new item, AIME26-fill-003"
    )
    parser.add_argument("--json", action="store_true", help="print JSON instead of text")
    return parser.parse_args()


def main() -> int:
    """Read and print."""
    arguments = parse_arguments()
    folder = RunFolder(arguments.run)
    config = read_config(folder)
    state = read_state(folder)
    if arguments.candidate is None and not arguments.json:
        print(printable("\n".join(list_lines(state))) or "no candidate is there yet")
        return 0
    name = None if arguments.candidate is None else candidate_named(folder, state, arguments.candidate)
    with packages_of("requirements_verifier.txt"):
        from propose.candidate_items import candidate_items

    files = files_of(data_root(), config.settings.benchmark)
    check_input(folder, config, "pool", files.pool)
    pool = read_items(files.pool)
    asked = [*state.candidates.values(), *state.failed_candidates.values()]
    items = {item.id: item for item in pool} | candidate_items(asked, pool)
    if name is None:
        print_json([life(state, one, config, items) for one in names_of(state)])
        return 0
    found = life(state, name, config, items)
    if arguments.json:
        print_json(found)
    else:
        print(printable("\n".join(life_lines(found))))
    return 0


def names_of(state: RunState) -> list[str]:
    """Return the ids of all candidates, those without a reply too."""
    return sorted({*state.candidates, *state.failed_candidates, *state.decisions})


def candidate_named(folder: RunFolder, state: RunState, name: str) -> str:
    """Return the id of the candidate that ``name`` is, or became in the filled benchmark of the run.

    Raises
    ------
    InputError
        If it is neither, or an original item, which has no life in a run.
    """
    names = names_of(state)
    if name in names:
        return name
    filled = folder.path / "filled_items.jsonl"
    source = next(
        (item.source_item_id for item in read_items(filled) if item.id == name)
        if filled.exists()
        else iter(()),
        None,
    )
    if source in names:
        return source
    if source is not None:
        raise InputError(f"{folder.path}: {name} is an original item, {source!r}; give the id of a new one")
    raise InputError(f"{folder.path}: no candidate {name!r}; leave the id out to list all")


def candidate_of(state: RunState, name: str) -> Candidate | None:
    """Return a candidate with its reply, else with its error; None where candidates.jsonl has neither."""
    return state.candidates.get(name) or state.failed_candidates.get(name)


def list_lines(state: RunState) -> list[str]:
    """Return a line for each candidate: id, parent, decision, reason."""
    lines = []
    for name in names_of(state):
        candidate, last = candidate_of(state, name), _last(state, name)
        parent = candidate.parent if candidate else "-"
        said = NOT_YET if last is None else f"{last.stage:7} {last.decision:9} {last.reason}"
        lines.append(f"{name:14} {said:34} parent {parent}".rstrip())
    return lines


def life(state: RunState, name: str, config: Config, items: Mapping[str, Item]) -> dict[str, Any]:
    """Return all that is known of a candidate, as a JSON object.

    ``items`` are those of the pool and of the candidates, by id.
    """
    candidate = candidate_of(state, name)
    solutions = state.failed_solutions.get(name, {}) | state.solutions.get(name, {})
    models = tuple(config.panel["identities"])
    correct, trials = state.counts(name, models, config.n_trials)
    stages = state.decisions.get(name, {})
    last = _last(state, name)
    return {
        "id": name,
        "simulated_panel": config.simulated,
        "candidate": None if candidate is None else asdict(candidate),
        "parent": None if candidate is None else as_fields(items[candidate.parent]),
        "item": as_fields(items[name]) if name in items else None,
        "solutions": [asdict(one) for _, one in sorted(solutions.items())],
        "answers": {
            model: {
                "correct": int(right),
                "trials": int(asked),
                "answers": [
                    None if answer is None else answer.answer
                    for (verifier, _), answer in sorted(state.answers.get(name, {}).items())
                    if verifier == model
                ],
            }
            for model, right, asked in zip(models, correct, trials, strict=True)
        },
        "decisions": [_decision_fields(decision) for decision in stages.values()],
        "decision": NOT_YET if last is None else last.decision,
        "reason": None if last is None else last.reason or None,
    }


def life_lines(found: dict[str, Any]) -> list[str]:
    """Return a life as text for people."""
    candidate = found["candidate"]
    lines = [f"{found['id']}: {_said(found['decision'], found['reason'])}"]
    if found["simulated_panel"]:
        lines.append("The panel and the rewriter are SIMULATED.")
    if candidate is None:
        lines += ["", "candidates.jsonl has no row of it."]
    else:
        lines += [
            "",
            f"made in     round {candidate['round']}, for the gap b {candidate['low']:.2f} to {candidate['high']:.2f}",
            f"aimed at    b {candidate['target_b']:.2f}, pass rate {candidate['target_pass_rate']:.1%}",
            f"rewriter    {_request_text(candidate)}",
            *_item_block(f"parent {candidate['parent']}", found["parent"]),
            *_block("prompt", candidate["prompt"]),
            *(_block("thinking", candidate["reasoning"]) if candidate["reasoning"] else []),
            *(
                _block("error", candidate["error"])
                if candidate["error"]
                else _block("reply", candidate["reply"])
            ),
            *(_item_block("item, as read", found["item"]) if found["item"] else []),
        ]
    for solution in found["solutions"]:
        verdict = {True: "agrees with the key", False: "does not agree", None: "not judged"}[
            solution["correct"]
        ]
        title = f"solution {solution['number']}: {solution['answer']!r}, {verdict} ({solution['outcome']})"
        lines += _block(title, solution["error"] or solution["reply"])
    asked = {model: one for model, one in found["answers"].items() if one["trials"] or one["answers"]}
    if asked:
        lines += ["", "--- answers of the panel"]
        width = max(map(len, asked))
        for model, one in asked.items():
            given = ", ".join("—" if answer is None else answer for answer in one["answers"])
            lines.append(f"{model:{width}}  {one['correct']} of {one['trials']} right: {given}")
    lines += ["", "--- decisions"]
    for decision in found["decisions"]:
        said = _said(decision["decision"], decision["reason"])
        detail = f" ({decision['detail']})" if decision["detail"] else ""
        lines.append(f"{decision['stage']:7} {said}{detail}{_figures_text(decision['figures'])}")
    if not found["decisions"]:
        lines.append(NOT_YET)
    return lines


def _request_text(candidate: Mapping[str, Any]) -> str:
    asked = f"seed {candidate['seed']}, {candidate['attempts']} attempts"
    if candidate["error"]:
        return f"{asked}, no reply"
    tokens = (
        "tokens not counted"
        if candidate["completion_tokens"] is None
        else f"{candidate['completion_tokens']} tokens"
    )
    end = f"{tokens} in {candidate['seconds']:.1f} s, ended by {candidate['finish_reason']!r}"
    return f"{candidate['served_model']}, {asked}, {end}"


def _said(decision: str, reason: str | None) -> str:
    return f"{decision}, {REASONS[reason]}" if reason else decision


def _figures_text(figures: dict[str, Any]) -> str:
    parts = []
    if "b_mean" in figures:
        parts.append(f"b {figures['b_mean']:.2f} ± {figures['b_sd']:.2f}")
    if "p_in_gap" in figures:
        parts.append(
            f"P(b from {figures['low']:.2f} to {figures['high']:.2f}) = {figures['p_in_gap']:.3f}, "
            f"{sum(figures['correct'])} of {sum(figures['trials'])} right"
        )
    if "probability" in figures:
        parts.append(
            f"P(accepted in the end) = {figures['probability']:.3f} after {figures['wave']} verifiers"
        )
    return ": " + ", ".join(parts) if parts else ""


def _block(title: str, text: str) -> list[str]:
    return ["", f"--- {title}", text.rstrip("\n")]


def _item_block(title: str, item: Mapping[str, Any]) -> list[str]:
    choices = [f"{label}) {choice}" for label, choice in zip(LABELS, item.get("choices", []), strict=False)]
    checks = [f"checked by: {', '.join(item['instruction_ids'])}"] if item.get("instruction_ids") else []
    return [*_block(title, item["question"]), *choices, *checks, f"key: {item['answer']}"]


def _last(state: RunState, name: str) -> Decision | None:
    return last_decision(state.decisions[name]) if name in state.decisions else None


def _decision_fields(decision: Decision) -> dict[str, Any]:
    return asdict(decision) | {"figures": dict(decision.figures)}


if __name__ == "__main__":
    run(main)
