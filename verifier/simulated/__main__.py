"""Serve the simulated panel: twelve examinees and a rewriter behind an OpenAI-compatible API, on this machine alone.

The examinees (simulated-01, the weakest, to simulated-12) and simulated-rewriter know the items that
`python -m verifier.simulated.make_items` makes. The same request, with a seed, gets the same reply. It is for trying
things out and for tests, where the truth must be known; nothing that it says is a measurement of any model.

The line "simulated panel ready at URL" on standard output says that it answers. SIGTERM or Ctrl-C ends it.

Examples:
  python -m verifier.simulated --port 8399
  python -m verifier.simulated --port 0 --latency 0.05 --rate-429 0.05 --rate-500 0.05 --reasoning-field inline
"""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import errno
import math
import signal
import sys
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

from irt.command import CommandParser, packages_of, proportion, run, whole_number
from irt.io import InputError
from verifier.simulated.faults import REASONING_FIELDS, Faults
from verifier.simulated.rewriter import RewriterHabits

if TYPE_CHECKING:
    from aiohttp.web import Application

HOST = "127.0.0.1"
RATE = proportion(zero=True, one=True)


def parse_arguments() -> argparse.Namespace:
    """Return the checked command line."""
    parser = CommandParser(__doc__)
    parser.prog = "python -m verifier.simulated"
    parser.add_argument("--port", type=whole_number(0, 65535), required=True, help="0: any port that is free")
    parser.add_argument("--request-log", type=Path, metavar="FILE", help="append a JSON line a request")
    parser.add_argument("--api-key", metavar="KEY", help="refuse requests without this key with status 401")
    faults = parser.add_argument_group("faults")
    faults.add_argument("--latency", type=_number(0), metavar="SECONDS", help="before every answer (0)")
    faults.add_argument("--rate-429", type=RATE, metavar="R", help="share answered with status 429 (0)")
    faults.add_argument("--rate-500", type=RATE, metavar="R", help="share answered with status 500 (0)")
    faults.add_argument("--hang-rate", type=RATE, metavar="R", help="share taken and never answered (0)")
    faults.add_argument("--cut-off-rate", type=RATE, metavar="R", help="share of replies cut off (0)")
    faults.add_argument("--null-content-rate", type=RATE, metavar="R", help="share without content (0)")
    faults.add_argument("--reasoning-field", choices=REASONING_FIELDS, help="where thinking goes (none)")
    faults.add_argument("--slow-start", type=_number(0), metavar="SECONDS", help="status 503 until then (0)")
    faults.add_argument("--context", type=whole_number(64), metavar="TOKENS", help="context length (32768)")
    faults.add_argument("--seed", type=whole_number(0), help="decides which requests suffer (0)")
    habits = parser.add_argument_group("rewriter")
    habits.add_argument("--rewriter-bias", type=_number(-9), metavar="B", help="mean error of difficulty (0)")
    habits.add_argument("--rewriter-sd", type=_number(0), metavar="B", help="sd of that error (0.5)")
    habits.add_argument("--wrong-key-rate", type=RATE, metavar="R", help="share with a wrong answer (0)")
    habits.add_argument("--duplicate-rate", type=RATE, metavar="R", help="share that repeats the parent (0)")
    habits.add_argument("--broken-format-rate", type=RATE, metavar="R", help="share that is malformed (0)")
    return parser.parse_args()


def main() -> int:
    """Serve until a signal ends it."""
    arguments = {name: value for name, value in vars(parse_arguments()).items() if value is not None}
    faults = Faults(**{name: value for name, value in arguments.items() if name in Faults.__annotations__})
    habits = RewriterHabits(
        **{
            name: arguments[option]
            for name in RewriterHabits.__annotations__
            if (option := f"rewriter_{name}" if name in ("bias", "sd") else name) in arguments
        }
    )
    if faults.total_rate > 1:
        raise InputError("the rates of faults must not add up to over 1")
    with packages_of("requirements_verifier.txt"):
        from verifier.simulated.server import make_app

    app = make_app(faults, habits, api_key=arguments.get("api_key"), request_log=arguments.get("request_log"))
    asyncio.run(serve(app, arguments["port"]))
    return 0


async def serve(app: Application, port: int) -> None:
    """Serve on the loopback interface until SIGTERM or SIGINT.

    Raises
    ------
    InputError
        If the port is taken or may not be used.
    """
    stop = asyncio.Event()
    for number in (signal.SIGTERM, signal.SIGINT):
        asyncio.get_running_loop().add_signal_handler(number, stop.set)
    from aiohttp import web

    # Requests in flight, hanging ones among them, are dropped at the end; 0 seconds would wait for them for ever.
    runner = web.AppRunner(app, access_log=None, handler_cancellation=True, shutdown_timeout=0.05)
    await runner.setup()
    try:
        site = web.TCPSite(runner, HOST, port, backlog=1024)
        try:
            await site.start()
        except OSError as error:
            if error.errno not in (errno.EADDRINUSE, errno.EACCES):
                raise
            reason = "is taken" if error.errno == errno.EADDRINUSE else "may not be used"
            raise InputError(f"port {port} {reason}; choose another, or 0 for any that is free") from error
        bound = runner.addresses[0][1]
        with contextlib.suppress(BrokenPipeError):  # whoever started it may not care to read
            print(f"simulated panel ready at http://{HOST}:{bound}/v1", flush=True)
        await stop.wait()
    finally:
        await runner.cleanup()


def _number(lowest: float) -> Callable[[str], float]:
    """Return a parser of numbers from ``lowest``, for argparse."""

    def parse(text: str) -> float:
        try:
            value = float(text)
        except ValueError:
            value = math.nan  # inside no interval
        if not lowest <= value < math.inf:
            raise argparse.ArgumentTypeError(f"must be a number of at least {lowest:g}, found {text!r}")
        return value

    return parse


if __name__ == "__main__":
    sys.argv[0] = "verifier.simulated"  # what messages begin with; it would be __main__.py
    run(main)
