"""The simulated panel and rewriter on loopback in a thread, which can refuse what a test names, or die."""

from __future__ import annotations

import asyncio
import contextlib
import threading
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field

from aiohttp import web
from aiohttp.typedefs import Handler

from verifier.simulated.faults import Faults
from verifier.simulated.rewriter import RewriterHabits
from verifier.simulated.server import make_app

Refuses = Callable[[int], bool]  # by a request's seed, which tells the job


@dataclass
class Served:
    """A server: where it is, and the seeds of the completions that it was asked for, in their order."""

    url: str = ""
    asked: list[int] = field(default_factory=list)


@contextlib.contextmanager
def refusing_server(refuses: Refuses, *, dies_after: int | None = None) -> Iterator[Served]:
    """Serve until the block ends, or for good after so many completions."""
    served, started, loop = Served(), threading.Event(), asyncio.new_event_loop()
    over = asyncio.Event()

    @web.middleware
    async def gate(request: web.Request, handler: Handler) -> web.StreamResponse:
        if request.method == "GET":
            return await handler(request)
        seed = (await request.json())["seed"]
        served.asked.append(seed)
        if dies_after is not None and len(served.asked) > dies_after:
            over.set()
            assert request.transport is not None
            request.transport.abort()
            raise asyncio.CancelledError
        if refuses(seed):
            return web.json_response({"error": {"message": "this is too long"}}, status=400)
        return await handler(request)

    async def serve() -> None:
        app = make_app(Faults(), RewriterHabits(bias=0.3))
        app.middlewares.insert(0, gate)
        runner = web.AppRunner(app, handler_cancellation=True, shutdown_timeout=0)
        await runner.setup()
        site = web.TCPSite(runner, "127.0.0.1", 0)
        await site.start()
        served.url = f"http://127.0.0.1:{runner.addresses[0][1]}/v1"
        started.set()
        await over.wait()
        await runner.cleanup()

    thread = threading.Thread(target=loop.run_until_complete, args=(serve(),))
    thread.start()
    assert started.wait(20)
    try:
        yield served
    finally:
        loop.call_soon_threadsafe(over.set)
        thread.join()
        loop.close()
