"""BenchFill in one process: a simulated benchmark, its calibration, and the two ports of the loop without a server.

The rewriter and the examinees are those of verifier.simulated, their texts are graded by the graders of the panel.
"""

from __future__ import annotations

import json
import random
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from irt.arrays import FloatArray, IntArray
from irt.io import sha256_of, write_csv
from irt.rasch import fit_rasch
from irt.settings import SamplerSettings
from propose.calibrated import Calibrated, files_of, read_calibrated
from propose.candidate import RewriterJob
from propose.config import Config, write_config
from propose.loop import Run, run_rounds
from propose.run_folder import RunFolder, RunState
from propose.run_journals import open_journals
from propose.settings import Settings
from verifier.ability_posterior import Calibration, fit_ability
from verifier.asking import seed_of
from verifier.graders.grading import grade
from verifier.items import Item, write_items
from verifier.journal import Append
from verifier.panel import Verifier
from verifier.prompts import messages
from verifier.reply import Reply
from verifier.simulated.examinees import Answer, answer, is_right
from verifier.simulated.families import ABILITIES, LOWEST, REWRITER, make_items, true_difficulty
from verifier.simulated.rewriter import RewriterHabits, rewrite
from verifier.trials import Job, answer_row, verdict_row

WRONG_KEY, DUPLICATE = "wrong key", "duplicate"
THEN = "2026-01-01T00:00:00+00:00"
QUICK = SamplerSettings(chains=2, tune=200, draws=300, cores=1)


def verifiers() -> tuple[Verifier, ...]:
    """Return the twelve examinees as verifiers of a panel."""
    sampling = (("temperature", 1.0),)
    return tuple(
        Verifier(name, name, "", "none", "vllm", 4096, sampling, None, 1, None, None, ())
        for name in ABILITIES
    )


def pool_with_gap(
    count: int, gap: tuple[float, float], *, seed: int, families: Sequence[str] | None = None
) -> list[Item]:
    """Return simulated items with difficulties from Normal(0, 1.2), cut at ±2.4, none of them in the gap."""
    rng = random.Random(seed)
    low, high = gap

    def difficulty() -> float:
        while abs(b := rng.gauss(0, 1.2)) > 2.4 or low < b < high:
            pass
        return max(b, LOWEST)

    # The edges are there, so that the gap is as wide as it is said to be.
    difficulties = [low, high, *(difficulty() for _ in range(count - 2))]
    rng.shuffle(difficulties)
    return make_items(count, seed=seed, families=families, difficulties=difficulties)


def calibrate(items: Sequence[Item], n_trials: int, seed: int) -> Calibrated:
    """Let the panel answer the pool, and fit."""
    guessing = np.array([item.guessing for item in items])
    correct = answers_of(items, n_trials, seed)
    trials = np.full_like(correct, n_trials)
    fit = fit_rasch(correct, trials, guessing, settings=QUICK)
    table = Calibration(fit.difficulty.mean, fit.difficulty.sd)
    abilities = fit_ability(correct, trials, guessing, table)
    return Calibrated(
        tuple(items), table.mean, table.sd, tuple(ABILITIES), correct, trials, guessing, abilities, n_trials
    )


def answers_of(items: Sequence[Item], n_trials: int, seed: int) -> IntArray:
    """Return how many of its answers to each item each examinee has right, (12, N)."""
    return np.array(
        [
            [
                sum(is_right(model, item.question, (seed, trial)) for trial in range(n_trials))
                for item in items
            ]
            for model in ABILITIES
        ]
    )


def truth_of(calibrated: Calibrated) -> FloatArray:
    """Return the true difficulties of the pool, (N,), on the simulator's scale."""
    return np.array([true_difficulty(item.question) for item in calibrated.items])


def panel_rows(job: Job) -> list[dict[str, Any]]:
    """Return the rows of one trial: the answer, and its verdict."""
    seed = seed_of(job)
    said = answer(job.verifier.name, messages(job.item)[0]["content"], seed)
    rows = [
        answer_row(job, seed, _reply(said, job.verifier.name), attempts=1, seconds=0.0),
        verdict_row(job, grade(job.item, said.text)),
    ]
    return [row | {"time": THEN} for row in rows]


def ask_panel(jobs: Sequence[Job], append: Append) -> dict[str, str]:
    """Answer and grade every job at once; the port of the loop."""
    for job in jobs:
        for row in panel_rows(job):
            append(row)
    return {}


