"""What asking costs: our client beside bare loops and the openai package, against a server with a fixed latency.

Three tables. Time and CPU of 2,000 requests at 256 in flight, where the ideal is the latency times the rounds; the same
for one request at a time; and the memory of a whole run (asking, journal, grading) as the requests go by. Every client
runs in a process of its own; CPU is that process's, the server's not included.

Examples:
  python perf/client.py
  python perf/client.py --memory-requests 10000     # a quick look
"""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import json
import math
import os
import platform
import subprocess
import sys
import tempfile
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from importlib.metadata import version
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from irt.command import run

LATENCY = 0.05
CONCURRENCY = 256
MESSAGES = [{"role": "user", "content": "What is the sum of the ends? " * 40}]
BODY = {
    "model": "served",
    "messages": MESSAGES,
    "temperature": 1.0,
    "top_p": 1.0,
    "max_tokens": 4096,
    "seed": 7,
    "n": 1,
}

Ask = Callable[[], Awaitable[Any]]


@contextlib.asynccontextmanager
async def ours(url: str) -> AsyncIterator[Ask]:
    """The client of the rollouts, with what happens to each reply: read, and appended to a journal."""
    from verifier.asking import request_body
    from verifier.client import Endpoint, complete, open_session
    from verifier.journal import open_journal
    from verifier.reply import read_reply
    from verifier.trials import Job, answer_row

    verifier, item = _verifier(url), _item()
    job, endpoint = Job(verifier, item, 1), Endpoint(url)
    with tempfile.TemporaryDirectory() as folder, open_journal(Path(folder, "journal.jsonl")) as append:
        async with open_session() as session:

            async def ask() -> None:
                body = request_body(verifier, item, 7)
                answered = await complete(session, endpoint, body, deadline_seconds=60)
                reply = read_reply(answered.payload)
                append(answer_row(job, 7, reply, attempts=answered.attempts, seconds=answered.seconds))

            yield ask


@contextlib.asynccontextmanager
async def bare_httpx(url: str) -> AsyncIterator[Ask]:
    """A bare loop over httpx2, the successor of httpx that the Hub's and OpenAI's packages use."""
    import httpx2

    limits = httpx2.Limits(max_connections=CONCURRENCY, max_keepalive_connections=CONCURRENCY)
    async with httpx2.AsyncClient(limits=limits, timeout=60) as session:

        async def ask() -> Any:
            return (await session.post(f"{url}/chat/completions", json=BODY)).json()

        yield ask


@contextlib.asynccontextmanager
async def bare_aiohttp(url: str) -> AsyncIterator[Ask]:
    import aiohttp

    async with aiohttp.ClientSession(connector=aiohttp.TCPConnector(limit=0)) as session:

        async def ask() -> Any:
            async with session.post(f"{url}/chat/completions", json=BODY) as response:
                return await response.json()

        yield ask


@contextlib.asynccontextmanager
async def openai_package(url: str) -> AsyncIterator[Ask]:
    import openai

    async with openai.AsyncOpenAI(base_url=url, api_key="none", max_retries=0) as session:
        yield lambda: session.chat.completions.create(**BODY)  # type: ignore[call-overload]


@contextlib.asynccontextmanager
async def openai_on_aiohttp(url: str) -> AsyncIterator[Ask]:
    import httpx2
    import openai

    limits = httpx2.Limits(max_connections=CONCURRENCY, max_keepalive_connections=CONCURRENCY)
    transport = openai.DefaultAioHttpClient(limits=limits)
    async with openai.AsyncOpenAI(
        base_url=url, api_key="none", max_retries=0, http_client=transport
    ) as session:
        yield lambda: session.chat.completions.create(**BODY)  # type: ignore[call-overload]


CLIENTS = {
    "ours": ours,
    "bare httpx2": bare_httpx,
    "bare aiohttp": bare_aiohttp,
    "openai": openai_package,
    "openai on aiohttp": openai_on_aiohttp,
}


async def time_requests(client: str, url: str, requests: int, concurrency: int) -> dict[str, float]:
    """Return seconds and CPU seconds of many requests, connections included and imports not."""
    async with CLIENTS[client](url) as ask:
        await ask()
        remaining = iter(range(requests))

        async def worker() -> None:
            for _ in remaining:
                await ask()

        started, cpu = time.perf_counter(), time.process_time()
        await asyncio.gather(*(worker() for _ in range(concurrency)))
        return {"seconds": time.perf_counter() - started, "cpu": time.process_time() - cpu}


