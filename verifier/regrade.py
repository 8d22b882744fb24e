"""Grade stored answers: those that a kill left without a verdict, or all of them again."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor

from irt.io import PathLike
from verifier.graders.grader_pool import GraderPool
from verifier.graders.verdict import Verdict
from verifier.journal import Append
from verifier.reply import final_text
from verifier.trials import Job, Key, Trial, read_texts, verdict_row

NOT_JUDGED = ("ungraded", "grader_error", "grader_timeout")
AT_A_TIME = 1000  # texts in memory


def regrade_jobs(jobs: Iterable[Job], trials: Mapping[Key, Trial]) -> dict[Key, Job]:
    """Return the jobs with an answer and no judgement: a kill came first, or a grader failed or was too slow."""
    return {job.key: job for job in jobs if job.key in trials and trials[job.key].outcome in NOT_JUDGED}


def grade_again(
    journal: PathLike, jobs: Mapping[Key, Job], trials: Mapping[Key, Trial], append: Append, pool: GraderPool
) -> list[str]:
    """Grade the stored texts of these jobs and append the verdicts.

    Returns
    -------
    One line for each verdict that differs from the one that counted before.
    """
    changed = []
    # Of several answers to one job (there are none, unless somebody joined journals) the last one counts.
    for batch in _batches(read_texts(journal, jobs)):
        with ThreadPoolExecutor(pool.workers) as threads:
            verdicts = threads.map(lambda pair: pool.grade(pair[0].item, final_text(pair[1])), batch)
            for (job, _), verdict in zip(batch, verdicts, strict=True):
                append(verdict_row(job, verdict))
                if line := _change(job, trials[job.key], verdict):
                    changed.append(line)
    return changed


def _batches(texts: Iterator[tuple[Job, str]]) -> Iterator[list[tuple[Job, str]]]:
    batch = []
    for pair in texts:
        batch.append(pair)
        if len(batch) == AT_A_TIME:
            yield batch
            batch = []
    if batch:
        yield batch


def _change(job: Job, before: Trial, after: Verdict) -> str | None:
    if before.outcome == "ungraded" or (before.outcome, before.correct) == (after.outcome, after.correct):
        return None
    verifier, item, trial = job.key
    words = {True: "right", False: "wrong", None: "not judged"}
    return (
        f"{verifier} {item} trial {trial}: {before.outcome}, {words[before.correct]} -> "
        f"{after.outcome}, {words[after.correct]} (answer {after.answer!r}, key {job.item.key!r})"
    )
