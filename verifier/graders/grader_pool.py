"""Grade any text safely: worker processes with time and memory limits that are killed and replaced.

A text that hangs, exhausts memory or crashes a grader costs its own verdict (``grader_timeout`` or ``grader_error``)
and at most its own limit. No other answer is touched, and nothing is raised.

A worker that somebody else killed (a system short of memory, a signal from outside) took the answer with it through
no fault of the answer, which is then graded once more.
"""

from __future__ import annotations

import contextlib
import json
import os
import select
import signal
import subprocess
import sys
import threading
import time
from collections import deque
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import Any

from verifier.graders.grading import grader_version
from verifier.graders.verdict import Verdict
from verifier.items import Item, as_fields

ROOT = Path(__file__).resolve().parents[2]
# Loading the graders takes a second or two, and many times that while many workers start on few cores.
START_SECONDS = 120.0
# Signals that only another process sends: the answer is not to blame.
_FROM_OUTSIDE = (signal.SIGKILL, signal.SIGTERM, signal.SIGHUP)


@dataclass(eq=False)
class _Worker:
    process: subprocess.Popen[bytes]
    requests: int
    replies: int
    ready: bool = False


@dataclass(frozen=True)
class _Failure:
    """Why there is no verdict."""

    outcome: str
    detail: str
    from_outside: bool = False


class GraderPool:
    """A number of grader processes; use it in a ``with`` block.

    Parameters
    ----------
    answer_types
        The answer types of the items to come, whose graders every worker loads when it starts.
    workers
        How many answers are graded at a time. ``grade`` may be called from more threads than that; they wait.
    seconds
        The limit of one answer, in seconds of wall time.
    memory_mb
        The memory that grading may take beyond what a worker has once its graders are loaded. Enforced on Linux.
    """

    def __init__(
        self, answer_types: Iterable[str], *, workers: int, seconds: float = 5.0, memory_mb: int = 1024
    ) -> None:
        self.answer_types = tuple(sorted(set(answer_types)))
        self.workers = workers
        self.seconds = seconds
        self.memory_mb = memory_mb
        self._free = threading.Semaphore(workers)
        self._lock = threading.Lock()
        self._idle: deque[_Worker] = deque()
        self._alive: list[_Worker] = []
        self._open = False

    def __enter__(self) -> GraderPool:
        """Start the workers; they load their graders while the caller goes on."""
        self._open = True
        for _ in range(self.workers):
            self._idle.append(self._start())
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """End all workers, those in the middle of an answer too."""
        with self._lock:
            self._open = False
            leaving, self._alive = self._alive, []
            idle = list(self._idle)
            self._idle.clear()
        for worker in leaving:
            _kill(worker)
        for worker in leaving:
            worker.process.wait()
        for worker in idle:  # the others are closed by the threads that read from them
            _close(worker)

    def grade(self, item: Item, text: str) -> Verdict:
        """Return the verdict on a reply to an item. Blocks until there is one; callable from any thread.

        Raises
        ------
        RuntimeError
            If the pool is not open, or was closed meanwhile.
        ValueError
            If the item has an answer type that the pool was not made for.
        """
        if item.answer_type not in self.answer_types:
            raise ValueError(f"this pool grades {self.answer_types}, not {item.answer_type!r}")
        request = json.dumps({"item": as_fields(item), "text": text}).encode("ascii") + b"\n"
        with self._free:
            answer = self._ask(self._take(), request)
            if isinstance(answer, _Failure) and answer.from_outside:
                # Another one that waited may have been killed as well.
                answer = self._ask(self._start(), request)
        if isinstance(answer, Verdict):
            return answer
        return Verdict(answer.outcome, None, None, *grader_version(item.answer_type), detail=answer.detail)

    def _take(self) -> _Worker:
        """Return an idle worker that is alive, or a new one; those that were killed while idle are replaced."""
        while True:
            with self._lock:
                self._check_open()
                worker = self._idle.pop() if self._idle else None
            if worker is None:
                return self._start()
            if not _was_killed(worker):
                return worker
            self._leave(worker)
            self._replace()

    def _ask(self, worker: _Worker, request: bytes) -> Verdict | _Failure:
        """Send a request to a worker that is nobody else's, and put it back, or another in its place."""
        try:
            answer, goes_on = _answer(worker, request, self.seconds)
        except BaseException:
            self._leave(worker)  # Ctrl-C: the worker is in the middle of an answer
            raise
        if goes_on:
            with self._lock:
                self._idle.append(worker)
            return answer
        self._leave(worker)
        # One that was killed from outside is replaced by the one that is asked again.
        if not (isinstance(answer, _Failure) and answer.from_outside):
            self._replace()
        return answer

    def _replace(self) -> None:
        """Start a worker that is taken last, so that it has time to load its graders."""
        worker = self._start()
        with self._lock:
            self._idle.appendleft(worker)

    def _check_open(self) -> None:
        if not self._open:
            raise RuntimeError("the pool of graders is not open; use it in a with block")

    def _leave(self, worker: _Worker) -> None:
        """Kill a worker that cannot go on. One that is missing is started when it is needed."""
        _kill(worker)
        worker.process.wait()
        _close(worker)
        with self._lock:
            if worker in self._alive:
                self._alive.remove(worker)

    def _start(self) -> _Worker:
        settings = {
            "answer_types": self.answer_types,
            "seconds": self.seconds,
            "memory_mb": self.memory_mb,
        }
        # One thread a worker, and an order of sets that does not change from worker to worker.
        fixed = {"OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1", "PYTHONHASHSEED": "0"}
        # Under the lock, so that closing the pool ends this worker too.
        with self._lock:
            self._check_open()
            process = subprocess.Popen(
                [sys.executable, "-m", "verifier.graders.grader_worker", json.dumps(settings)],
                cwd=ROOT,
                env={**os.environ, **fixed},
                bufsize=0,
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.DEVNULL,
                start_new_session=True,  # Ctrl-C is for the parent alone
            )
            assert process.stdin and process.stdout
            worker = _Worker(process, process.stdin.fileno(), process.stdout.fileno())
            os.set_blocking(worker.requests, False)
            self._alive.append(worker)
        return worker


