"""What a calibration notes of itself beside its fit, so that a run can tell whether it is that of its pool and panel.

`python -m propose.calibrate` writes it into the fit's diagnostics.json: the pool's hash and ids, the identities of the
verifiers, and the versions of the graders. A calibration from elsewhere may lack any of it, and that is not checked.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from irt.io import InputError, sha256_of
from verifier.graders.grading import grader_version
from verifier.items import Item

# Of the record, as the user reads them where it lacks one.
WHAT = {"pool": "its pool", "verifiers": "how its models were sampled", "graders": "who graded their answers"}


@dataclass(frozen=True)
class CalibrationRecord:
    """The record of a calibration; None is what it does not say.

    Attributes
    ----------
    path
        The diagnostics.json that it is from, which need not be there.
    n_trials
        The largest number of answers of a model to an item.
    pool
        ``sha256`` of the pool, and ``ids`` of its items in their order.
    verifiers
        Identities by name, as verifier.panel makes them.
    graders
        Versions by name.
    """

    path: Path
    n_trials: int | None
    pool: Mapping[str, Any] | None
    verifiers: Mapping[str, str] | None
    graders: Mapping[str, str] | None

    @property
    def lacking(self) -> list[str]:
        """What of it could be checked and is not there, in words."""
        return [words for name, words in WHAT.items() if getattr(self, name) is None]


def record_fields(
    pool: Path, items: Sequence[Item], identities: Mapping[str, str], graders: Mapping[str, str]
) -> dict[str, Any]:
    """Return what diagnostics.json gets of the record, beside the fit's own figures."""
    return {
        "pool": {"file": pool.name, "sha256": sha256_of(pool), "ids": [item.id for item in items]},
        "verifiers": dict(identities),
        "graders": dict(graders),
    }


def graders_of(items: Sequence[Item]) -> dict[str, str]:
    """Return the versions of the graders that judge answers to these items, by name."""
    return dict(sorted(grader_version(kind) for kind in {item.answer_type for item in items}))


def read_record(difficulty: Path) -> CalibrationRecord:
    """Return what the diagnostics.json beside a calibration table says."""
    path = difficulty.with_name("diagnostics.json")
    try:
        said = json.loads(path.read_bytes())
    except (FileNotFoundError, ValueError, RecursionError):
        said = None
    said = said if isinstance(said, dict) else {}

    def table(name: str) -> dict[str, Any] | None:
        found = said.get(name)
        return found if isinstance(found, dict) else None

    trials = said.get("trials_per_cell")
    whole = trials if isinstance(trials, list) and all(isinstance(one, int) for one in trials) else []
    pool = table("pool")
    if pool is not None and not {"sha256", "ids"} <= pool.keys():
        pool = None
    return CalibrationRecord(path, max(whole, default=None), pool, table("verifiers"), table("graders"))


def check_pool(record: CalibrationRecord, pool: Path, items: Sequence[Item]) -> None:
    """Hold a pool to the one that was calibrated.

    Raises
    ------
    InputError
        With the first item that is another, or that the file is another with the same ids.
    """
    if record.pool is None or record.pool["sha256"] == sha256_of(pool):
        return
    end = f"was calibrated ({record.path}); restore the pool, or `bash run_experiment.sh calibrate` again"
    ids = [item.id for item in items]
    if ids != record.pool["ids"]:
        pairs = zip([*ids, None], [*record.pool["ids"], None], strict=False)
        place, (found, then) = next((n, pair) for n, pair in enumerate(pairs) if pair[0] != pair[1])
        raise InputError(f"{pool}: item {place} is {found!r}, where {then!r} {end}")
    raise InputError(f"{pool}: has the ids of the pool that was calibrated, but is another file than {end}")


def check_identities(record: CalibrationRecord, identities: Mapping[str, str], panel: Path) -> None:
    """Hold the verifiers of a panel to those that calibrated the benchmark.

    Raises
    ------
    InputError
        With the first that is sampled or served otherwise.
    """
    for name, identity in identities.items():
        then = (record.verifiers or {}).get(name, identity)
        if then != identity:
            raise InputError(
                f"{panel}: {name} is not as it was when the benchmark was calibrated ({record.path}): model, revision, "
                "sampling, thinking, max_tokens or system prompt differ; restore it, or `bash run_experiment.sh "
                "calibrate` with this panel"
            )


def check_graders(record: CalibrationRecord, graders: Mapping[str, str]) -> None:
    """Hold the graders that are installed to those of the calibration.

    Raises
    ------
    InputError
        With the first of another version.
    """
    for name, version in graders.items():
        then = (record.graders or {}).get(name, version)
        if then != version:
            raise InputError(
                f"{record.path}: the calibration's answers were graded with {name} {then}, and this is {name} "
                f"{version}; `bash run_experiment.sh calibrate --regrade` grades them again"
            )
