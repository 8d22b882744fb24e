"""Ask many questions of many servers at once, and grade the answers as they come."""

from __future__ import annotations

import asyncio
import hashlib
import sys
import time
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any

import aiohttp

from irt.io import InputError
from verifier.client import (
    Endpoint,
    RequestFailed,
    complete,
    endpoint_of,
    open_session,
    served_models,
)
from verifier.failures import Standing
from verifier.graders.grader_pool import GraderPool
from verifier.items import Item
from verifier.journal import Append
from verifier.panel import Panel, Verifier
from verifier.prompts import messages
from verifier.reply import NotACompletion, final_text, read_reply
from verifier.trials import Job, answer_row, error_row, verdict_row

# Answers that wait for a grader. When they are so many, the servers wait too, and memory stays flat.
WAITING_ANSWERS = 1000

SECONDS_BETWEEN_NOTES = 30.0

Update = Callable[[int], None]


@dataclass
class Tally:
    """What has happened so far: how it went with each verifier, by name, and how many requests have ended."""

    standings: dict[str, Standing]
    ended: int = 0
    trouble_told: float = -SECONDS_BETWEEN_NOTES


@dataclass(frozen=True)
class Asking:
    """What all questions of one run share."""

    session: aiohttp.ClientSession
    deadline_seconds: float
    concurrency: int
    append: Append
    update: Update
    tally: Tally
    to_grade: asyncio.Queue[tuple[Job, str]]


def request_body(verifier: Verifier, item: Item, seed: int) -> dict[str, Any]:
    """Return the JSON of one request: a single sample, with every sampling parameter stated."""
    limit = "max_tokens"
    body: dict[str, Any] = {
        "model": verifier.model,
        "messages": messages(item, verifier.system_prompt),
        "n": 1,
        "seed": seed,
        **dict(verifier.sampling),
    }
    if verifier.thinking in ("on", "off"):
        body["chat_template_kwargs"] = {"enable_thinking": verifier.thinking == "on"}
    elif verifier.thinking in ("low", "medium", "high"):
        body["reasoning_effort"] = verifier.thinking
        if verifier.api == "hosted":
            limit = "max_completion_tokens"  # OpenAI's reasoning models refuse max_tokens
    return body | {limit: verifier.max_tokens}


def seed_of(job: Job) -> int:
    """Return the seed of a job, 31 bits of a hash.

    Hashed, because neighbouring seeds can overlap: a server makes the samples of one request from seed, seed + 1, ...
    """
    digest = hashlib.sha256("\0".join(map(str, job.key)).encode()).digest()
    return int.from_bytes(digest[:4], "big") >> 1


async def check_servers(verifiers: Iterable[Verifier]) -> list[str]:
    """Find out before the first question whether every verifier with a base_url is served there.

    Returns a note for each server that has no list of models and could not be asked.

    Raises
    ------
    InputError
        If a server cannot be reached, does not have the model, or has too short a context for ``max_tokens``.
    """
    by_endpoint: dict[Endpoint, list[Verifier]] = {}
    for verifier in verifiers:
        if verifier.base_url is not None:
            by_endpoint.setdefault(endpoint_of(verifier.base_url, verifier.api_key_variable), []).append(
                verifier
            )
    notes = []
    async with open_session() as session:
        for endpoint, wanted in by_endpoint.items():
            models = await served_models(session, endpoint)
            if models is None:
                notes.append(f"{endpoint.base_url} has no list of models: model names are not checked")
                continue
            for verifier in wanted:
                check_served(verifier, models, endpoint.base_url)
    return notes


def check_served(verifier: Verifier, models: dict[str, int | None], base_url: str) -> None:
    """Hold one verifier to the models that its server has.

    Raises
    ------
    InputError
        If the model is not among them, or its context is too short.
    """
    if verifier.model not in models:
        raise InputError(
            f"{verifier.name}: {base_url} does not serve {verifier.model!r}; "
            f"it has {', '.join(sorted(models)) or 'none'}"
        )
    context = models[verifier.model]
    if context is not None and verifier.max_tokens >= context:
        raise InputError(
            f"{verifier.name}: max_tokens {verifier.max_tokens} leaves no room for the question in the "
            f"{context} tokens of context at {base_url}; lower max_tokens or serve it with a longer context"
        )


