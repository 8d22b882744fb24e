"""Ask a whole panel: the servers that are there, and meanwhile those that are started here, wave by wave."""

from __future__ import annotations

import asyncio
import resource
import sys
from collections.abc import Collection, Sequence
from dataclasses import replace
from pathlib import Path

from irt.io import InputError
from irt.progress import progress
from verifier.asking import Update, ask_and_grade, check_servers
from verifier.failures import first_of
from verifier.graders.grader_pool import GraderPool
from verifier.journal import Append
from verifier.panel import Panel, Verifier
from verifier.serving import ServerFailed, Wave, free_gpus, ready_seconds, served, vllm_command, waves
from verifier.trials import Job

OTHER_FILES = 200  # journal, graders, logs, libraries


def ask_panel(
    panel: Panel,
    jobs: Sequence[Job],
    out: Path,
    append: Append,
    pool: GraderPool,
    answered: Collection[str] = (),
) -> dict[str, str]:
    """Ask the jobs and grade the answers; ``append`` writes the rows, logs of servers go to ``out``/logs.

    ``answered`` names the verifiers that have answered before: what one of them refuses, it refuses for that question.

    Returns
    -------
    Why each verifier that was stopped was stopped, by name.

    Raises
    ------
    InputError
        Before the first question: if a server is not there or does not have its model, or there are no GPUs or no
        vLLM for a verifier that has no base_url.
    """
    verifiers = list({job.verifier.name: job.verifier for job in jobs}.values())
    here = [verifier for verifier in verifiers if verifier.base_url is None]
    planned: list[Wave] = []
    if here:
        vllm_command()
        ready_seconds()
        planned = waves(here, free_gpus())
    for note in asyncio.run(check_servers(verifiers)):
        print(f"note: {note}", file=sys.stderr)
    allow_connections(panel.concurrency * len({verifier.base_url or verifier.name for verifier in verifiers}))
    with progress("answers", len(jobs)) as show:
        asking = _ask_everywhere(
            panel, jobs, planned, out, append, pool, answered, lambda ended: show(ended, "")
        )
        try:
            return asyncio.run(asking)
        except ExceptionGroup as group:
            raise first_of(group) from group


def allow_connections(connections: int) -> None:
    """Raise the limit of open files as far as the connections need and the system lets.

    Raises
    ------
    InputError
        If it does not let that far.
    """
    wanted = connections + OTHER_FILES
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if soft == resource.RLIM_INFINITY or soft >= wanted:
        return
    if hard != resource.RLIM_INFINITY and hard < wanted:
        raise InputError(
            f"{connections} connections at a time need {wanted} open files, and the system allows {hard}; "
            "raise `ulimit -n`, or lower concurrency"
        )
    resource.setrlimit(resource.RLIMIT_NOFILE, (wanted, hard))


async def _ask_everywhere(
    panel: Panel,
    jobs: Sequence[Job],
    planned: Sequence[Wave],
    out: Path,
    append: Append,
    pool: GraderPool,
    answered: Collection[str],
    update: Update,
) -> dict[str, str]:
    answers: dict[str, int] = {}

    async def ask_part(name: str, part: Sequence[Job]) -> dict[str, str]:
        def count(so_far: int) -> None:
            answers[name] = so_far
            update(sum(answers.values()))

        return await ask_and_grade(part, panel, append, pool, count, answered)

    async def serve_and_ask(verifier: Verifier, gpus: Sequence[int]) -> dict[str, str]:
        log = out / "logs" / f"{verifier.name.replace('/', '_')}.log"
        try:
            async with served(verifier, gpus, log) as ready:
                part = [replace(job, verifier=ready) for job in jobs if job.verifier == verifier]
                return await ask_part(verifier.name, part)
        except ServerFailed as error:
            return {verifier.name: str(error)}

    async def in_waves() -> dict[str, str]:
        stopped: dict[str, str] = {}
        for wave in planned:
            for one in await asyncio.gather(*(serve_and_ask(verifier, gpus) for verifier, gpus in wave)):
                stopped |= one
        return stopped

    there = [job for job in jobs if job.verifier.base_url is not None]
    results = await asyncio.gather(ask_part("there", there), in_waves())
    return results[0] | results[1]
