"""What a mass fill leaves for others: NAME.json, and beside it how it came about.

NAME.json                     array of {id, question, answer}; originals first and unchanged
NAME/items.jsonl              the same items with all that grading needs; source_item_id: an original's id in its own
                              benchmark, a new item's pass and candidate; parent_id: what a new item was written after
NAME/difficulty_before.csv    item,b_mean,b_sd of the originals, as they were calibrated before
NAME/difficulty.csv           of all items, calibrated together
NAME/provenance.json          when it was started, who answered and wrote, what was spent, DDM and Max Gap before and
                              after
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

from irt.difficulty import Diagnosis, diagnose
from irt.difficulty_csv import read_difficulties
from irt.io import InputError, atomic_writer, write_csv
from propose.filled import filled_pool, write_filled
from propose.outcome import Outcome
from verifier.items import Item, write_items

SCHEMA_VERSION = 1


def check_ours(output: Path, name: str, started: str | None) -> None:
    """Hold that nothing of another fill would be overwritten.

    Parameters
    ----------
    started
        When this fill was started, as its first run has it; None: it has not been.

    Raises
    ------
    InputError
        If there is a filled benchmark of that name that was not released by this fill.
    """
    there = [path for path in (output / f"{name}.json", output / name) if path.exists()]
    if not there:
        return
    try:
        said = json.loads((output / name / "provenance.json").read_bytes())["started"]
    except (OSError, ValueError, KeyError, TypeError):  # none, or of something else
        said = None
    if said is None or said != started:
        raise InputError(
            f"{there[0]}: is there already and not of this fill; choose another name or --output, or remove it"
        )


def release(output: Path, name: str, passes: Sequence[Outcome]) -> dict[str, Any]:
    """Write the filled benchmark of finished passes; return what provenance.json holds."""
    first, last = passes[0], passes[-1]
    originals = first.calibrated.items
    accepted = accepted_in(passes)
    pool = filled_pool(name, originals, accepted)
    folder = output / name
    provenance = {
        "schema_version": SCHEMA_VERSION,
        "name": name,
        "started": first.config.created,
        "panel": "simulated" if first.config.simulated else "models",
        "note": (
            "Filled with a simulated panel and a simulated rewriter: nothing here is a measurement of any model."
            if first.config.simulated
            else "Filled with the models below."
        ),
        "verifiers": dict(first.config.panel["identities"]),
        "rewriter": dict(first.config.rewriter["identities"]),
        "trials_per_cell": first.config.n_trials,
        "inputs": {what: dict(file) for what, file in first.config.inputs.items()},
        "settings": [outcome.config.settings.as_fields() for outcome in passes],
        "before": _figures(_diagnosis(first.folder.path / "difficulty_before.csv")),
        "after": _figures(_diagnosis(last.folder.path / "difficulty.csv")),
        "accepted": len(accepted),
        "expected_false_landings": round(sum(outcome.state.expected_false_landings for outcome in passes), 4),
        "candidates": sum(len(outcome.state.decisions) for outcome in passes),
        "rollouts": sum(outcome.state.spent.rollouts for outcome in passes),
        "tokens": sum(outcome.state.spent.tokens for outcome in passes),
    }
    ids = [item.id for item in pool]
    with atomic_writer(folder / "provenance.json") as handle:  # first: it says whose the others are
        json.dump(provenance, handle, indent=2, ensure_ascii=False)
        handle.write("\n")
    _copy(first.folder.path / "difficulty_before.csv", folder / "difficulty_before.csv", ids)
    _copy(last.folder.path / "difficulty.csv", folder / "difficulty.csv", ids)
    write_items(folder / "items.jsonl", pool)
    write_filled(output / f"{name}.json", pool)
    return provenance


def accepted_in(passes: Sequence[Outcome]) -> list[Item]:
    """Return the accepted items of all passes, each named by its pass and its candidate: pass-01/r02-g1-p3-c4.

    Their ``parent_id`` is an original's id or such a name: a pass knows the items of those before it by ids of its own.
    """
    names = [item.id for item in passes[0].calibrated.items]
    found: list[Item] = []
    for number, outcome in enumerate(passes, 1):
        new = {one.item.id: f"pass-{number:02}/{one.item.id}" for one in outcome.accepted}
        known = dict(zip((item.id for item in outcome.calibrated.items), names, strict=True)) | new
        found += [
            replace(one.item, id=new[one.item.id], parent_id=known[one.item.parent_id])
            for one in outcome.accepted
        ]
        names += new.values()
    return found


def _diagnosis(path: Path) -> Diagnosis:
    return diagnose(read_difficulties(path).values)


def _figures(diagnosis: Diagnosis) -> dict[str, float]:
    found = asdict(diagnosis)
    return {what: found[what] for what in ("items", "ddm", "max_gap")}


def _copy(source: Path, target: Path, ids: Sequence[str]) -> None:
    """Copy the difficulties of a pass under the ids of the release; the order of items is the same."""
    means = read_difficulties(source).values
    sds = read_difficulties(source, "b_sd").values
    rows = ([name, f"{mean:.6f}", f"{sd:.6f}"] for name, mean, sd in zip(ids, means, sds, strict=False))
    write_csv(target, ["item", "b_mean", "b_sd"], rows)
