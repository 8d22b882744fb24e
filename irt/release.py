"""The files of a released benchmark: difficulty.csv, test.jsonl and provenance.json. Standard library only.

provenance.json says where the estimates come from and how far to trust them. It is written last, so it vouches for
the other two.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from irt.benchmark_list import Benchmark
from irt.io import InputError, atomic_writer, read_json_object, remove_file, write_csv
from irt.matrix_source import MatrixSource
from irt.settings import ESTIMATOR, SamplerSettings

SCHEMA_VERSION = 1

DIFFICULTY = "difficulty.csv"
ITEMS = "test.jsonl"
PROVENANCE = "provenance.json"

SHOWN_IN_TABLES = {
    "domain": (str,),
    "models": (int,),
    "trials_per_cell": (int, str),
    "max_r_hat": (int, float),
}


def identity_of(benchmark: Benchmark, source: MatrixSource) -> dict[str, Any]:
    """Return what the benchmark and its source are called: no estimate depends on it."""
    return {
        "schema_version": SCHEMA_VERSION,
        "name": benchmark.name,
        "title": benchmark.title,
        "domain": benchmark.domain,
        "source_repository": source.repository,
        "commit": source.commit,
        "licence": source.licence,
    }


def recipe_of(
    benchmark: Benchmark, source: MatrixSource, settings: SamplerSettings, method: str
) -> dict[str, Any]:
    """Return all that the estimates depend on, as it stands in provenance.json."""
    sampling = {"method": method} | vars(settings)
    del sampling["cores"]  # how fast, not what
    trials = {} if source.n_trials is None else {"trials_per_cell": source.n_trials}
    return {
        "inputs": source.inputs(),
        "models_left_out": list(benchmark.drop_models),
        **trials,
        "guessing": benchmark.guessing,
        "sampling": sampling,
        "estimator": ESTIMATOR,
    }


def read_provenance(folder: Path) -> dict[str, Any] | None:
    """Return the contents of a folder's provenance.json, or None if it has none.

    Raises
    ------
    InputError
        If the file is not a JSON object, or what the tables show of it is not of its type.
    """
    path = folder / PROVENANCE
    if not path.exists():
        return None
    provenance = read_json_object(path)
    for name, types in SHOWN_IN_TABLES.items():
        if not isinstance(provenance.get(name), (*types, type(None))):
            raise InputError(f"{path}: {name} is {provenance[name]!r}; build the benchmark anew")
    return provenance


def finished(folder: Path, recipe: Mapping[str, Any]) -> dict[str, Any] | None:
    """Return the provenance of a folder that is whole and made by this recipe, otherwise None."""
    provenance = read_provenance(folder)
    if provenance is None or not all((folder / name).is_file() for name in (DIFFICULTY, ITEMS)):
        return None
    if any(provenance.get(key) != value for key, value in recipe.items()):
        return None
    return provenance


def write_release(
    folder: Path, items: Sequence[str], b_mean: Iterable[float], provenance: Mapping[str, Any]
) -> None:
    """Write the three files. Items are numbered from 0; test.jsonl has the id of each in its source."""
    remove_file(folder / PROVENANCE)
    write_csv(folder / DIFFICULTY, ["item_id", "b_mean"], ([i, f"{b:.6f}"] for i, b in enumerate(b_mean)))
    with atomic_writer(folder / ITEMS) as handle:
        for i, source_id in enumerate(items):
            handle.write(json.dumps({"item_id": i, "source_item_id": source_id}, ensure_ascii=False) + "\n")
    write_provenance(folder, provenance)


def write_provenance(folder: Path, provenance: Mapping[str, Any]) -> None:
    """Write provenance.json alone."""
    with atomic_writer(folder / PROVENANCE) as handle:
        json.dump(provenance, handle, indent=2, ensure_ascii=False, allow_nan=False)
        handle.write("\n")
