"""config.json of a run: what it was made with. It is written once; caps alone may be raised, by a start."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, get_type_hints

from irt.io import InputError, atomic_writer
from propose.calibration_record import MOST_TRIALS
from propose.json_values import check_values
from propose.run_folder import REPOSITORY, RESTORE, RunFolder
from propose.settings import Settings, settings_from_fields

SCHEMA_VERSION = 1
# What the panel and the rewriter of a run have.
ASKED: dict[str, Any] = {"file": str, "identities": Mapping[str, str]}


@dataclass(frozen=True)
class Config:
    """What a run was made with.

    Attributes
    ----------
    n_trials
        Answers of a verifier to a candidate, as many as the calibration had.
    inputs
        Of the benchmark's files, by what they are: ``file`` (name) and ``sha256``.
    panel, rewriter
        ``file`` (see ``stored_path``), and ``identities`` by name, in the order of the file.
    versions
        Of Python, and of the graders by their names.
    simulated
        Whether the answers come from the simulated panel.
    """

    settings: Settings
    n_trials: int
    inputs: Mapping[str, Mapping[str, str]]
    panel: Mapping[str, Any]
    rewriter: Mapping[str, Any]
    versions: Mapping[str, str]
    created: str
    simulated: bool


def stored_path(path: Path) -> str:
    """Return a path that holds in any working folder: from the repository's root if it lies in it, else absolute."""
    path = path.resolve()
    return path.relative_to(REPOSITORY).as_posix() if path.is_relative_to(REPOSITORY) else str(path)


def found_path(stored: str) -> Path:
    """Return where the file of a stored path is."""
    return REPOSITORY / stored  # an absolute path stays as it is


def write_config(folder: RunFolder, config: Config) -> None:
    """Write config.json of a new run.

    Raises
    ------
    InputError
        If the run is there already.
    """
    check_new(folder)
    with atomic_writer(folder.config) as handle:
        fields = vars(config) | {"settings": config.settings.as_fields()}
        json.dump({"schema_version": SCHEMA_VERSION, **fields}, handle, indent=2, ensure_ascii=False)
        handle.write("\n")


def check_new(folder: RunFolder) -> None:
    """Hold that there is no such run.

    Raises
    ------
    InputError
        If there is.
    """
    if folder.config.exists():  # a folder without it is what a kill in the middle of init leaves
        raise InputError(
            f"{folder.path}: this run is there already and is left as it is; choose another RUN name"
        )


def read_config(folder: RunFolder) -> Config:
    """Return what a run was made with.

    Raises
    ------
    InputError
        If there is no such run, or its config.json is not one.
    """
    path = folder.config
    if not path.is_file():
        raise InputError(f"{path}: there is no such run; make it with `bash run_experiment.sh init`")
    try:
        fields = json.loads(path.read_bytes())
    except (ValueError, RecursionError) as error:
        raise InputError(f"{path}: not JSON ({error}); {RESTORE}") from error
    wanted = {*Config.__dataclass_fields__, "schema_version"}
    if not isinstance(fields, dict) or set(fields) != wanted or fields["schema_version"] != SCHEMA_VERSION:
        raise InputError(f"{path}: not the config of a run of this version; init a new run")
    kinds = get_type_hints(Config)
    del kinds["settings"]
    try:
        check_values(fields, kinds)
        for name in ("panel", "rewriter"):
            check_values(fields[name], ASKED)
        if not 1 <= fields["n_trials"] <= MOST_TRIALS:
            raise TypeError(f"n_trials cannot be {fields['n_trials']}")
    except TypeError as error:
        raise InputError(f"{path}: not the config of a run ({error}); {RESTORE}") from error
    del fields["schema_version"]
    return Config(**fields | {"settings": settings_from_fields(fields["settings"], str(path))})
