"""One process of a grader pool: reads items and texts, writes verdicts, and dies of what it cannot judge.

It is started by ``grader_pool.py`` with its settings as one JSON object, and speaks JSON lines over its
standard input and output: ``{"ready": true}`` once the graders are loaded, then a request and a reply in turn. JSON
escapes every character that is not ASCII, so lone surrogates survive the way.

An exception ends the process, after one line ``{"error": ...}``. Being killed is safe at any moment. The end of its
input ends it, and a process whose parent was killed in the middle of an answer is killed by its own timer.
"""

from __future__ import annotations

import gc
import json
import os
import resource
import signal
import sys
import traceback
from dataclasses import asdict
from types import TracebackType
from typing import Any

from verifier.graders.grading import check_graders, grade
from verifier.items import item_from_fields

# The parent's limit comes first; this is for a worker without a parent.
SECONDS_BEYOND_PARENT = 1.0
_MOST_DETAIL = 400


def main() -> int:
    """Grade until the input ends, or until memory that graders have kept leaves too little for the next answer."""
    settings = json.loads(sys.argv[1])
    requests, replies = _take_over_pipes()
    sys.excepthook = _Report(replies)
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    # A handler, or a signal that is ignored or blocked, would be inherited.
    signal.signal(signal.SIGALRM, signal.SIG_DFL)
    signal.pthread_sigmask(signal.SIG_UNBLOCK, {signal.SIGALRM})

    check_graders(settings["answer_types"])
    gc.collect()
    gc.freeze()
    memory = settings["memory_mb"] * 2**20
    most_kept = _address_space() + memory // 4
    _limit_memory(_address_space() + memory)
    _write(replies, {"ready": True})

    with open(requests, "rb") as lines:
        for line in lines:
            # The timer's signal kills whatever runs, a loop inside C code too.
            signal.setitimer(signal.ITIMER_REAL, settings["seconds"] + SECONDS_BEYOND_PARENT)
            request = json.loads(line)
            verdict = grade(item_from_fields(request["item"], "item"), request["text"])
            signal.setitimer(signal.ITIMER_REAL, 0)
            last = _address_space() > most_kept
            _write(replies, {"verdict": asdict(verdict), "last": last})
            if last:
                break
    return 0


def _take_over_pipes() -> tuple[int, int]:
    """Return the pipes from and to the parent, which the libraries' own input and output no longer touch."""
    requests, replies = os.dup(0), os.dup(1)
    nowhere = os.open(os.devnull, os.O_RDWR)
    for standard in (0, 1):
        os.dup2(nowhere, standard)
    os.close(nowhere)
    return requests, replies


def _write(replies: int, message: dict[str, Any]) -> None:
    line = json.dumps(message).encode("ascii") + b"\n"
    while line:
        line = line[os.write(replies, line) :]


class _Report:
    """The last words of a worker: what the exception was, and where."""

    def __init__(self, replies: int) -> None:
        self.replies = replies

    def __call__(self, kind: type[BaseException], error: BaseException, trace: TracebackType | None) -> None:
        resource.setrlimit(resource.RLIMIT_AS, (resource.getrlimit(resource.RLIMIT_AS)[1],) * 2)
        traceback.clear_frames(trace)
        while trace is not None and trace.tb_next is not None:
            trace = trace.tb_next
        place = ""
        if trace is not None:
            place = f" ({os.path.basename(trace.tb_frame.f_code.co_filename)}:{trace.tb_lineno})"
        words = f"{kind.__name__}: {error}".replace("\n", " ").strip(": ")
        _write(self.replies, {"error": words[:_MOST_DETAIL] + place})


def _address_space() -> int:
    """Return the bytes of address space in use, or 0 on a system that does not say."""
    try:
        with open("/proc/self/statm", encoding="ascii") as handle:
            return int(handle.read().split()[0]) * resource.getpagesize()
    except FileNotFoundError:
        return 0


def _limit_memory(most: int) -> None:
    """Let allocations beyond ``most`` bytes of address space fail, where the system tells how many are in use."""
    if _address_space():
        hard = resource.getrlimit(resource.RLIMIT_AS)[1]
        resource.setrlimit(
            resource.RLIMIT_AS, (most if hard == resource.RLIM_INFINITY else min(most, hard), hard)
        )


if __name__ == "__main__":
    sys.exit(main())
