"""What a calibration notes of itself beside its fit, so that a run can tell whether it is that of its pool and panel.

`python -m propose.calibrate` writes it into the fit's diagnostics.json: the pool's hash and ids, the identities of the
verifiers, and the versions of the graders; the fit adds the hashes of the matrix that it was made from and of its own
table. A calibration from elsewhere may lack any of it, and that is not checked.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from irt.io import InputError, sha256_of
from propose.json_values import check_values
from verifier.graders.grading import grader_version
from verifier.items import Item

_AGAIN = "`bash run_experiment.sh calibrate` again"
MOST_TRIALS = 9999  # of a model and item

# Of the record, as the user reads them where it lacks one.
WHAT = {
    "pool": "its pool",
    "matrix": "its matrix",
    "table": "its table",
    "verifiers": "how its models were sampled",
    "graders": "who graded their answers",
}
# What diagnostics.json holds of it, each if it is there.
_FILE = {"sha256": str}
_KINDS: dict[str, Any] = {
    "trials_per_cell": list[int],
    "pool": Mapping[str, Any],
    "inputs": Mapping[str, Mapping[str, str]],
    "outputs": Mapping[str, Mapping[str, str]],
    "verifiers": Mapping[str, str],
    "graders": Mapping[str, str],
}


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
    inputs
        Hashes of the files that were fitted, by their names in CalibrationFiles; ``matrix`` is one of them, if any is.
    table
        Hash of difficulty.csv.
    verifiers
        Identities by name, as verifier.panel makes them.
    graders
        Versions by name.
    """

    path: Path
    n_trials: int | None
    pool: Mapping[str, Any] | None
    inputs: Mapping[str, str]
    table: str | None
    verifiers: Mapping[str, str] | None
    graders: Mapping[str, str] | None

    @property
    def matrix(self) -> str | None:
        """Hash of the matrix that was fitted."""
        return self.inputs.get("matrix")

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
    """Return what the diagnostics.json beside a calibration table says.

    Raises
    ------
    InputError
        If what it says has not the form of a record.
    """
    path = difficulty.with_name("diagnostics.json")
    try:
        said = json.loads(path.read_bytes())
    except (FileNotFoundError, ValueError, RecursionError):
        said = None
    said = said if isinstance(said, dict) else {}
    try:
        check_values(said, {name: kind for name, kind in _KINDS.items() if name in said})
        if "pool" in said:
            check_values(said["pool"], _FILE | {"ids": list[str]})
        inputs, outputs = _hashes(said.get("inputs", {})), _hashes(said.get("outputs", {}))
        trials = max(said.get("trials_per_cell", []), default=None)
        if trials is not None and not 1 <= trials <= MOST_TRIALS:
            raise TypeError(f"trials_per_cell cannot have {trials}; there are 1 to {MOST_TRIALS}")
    except TypeError as error:
        raise InputError(f"{path}: not the record of a calibration ({error}); {_AGAIN}") from error
    return CalibrationRecord(
        path=path,
        n_trials=trials,
        pool=said.get("pool"),
        inputs=inputs,
        table=outputs.get("difficulty"),
        verifiers=said.get("verifiers"),
        graders=said.get("graders"),
    )


def _hashes(files: Mapping[str, Mapping[str, str]]) -> dict[str, str]:
    for one in files.values():
        check_values(one, _FILE)
    return {name: one["sha256"] for name, one in files.items()}


def check_fitted(record: CalibrationRecord, table: Path, matrix: Path, trials: Path, guessing: Path) -> None:
    """Hold a calibration table to what the fit wrote, and the counts to those that it was made from.

    ``trials`` and ``guessing`` need not be there.

    Raises
    ------
    InputError
        With the first that is another.
    """
    if record.table not in (None, sha256_of(table)):
        raise InputError(f"{table}: is not as the fit wrote it ({record.path}); restore it, or {_AGAIN}")
    if record.matrix is None:
        return
    for name, path in (("matrix", matrix), ("trials", trials), ("guessing", guessing)):
        then, now = record.inputs.get(name), sha256_of(path) if path.exists() else None
        # One guessing probability for all needs no file.
        if then != now and not (name == "guessing" and then is None):
            raise InputError(
                f"{path}: is not what {table} was fitted to ({record.path}); restore it, or {_AGAIN}"
            )


def check_pool(record: CalibrationRecord, pool: Path, items: Sequence[Item]) -> None:
    """Hold a pool to the one that was calibrated.

    Raises
    ------
    InputError
        With the first item that is another, or that the file is another with the same ids.
    """
    if record.pool is None or record.pool["sha256"] == sha256_of(pool):
        return
    end = f"was calibrated ({record.path}); restore the pool, or {_AGAIN}"
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
