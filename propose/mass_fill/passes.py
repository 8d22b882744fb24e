"""The passes of a mass fill: each is a run of BenchFill on the benchmark as the pass before has left it.

A pass has a folder: data/ (pool, matrix and calibration that it starts from) and results/ (its run, recalibrated). What
is there is not made again, so an interrupted mass fill goes on where it was.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from irt.io import InputError, atomic_writer, sha256_of, write_csv
from irt.settings import SamplerSettings
from propose.calibrated import check_present, files_of
from propose.calibration_record import record_fields
from propose.config import read_config
from propose.outcome import Outcome, read_outcome
from propose.recalibrate import finish
from propose.run_folder import RunFolder
from propose.starts import read_starts
from verifier.items import read_items, write_items
from verifier.serving import ended_with_parent

RUN = "fill"
ORIGINALS = "ORIGINAL"  # what ids of a pass begin with; the release renames all items


@dataclass(frozen=True)
class Pass:
    """One pass, in its folder."""

    folder: Path
    benchmark: str

    @property
    def data(self) -> Path:
        """The root of data that its run reads."""
        return self.folder / "data"

    @property
    def run(self) -> Path:
        """The folder of its run."""
        return self.folder / "results" / self.benchmark / RUN


def started(first: Pass) -> str | None:
    """Return when the run of a first pass was made, which is when its fill was started; None before that."""
    folder = RunFolder(first.run)
    return read_config(folder).created if folder.config.exists() else None


@contextmanager
def roots(one: Pass) -> Iterator[dict[str, str]]:
    """Point BENCHFILL_DATA and BENCHFILL_RESULTS at a pass; yield the environment for its commands."""
    wanted = {"BENCHFILL_DATA": str(one.data), "BENCHFILL_RESULTS": str(one.folder / "results")}
    before = {name: os.environ.get(name) for name in wanted}
    os.environ.update(wanted)
    try:
        yield dict(os.environ)
    finally:
        for name, value in before.items():
            if value is None:
                del os.environ[name]
            else:
                os.environ[name] = value


def start_from_benchmark(one: Pass, data: Path) -> None:
    """Give the first pass the benchmark's own files.

    Raises
    ------
    InputError
        If one of them is missing, or not as it was when the fill was started.
    """
    source = files_of(data, one.benchmark)
    check_present(source)
    if one.data.exists():
        copied = files_of(one.data, one.benchmark)
        for name, path in vars(source).items():
            copy = getattr(copied, name)
            if (path.exists() and sha256_of(path)) != (copy.exists() and sha256_of(copy)):
                raise InputError(
                    f"{path}: is not what {one.folder.parent} was started with ({copy}); restore it, or fill it under "
                    "another name"
                )
        return
    unfinished = _fresh(one)
    target = files_of(unfinished, one.benchmark)
    for path in (target.pool, target.matrix, target.difficulty):
        path.parent.mkdir(parents=True, exist_ok=True)
    for name, path in source.present().items():
        shutil.copyfile(path, getattr(target, name))
    diagnostics = source.difficulty.with_name("diagnostics.json")
    if diagnostics.exists():
        shutil.copyfile(diagnostics, target.difficulty.with_name("diagnostics.json"))
    unfinished.rename(one.data)


def start_from_pass(one: Pass, before: Outcome) -> None:
    """Give a pass what the one before has left: its filled pool, all counts, and their joint fit."""
    if one.data.exists():
        return
    unfinished = _fresh(one)
    files = files_of(unfinished, one.benchmark)
    for path in (files.pool, files.matrix, files.difficulty):
        path.parent.mkdir(parents=True, exist_ok=True)
    pool = read_items(before.folder.path / "filled_items.jsonl")
    write_items(files.pool, pool)
    columns = [f"q{position}" for position in range(len(pool))]
    calibrated = before.calibrated
    for path, name in ((files.matrix, "correct"), (files.trials, "trials")):
        rows = [
            [model, *old, *(accepted.figure(name)[place] for accepted in before.accepted)]
            for place, (model, old) in enumerate(
                zip(calibrated.models, getattr(calibrated, name).tolist(), strict=True)
            )
        ]
        write_csv(path, ["model", *columns], rows)
    guessing = [*calibrated.guessing.tolist(), *(accepted.item.guessing for accepted in before.accepted)]
    write_csv(files.guessing, ["item_id", "guessing"], zip(columns, guessing, strict=True))
    _copy_difficulties(before.folder.path / "difficulty.csv", files.difficulty, columns)
    # Says that the table was fitted to this matrix, which is how abilities are then estimated from both.
    fitted = {
        name: {"file": path.name, "sha256": sha256_of(path)}
        for name, path in files.present().items()
        if name in ("matrix", "trials", "guessing")
    }
    graders = {name: version for name, version in before.config.versions.items() if name != "python"}
    record = record_fields(files.pool, pool, before.config.panel["identities"], graders)
    with atomic_writer(files.difficulty.with_name("diagnostics.json")) as handle:
        outputs = {"difficulty": {"file": files.difficulty.name, "sha256": sha256_of(files.difficulty)}}
        trials = [before.config.n_trials]
        json.dump({"trials_per_cell": trials, "inputs": fitted, "outputs": outputs, **record}, handle)
    unfinished.rename(one.data)


def run_pass(
    one: Pass,
    init_options: Sequence[str],
    run_options: Sequence[str],
    settings: SamplerSettings,
    *,
    earlier: int,
) -> Outcome:
    """Run a pass to its end and recalibrate it; return what it has come to.

    ``earlier`` is how many items the passes before have filled in.

    Raises
    ------
    InputError
        If a command of it ends with an error, and has said why, or ends before the run has.
    """
    with roots(one) as environment:
        if not (one.run / "config.json").exists():
            _call("init", one, init_options, environment)
        if not (one.run / "recalibration.json").exists():
            _call("run", one, run_options, environment)
            if (last := read_starts(RunFolder(one.run).starts)[-1]).ending is None:
                raise InputError(
                    f"{one.run}: its start of {last.time} did not come to an end; the same command goes on from here"
                )
            finish(read_outcome(one.run), ORIGINALS, settings, earlier=earlier)
        return read_outcome(one.run)


def _call(word: str, one: Pass, options: Sequence[str], environment: dict[str, str]) -> None:
    command = [*ended_with_parent(), sys.executable, "-m", f"propose.{word}", one.benchmark, RUN, *options]
    # In a session of its own: an interrupt reaches it once, and is waited for, as it may have servers to stop.
    with subprocess.Popen(command, env=environment, stdout=sys.stderr, start_new_session=True) as process:
        try:
            status = process.wait()
        except KeyboardInterrupt:
            process.terminate()
            process.wait()
            raise
    if status:
        raise InputError(
            f"{one.folder}: `python -m propose.{word}` ended with status {status}, see above; the same command goes on "
            "from here"
        )


def _fresh(one: Pass) -> Path:
    """Return an empty folder that becomes the pass's data when it is whole."""
    unfinished = one.folder / "data.unfinished"
    shutil.rmtree(unfinished, ignore_errors=True)
    unfinished.mkdir(parents=True)
    return unfinished


def _copy_difficulties(source: Path, target: Path, columns: Sequence[str]) -> None:
    """Copy the table of a joint fit, its items named by their positions."""
    with open(source, encoding="utf-8") as handle:
        header, *rows = [line.rstrip("\n").split(",") for line in handle]
    write_csv(target, header, ([column, *row[1:]] for column, row in zip(columns, rows, strict=True)))