async def memory_of_a_run(url: str, requests: int) -> list[tuple[int, float]]:
    """Ask, write and grade; return (answers, resident MB) ten times on the way."""
    from irt.settings import available_cpus
    from verifier.asking import ask_and_grade
    from verifier.graders.grader_pool import GraderPool
    from verifier.journal import open_journal
    from verifier.panel import Panel
    from verifier.trials import Job

    verifier, item, seen = _verifier(url), _item(), []
    step = max(1, requests // 10)

    def note(answers: int) -> None:
        if answers % step == 0:
            pages = int(Path("/proc/self/statm").read_text().split()[1])
            seen.append((answers, pages * os.sysconf("SC_PAGE_SIZE") / 1e6))

    jobs = [Job(verifier, item, trial) for trial in range(requests)]
    with (
        tempfile.TemporaryDirectory() as folder,
        open_journal(Path(folder, "journal.jsonl")) as append,
        GraderPool({"choice"}, workers=available_cpus()) as pool,
    ):
        await ask_and_grade(jobs, Panel((verifier,), CONCURRENCY, 60), append, pool, note)
    return seen


def _verifier(url: str) -> Any:
    from verifier.panel import VLLM_SAMPLING, Verifier

    sampling = tuple((key, 1.0) for key in VLLM_SAMPLING)
    return Verifier("served", "served", "", "none", "vllm", 4096, sampling, url, 1, None, None, ())


def _item() -> Any:
    from verifier.items import Item

    return Item("one", MESSAGES[0]["content"], "A", "choice", choices=("4", "5", "6"))


@contextlib.contextmanager
def server(latency: float) -> Iterator[str]:
    """Run the server in its own process and yield its URL."""
    command = [sys.executable, str(Path(__file__).with_name("answering_server.py")), str(latency)]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
    try:
        assert process.stdout is not None
        yield process.stdout.readline().strip()
    finally:
        process.kill()
        process.wait()


def in_own_process(*words: object) -> Any:
    """Run one measurement of this file in a fresh process and return what it prints as JSON."""
    command = [sys.executable, __file__, "--measure", *map(str, words)]
    return json.loads(subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True).stdout)


def measure(what: str, url: str, requests: int, concurrency: int) -> Any:
    """Make one measurement in this process."""
    if what == "memory":
        return asyncio.run(memory_of_a_run(url, requests))
    return asyncio.run(time_requests(what, url, requests, concurrency))


def print_times(requests: int, concurrency: int, repeats: int) -> None:
    """Print one table, each client at its best of several runs, the clients taking turns."""
    ideal = math.ceil(requests / concurrency) * LATENCY
    print(
        f"\n{requests:,} requests, {concurrency} in flight, latency {LATENCY * 1000:.0f} ms: ideally {ideal:.2f} s"
    )
    print(f"{'client':20}{'seconds':>9}{'/ ideal':>9}{'CPU ms/request':>16}{'/ bare httpx2':>15}")
    with server(LATENCY) as url:
        runs: dict[str, list[dict[str, float]]] = {client: [] for client in CLIENTS}
        for _ in range(repeats):
            for client in CLIENTS:
                runs[client].append(in_own_process(client, url, requests, concurrency))
    best = {
        client: {key: min(run[key] for run in found) for key in found[0]} for client, found in runs.items()
    }
    for client, cost in best.items():
        per_request = cost["cpu"] / requests * 1000
        ratio = cost["cpu"] / best["bare httpx2"]["cpu"]
        print(
            f"{client:20}{cost['seconds']:9.2f}{cost['seconds'] / ideal:9.2f}{per_request:16.3f}{ratio:15.2f}"
        )


def main() -> int:
    """Measure and print."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--repeats", type=int, default=5, help="runs of each client (default: %(default)s)")
    parser.add_argument(
        "--memory-requests", type=int, default=100_000, help="requests of the third table (%(default)s)"
    )
    parser.add_argument("--measure", nargs=4, help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.measure:
        what, url, requests, concurrency = arguments.measure
        print(json.dumps(measure(what, url, int(requests), int(concurrency))))
        return 0

    versions = ", ".join(f"{package} {version(package)}" for package in ("aiohttp", "httpx2", "openai"))
    print(f"{os.cpu_count()} processors, Python {platform.python_version()}, {versions}")
    print_times(2000, CONCURRENCY, arguments.repeats)
    print_times(100, 1, arguments.repeats)

    print("\nAsking, journal and grading; resident memory of the client's process")
    print(f"{'answers':>9}{'MB':>9}")
    with server(0.0) as url:
        for answers, megabytes in in_own_process("memory", url, arguments.memory_requests, CONCURRENCY):
            print(f"{answers:9,}{megabytes:9.1f}")
    return 0


if __name__ == "__main__":
    run(main)
