"""Asks the rewriter: for new items, and for its own solutions of them. Each reply is a row the moment it is there.

A rewriter without a base_url is served on this machine from its first question until ``release``, which makes its GPUs
free for the panel, and again from the next question on.
"""

from __future__ import annotations

import asyncio
import contextlib
import datetime
import sys
from collections.abc import AsyncIterator, Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path
from types import TracebackType
from typing import Any

import aiohttp

from irt.io import InputError
from irt.progress import progress
from propose.candidate import RewriterJob
from propose.rewriter import Rewriter
from verifier.ask_panel import allow_connections
from verifier.asking import check_servers, request_body
from verifier.client import Endpoint, RequestFailed, complete, endpoint_of, open_session
from verifier.failures import Standing, first_of
from verifier.graders.grader_pool import GraderPool
from verifier.graders.verdict import Verdict
from verifier.items import Item
from verifier.journal import Append
from verifier.panel import Verifier
from verifier.reply import NotACompletion, Reply, final_text, read_reply
from verifier.serving import ServerFailed, free_gpus, ready_seconds, served, vllm_command, waves

_ANY_ITEM = Item("", "-", None, "instructions")


class RewriterPort:
    """Asks one rewriter; use it in a ``with`` block where it may have to be served here.

    Parameters
    ----------
    rewriter
        Who is asked.
    pool
        Grades the solutions.
    logs
        The folder for the log of a server that is started here.
    answered
        Whether the rewriter has answered before: then what it refuses, it refuses for that question alone.
    """

    def __init__(
        self, rewriter: Rewriter, pool: GraderPool, logs: Path = Path("logs"), *, answered: bool = False
    ) -> None:
        self._rewriter = rewriter
        self._pool = pool
        self._logs = logs
        self._answered = answered
        self._runner: asyncio.Runner | None = None
        self._serving: contextlib.AbstractAsyncContextManager[Verifier] | None = None
        self._ready: Verifier | None = None

    def __enter__(self) -> RewriterPort:
        """Start nothing yet."""
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Stop the server, if one was started here."""
        self.release()

    def __call__(self, jobs: Sequence[RewriterJob], append: Append) -> str | None:
        """Ask every job and append its row: its head, and the fields of a reply as in propose.candidate.

        A request that came to nothing is a row with its ``error``.

        Returns
        -------
        Why the rewriter was stopped, and the rest not asked: the rows with an error then say nothing about their jobs.
        None if every job was asked.

        Raises
        ------
        InputError
            Before the first question: if the rewriter is not served where it should be, or cannot be served here. If
            ``append`` cannot write.
        """
        if not jobs:
            return None
        runner = self._runner = self._runner or asyncio.Runner()
        model = self._ready or self._start(runner)
        standing = Standing(heard=self._answered)
        with progress("rewriter", len(jobs)) as show:
            asking = _Asking(
                self._rewriter, model, self._pool, append, lambda ended: show(ended, ""), standing
            )
            try:
                runner.run(asking.all(jobs))
            except ExceptionGroup as group:
                raise first_of(group) from group
        self._answered = standing.heard
        return standing.end()

    def release(self) -> None:
        """Stop the server, if one was started here, and wait until its GPUs are free."""
        runner, serving = self._runner, self._serving
        self._runner = self._serving = self._ready = None
        if runner is None:
            return
        try:
            if serving is not None:
                runner.run(_leave(serving))
        finally:
            runner.close()

    def _start(self, runner: asyncio.Runner) -> Verifier:
        model = self._rewriter.model
        allow_connections(self._rewriter.concurrency)
        if model.base_url is not None:
            for note in runner.run(check_servers([model])):
                print(f"note: {note}", file=sys.stderr)
            self._ready = model
            return model
        vllm_command()
        ready_seconds()
        (_, gpus), *_ = waves([model], free_gpus())[0]
        print(f"serving {model.name} on {len(gpus)} GPUs", file=sys.stderr)
        serving = served(model, gpus, self._logs / f"{model.name.replace('/', '_')}.log")
        try:
            self._ready = runner.run(_enter(serving))
        except ServerFailed as error:
            raise InputError(str(error)) from error
        self._serving = serving
        return self._ready


async def _enter(serving: contextlib.AbstractAsyncContextManager[Verifier]) -> Verifier:
    return await serving.__aenter__()


async def _leave(serving: contextlib.AbstractAsyncContextManager[Verifier]) -> None:
    await serving.__aexit__(None, None, None)


@dataclass
class _Asking:
    """One call: what all its requests share, and how they went."""

    rewriter: Rewriter
    model: Verifier  # the rewriter's, with its base_url
    pool: GraderPool
    append: Append
    update: Callable[[int], None]
    standing: Standing
    ended: int = 0
    threads: ThreadPoolExecutor = field(init=False)

    async def all(self, jobs: Sequence[RewriterJob]) -> None:
        assert self.model.base_url is not None
        endpoint = endpoint_of(self.model.base_url, self.model.api_key_variable)
        remaining = iter(jobs)  # shared: each worker takes the next one
        async with self._open() as session, asyncio.TaskGroup() as workers:
            for _ in range(min(self.rewriter.concurrency, len(jobs))):
                workers.create_task(self._work(session, endpoint, remaining))

    @contextlib.asynccontextmanager
    async def _open(self) -> AsyncIterator[aiohttp.ClientSession]:
        with ThreadPoolExecutor(self.pool.workers) as self.threads:
            async with open_session() as session:
                yield session

    async def _work(
        self, session: aiohttp.ClientSession, endpoint: Endpoint, remaining: Iterator[RewriterJob]
    ) -> None:
        for job in remaining:
            if self.standing.stopped:
                return
            body = request_body(self.model, _ANY_ITEM, job.seed) | {"messages": _messages(self.model, job)}
            try:
                answered = await complete(
                    session, endpoint, body, deadline_seconds=self.rewriter.deadline_seconds
                )
                reply = read_reply(answered.payload)
            except (RequestFailed, NotACompletion) as error:
                failure = error if isinstance(error, RequestFailed) else RequestFailed(str(error), 1)
                self.standing.note_failure(job.id, failure)
                self._end(_error_row(job, failure))
                continue
            self.standing.note_answer()
            row = _row(job, reply, attempts=answered.attempts, seconds=answered.seconds)
            if job.item is not None:
                row |= await self._judged(job.item, reply)
            self._end(row)

    async def _judged(self, item: Item, reply: Reply) -> dict[str, Any]:
        """Return the grader's verdict on a solution, as the fields of its row."""
        if reply.outcome != "ok":
            return {"outcome": reply.outcome, "correct": False, "answer": None}
        verdict: Verdict = await asyncio.get_running_loop().run_in_executor(
            self.threads, self.pool.grade, item, final_text(reply.text)
        )
        return {"outcome": verdict.outcome, "correct": verdict.correct, "answer": verdict.answer}

    def _end(self, row: dict[str, Any]) -> None:
        self.append(row)
        self.ended += 1
        self.update(self.ended)


def _messages(model: Verifier, job: RewriterJob) -> list[dict[str, str]]:
    system = [{"role": "system", "content": model.system_prompt}] if model.system_prompt else []
    return [*system, *(dict(message) for message in job.messages)]


def _row(job: RewriterJob, reply: Reply, *, attempts: int, seconds: float) -> dict[str, Any]:
    return {
        **job.head,
        "reply": reply.text,
        "reasoning": reply.reasoning,
        "finish_reason": reply.finish_reason,
        "prompt_tokens": reply.prompt_tokens,
        "completion_tokens": reply.completion_tokens,
        "seconds": round(seconds, 4),
        "attempts": attempts,
        "seed": job.seed,
        "served_model": reply.served_model,
        "error": None,
        "time": datetime.datetime.now(datetime.UTC).isoformat(timespec="seconds"),
    }


def _error_row(job: RewriterJob, failure: RequestFailed) -> dict[str, Any]:
    empty = Reply("error", "", None, None, None, None, None)
    row = _row(job, empty, attempts=failure.attempts, seconds=0.0) | {"error": str(failure)}
    return row if job.item is None else row | {"outcome": "error", "correct": None, "answer": None}