def _answer(worker: _Worker, request: bytes, seconds: float) -> tuple[Verdict | _Failure, bool]:
    """Return what a worker says to a request, and whether it can take another."""
    if not worker.ready:
        started = _exchange(worker, b"", START_SECONDS)
        if started is None:
            return _Failure("grader_error", f"the grader did not start in {START_SECONDS:.0f} s"), False
        if "ready" not in started:
            return _failure(worker, started, seconds), False
        worker.ready = True
    reply = _exchange(worker, request, seconds)
    if reply is None:
        return _Failure("grader_timeout", f"no verdict in {seconds:g} s"), False
    if "verdict" not in reply:
        return _failure(worker, reply, seconds), False
    return Verdict(**reply["verdict"]), not reply["last"]


def _failure(worker: _Worker, reply: dict[str, Any], seconds: float) -> _Failure:
    """Return why a worker ended: its last words, or the signal or status of its process."""
    if "error" in reply:
        return _Failure("grader_error", reply["error"])
    try:
        status = worker.process.wait(1)
    except subprocess.TimeoutExpired:
        return _Failure("grader_error", "the grader closed its output")
    if status == -signal.SIGALRM:  # its own timer was first: this process had been stopped meanwhile
        return _Failure("grader_timeout", f"no verdict in {seconds:g} s")
    if status < 0:
        name = signal.Signals(-status).name
        return _Failure("grader_error", f"the grader was killed by {name}", -status in _FROM_OUTSIDE)
    return _Failure("grader_error", f"the grader ended with status {status}")


def _exchange(worker: _Worker, request: bytes, seconds: float) -> dict[str, Any] | None:
    """Send a request and return the reply: empty if the worker has ended, None if the time is over."""
    deadline = time.monotonic() + seconds
    poller = select.poll()
    poller.register(worker.replies, select.POLLIN)
    unsent = memoryview(request)
    if unsent:
        poller.register(worker.requests, select.POLLOUT)
    received = bytearray()
    while True:
        ready = dict(poller.poll(max(0.0, deadline - time.monotonic()) * 1000))
        if not ready:
            return None
        if worker.replies in ready:
            block = os.read(worker.replies, 1 << 16)
            received += block
            if not block:
                return {}
            if block.endswith(b"\n"):
                reply: dict[str, Any] = json.loads(received)
                return reply
        if worker.requests in ready:
            try:
                unsent = unsent[os.write(worker.requests, unsent) :]
            except BrokenPipeError:
                unsent = unsent[:0]  # it has ended, and its last words may wait to be read
            if not unsent:
                poller.unregister(worker.requests)


def _was_killed(worker: _Worker) -> bool:
    """Return whether an idle worker has ended through no answer's fault; one that could not start has last words."""
    status = worker.process.poll()
    return status is not None and (worker.ready or -status in _FROM_OUTSIDE)


def _kill(worker: _Worker) -> None:
    """Kill a worker and whatever it started; it leads a session of its own."""
    if worker.process.poll() is not None:
        return
    with contextlib.suppress(ProcessLookupError, PermissionError):  # it has just ended
        os.killpg(worker.process.pid, signal.SIGKILL)


def _close(worker: _Worker) -> None:
    for pipe in (worker.process.stdin, worker.process.stdout):
        assert pipe
        pipe.close()