async def ask_and_grade(
    jobs: Iterable[Job],
    panel: Panel,
    append: Append,
    pool: GraderPool,
    update: Update,
    answered: Collection[str] = (),
) -> dict[str, str]:
    """Ask every job of verifiers that have a base_url, and grade the answers.

    ``append`` writes a row to the journal; ``update`` is called with the number of requests that have
    ended so far; ``answered`` names the verifiers that have answered before.

    Returns
    -------
    Why each verifier that was stopped was stopped, by name.
    """
    by_endpoint: dict[Endpoint, list[Job]] = {}
    standings: dict[str, Standing] = {}
    for job in jobs:
        standings.setdefault(job.verifier.name, Standing(heard=job.verifier.name in answered))
        assert job.verifier.base_url is not None
        by_endpoint.setdefault(endpoint_of(job.verifier.base_url, job.verifier.api_key_variable), []).append(
            job
        )
    async with open_session() as session:
        asking = Asking(
            session=session,
            deadline_seconds=panel.deadline_seconds,
            concurrency=panel.concurrency,
            append=append,
            update=update,
            tally=Tally(standings),
            to_grade=asyncio.Queue(WAITING_ANSWERS),
        )
        with ThreadPoolExecutor(pool.workers) as threads:
            async with asyncio.TaskGroup() as tasks:
                graders = [tasks.create_task(_grade(asking, pool, threads)) for _ in range(pool.workers)]
                async with asyncio.TaskGroup() as servers:
                    for endpoint, its_jobs in by_endpoint.items():
                        remaining = iter(its_jobs)  # shared: each worker takes the next one
                        for _ in range(min(asking.concurrency, len(its_jobs))):
                            servers.create_task(_ask(asking, endpoint, remaining))
                await asking.to_grade.join()
                for grader in graders:
                    grader.cancel()
    stopped = {name: reason for name, standing in standings.items() if (reason := standing.end())}
    _tell_failures(standings)
    return stopped


async def _ask(asking: Asking, endpoint: Endpoint, remaining: Iterator[Job]) -> None:
    for job in remaining:
        standing = asking.tally.standings[job.verifier.name]
        if standing.stopped:
            continue
        seed = seed_of(job)
        body = request_body(job.verifier, job.item, seed)
        try:
            answered = await complete(
                asking.session, endpoint, body, deadline_seconds=asking.deadline_seconds
            )
            reply = read_reply(answered.payload)
        except (RequestFailed, NotACompletion) as error:
            failure = error if isinstance(error, RequestFailed) else RequestFailed(str(error), 1)
            asking.append(error_row(job, seed, str(failure), failure.attempts))
            standing.note_failure(job.item.id, failure)
            _note_end(asking)
            continue
        row = answer_row(job, seed, reply, attempts=answered.attempts, seconds=answered.seconds)
        asking.append(row)
        standing.note_answer()
        _note_end(asking)
        if reply.outcome == "ok":
            await asking.to_grade.put((job, reply.text))


def _note_end(asking: Asking) -> None:
    asking.tally.ended += 1
    asking.update(asking.tally.ended)


def _tell_failures(standings: Mapping[str, Standing]) -> None:
    """Say why requests came to nothing, where their verifier was not stopped for it."""
    for name, standing in standings.items():
        if standing.reasons and not standing.stopped:
            [(reason, _)] = standing.reasons.most_common(1)
            print(
                f"{name}: {standing.reasons.total()} requests came to nothing, mostly: {reason}",
                file=sys.stderr,
            )


def _tell_trouble(tally: Tally, endpoint: Endpoint, reason: str) -> None:
    now = time.monotonic()
    if now - tally.trouble_told >= SECONDS_BETWEEN_NOTES:
        tally.trouble_told = now
        print(f"note: {endpoint.base_url}: {reason}; trying again", file=sys.stderr)


async def _grade(asking: Asking, pool: GraderPool, threads: ThreadPoolExecutor) -> None:
    while True:
        job, text = await asking.to_grade.get()
        verdict = await asyncio.get_running_loop().run_in_executor(
            threads, pool.grade, job.item, final_text(text)
        )
        asking.append(verdict_row(job, verdict))
        asking.to_grade.task_done()