def rewriter_row(job: RewriterJob, said: Answer) -> dict[str, Any]:
    """Return the row of what the rewriter said; a solution is graded."""
    reply = _reply(said, REWRITER)
    row = dict(job.head) | {
        "reply": reply.text,
        "reasoning": reply.reasoning,
        "finish_reason": reply.finish_reason,
        "prompt_tokens": reply.prompt_tokens,
        "completion_tokens": reply.completion_tokens,
        "seconds": 0.0,
        "attempts": 1,
        "seed": job.seed,
        "served_model": reply.served_model,
        "error": None,
        "time": THEN,
    }
    if job.item is not None:
        verdict = grade(job.item, said.text)
        row |= {"outcome": verdict.outcome, "correct": verdict.correct, "answer": verdict.answer}
    return row


@dataclass(frozen=True)
class SimulatedRewriter:
    """The rewriter as a port of the loop.

    Attributes
    ----------
    faults
        The candidates that were given a fault, by id: ``wrong key`` or ``duplicate``.
    """

    habits: RewriterHabits = RewriterHabits()
    wrong_key_rate: float = 0.0
    duplicate_rate: float = 0.0
    faults: dict[str, str] = field(default_factory=dict)

    def __call__(self, jobs: Sequence[RewriterJob], append: Append) -> None:
        """Answer every job."""
        for job in jobs:
            prompt = job.messages[-1]["content"]
            said = (
                rewrite(prompt, job.seed, self._habits(job))
                if job.item is None
                else answer(REWRITER, prompt, job.seed)
            )
            append(rewriter_row(job, said))

    def _habits(self, job: RewriterJob) -> RewriterHabits:
        fate = random.Random(f"{job.id} {job.seed}").random()
        if fate < self.wrong_key_rate:
            self.faults[job.id] = WRONG_KEY
            return RewriterHabits(self.habits.bias, self.habits.sd, wrong_key_rate=1.0)
        if fate < self.wrong_key_rate + self.duplicate_rate:
            self.faults[job.id] = DUPLICATE
            return RewriterHabits(self.habits.bias, self.habits.sd, duplicate_rate=1.0)
        return self.habits


def _reply(said: Answer, model: str) -> Reply:
    tokens = len(said.text.split())
    return Reply("ok", said.text, said.thinking, "stop", None, tokens, model)


def nowhere(row: dict[str, Any]) -> None:
    """Write a row to no journal: what the state holds is enough."""


# A run in a folder ------------------------------------------------------------------------------------------------


def write_benchmark(data: Path, name: str, items: Sequence[Item], n_trials: int, seed: int) -> Calibrated:
    """Write a pool, its matrix and a calibration table that is right but for an error of 0.2, and read them again."""
    files = files_of(data, name)
    files.pool.parent.mkdir(parents=True)
    files.difficulty.parent.mkdir(parents=True)
    write_items(files.pool, items)
    columns = [f"q{position}" for position in range(len(items))]
    correct = answers_of(items, n_trials, seed)
    write_csv(
        files.matrix,
        ["model", *columns],
        ([model, *row] for model, row in zip(ABILITIES, correct.tolist(), strict=True)),
    )
    rng = random.Random(seed)
    write_csv(
        files.difficulty,
        ["item", "b_mean", "b_sd"],
        (
            [column, f"{true_difficulty(item.question) + rng.gauss(0, 0.2):.6f}", "0.2"]
            for column, item in zip(columns, items, strict=True)
        ),
    )
    files.difficulty.with_name("diagnostics.json").write_text(json.dumps({"trials_per_cell": [n_trials]}))
    return read_calibrated(files)


def run_in_folder(folder: Path, data: Path, settings: Settings, n_trials: int) -> None:
    """Make a run of a benchmark of ``write_benchmark``, and let it go on to its end."""
    files = files_of(data, settings.benchmark)
    panel = verifiers()
    config = Config(
        settings=settings,
        n_trials=n_trials,
        inputs={
            what: {"file": path.name, "sha256": sha256_of(path)} for what, path in files.present().items()
        },
        panel={"file": "simulated", "identities": {one.name: one.identity for one in panel}},
        rewriter={"file": "simulated", "identities": {REWRITER: "0"}},
        versions={},
        created=THEN,
        simulated=True,
    )
    write_config(RunFolder(folder), config)
    with open_journals(RunFolder(folder)) as journals:
        run_rounds(
            Run(
                settings=settings,
                calibrated=read_calibrated(files, n_trials),
                state=RunState(),
                journals=journals,
                verifiers=panel,
                rewriter_max_tokens=1000,
                ask_rewriter=SimulatedRewriter(wrong_key_rate=0.2, duplicate_rate=0.2),
                ask_panel=ask_panel,
                say=lambda line: None,
            )
        )
