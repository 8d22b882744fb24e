"""Starts a vLLM server for a verifier, waits until it answers, and stops it with all of its processes.

Every server runs in its own process group, so that stopping it reaches the engine and the workers too: they would
otherwise keep the GPUs, and the next start would find no memory.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import re
import shutil
import signal
import socket
import subprocess
import sys
from collections.abc import AsyncIterator, Sequence
from dataclasses import replace
from pathlib import Path

from irt.io import InputError
from verifier.client import Endpoint, ModelStopped, RequestFailed, complete, open_session
from verifier.panel import Verifier

VLLM_VARIABLE = "BENCHFILL_VLLM"  # the vllm command; "vllm" by default
READY_VARIABLE = "BENCHFILL_READY_SECONDS"  # how long a server may take to load its model
READY_SECONDS = 1800.0
STOP_SECONDS = 60.0
FREE_SECONDS = 60.0  # until the driver has taken back the memory of a server that has ended
PROBE_SECONDS = 20.0
SHOWN_LOG_LINES = 20

# A card is free when it holds no more than the driver itself takes.
FREE_MEGABYTES = 1000

Wave = list[tuple[Verifier, tuple[int, ...]]]


class ServerFailed(Exception):
    """A server did not come up; the message says why, with the end of its log."""


def vllm_command() -> str:
    """Return the path of the vllm command.

    Raises
    ------
    InputError
        If it is not installed.
    """
    name = os.environ.get(VLLM_VARIABLE, "vllm")
    found = shutil.which(name)
    if found is None:
        raise InputError(
            f"{name}: no such command; verifiers without a base_url are served with vLLM: install it (SETUP.md), "
            f"or give each a base_url, or set {VLLM_VARIABLE}"
        )
    return found


def ready_seconds() -> float:
    """Return how long a server may take to load its model.

    Raises
    ------
    InputError
        If the environment says something else than a number of seconds.
    """
    text = os.environ.get(READY_VARIABLE, str(READY_SECONDS))
    if not re.fullmatch(r"[0-9]{1,6}(\.[0-9]*)?", text):
        raise InputError(f"{READY_VARIABLE} must be a number of seconds, found {text!r}")
    return float(text)


def free_gpus() -> list[int]:
    """Return the indices of the GPUs that nobody uses, of those that CUDA_VISIBLE_DEVICES leaves.

    Raises
    ------
    InputError
        If nvidia-smi is not there or fails, or the GPUs are not named by their index.
    """
    query = ["nvidia-smi", "--query-gpu=index,memory.used", "--format=csv,noheader,nounits"]
    try:
        answer = subprocess.run(query, capture_output=True, text=True, check=True, timeout=60)
    except (OSError, subprocess.SubprocessError) as error:
        raise InputError(
            f"nvidia-smi: {error}; verifiers without a base_url need GPUs on this machine"
        ) from error
    used: dict[int, int] = {}
    for line in answer.stdout.splitlines():
        found = re.fullmatch(r"\s*(\d+)\s*,\s*(\d+)\s*", line)
        if not found:
            raise InputError(
                f"nvidia-smi: {line!r} does not tell a GPU's memory in use; give each verifier a base_url"
            )
        used[int(found[1])] = int(found[2])
    visible = os.environ.get("CUDA_VISIBLE_DEVICES")
    if visible is not None and not re.fullmatch(r"[\d\s,]*", visible):
        raise InputError(f"CUDA_VISIBLE_DEVICES must be indices such as 0,1, found {visible!r}")
    allowed = list(used) if visible is None else [int(index) for index in re.findall(r"\d+", visible)]
    return [index for index in allowed if used.get(index, FREE_MEGABYTES) < FREE_MEGABYTES]


def waves(verifiers: Sequence[Verifier], gpus: Sequence[int]) -> list[Wave]:
    """Return which verifiers are served together, and on which GPUs: the largest first, each GPU one model at a time.

    Two servers that start on one card measure its memory wrongly, so none is shared.

    Raises
    ------
    InputError
        If a verifier needs more GPUs than there are.
    """
    planned: list[tuple[Wave, list[int]]] = []
    for verifier in sorted(verifiers, key=lambda verifier: -verifier.gpus):
        if verifier.gpus > len(gpus):
            raise InputError(
                f"{verifier.name} needs {verifier.gpus} GPUs, and {len(gpus)} are free; "
                "free some, or give it a base_url"
            )
        if not any(verifier.gpus <= len(free) for _, free in planned):
            planned.append(([], list(gpus)))
        wave, free = next(pair for pair in planned if verifier.gpus <= len(pair[1]))
        wave.append((verifier, tuple(free.pop(0) for _ in range(verifier.gpus))))
    return [wave for wave, _ in planned]


@contextlib.asynccontextmanager
async def served(verifier: Verifier, gpus: Sequence[int], log: Path) -> AsyncIterator[Verifier]:
    """Serve a verifier for the time of the block, and yield it with its base_url.

    What the server prints goes to ``log``.

    Raises
    ------
    ServerFailed
        If it does not answer a one-token completion within the time for loading (30 minutes, or
        BENCHFILL_READY_SECONDS). Listening is not enough: a server can answer /health and generate nothing.
    """
    await _wait_for_gpus(verifier, gpus)
    port = _free_port()
    # The order of nvidia-smi; CUDA's own would put the fastest first.
    environment = os.environ | {
        "CUDA_DEVICE_ORDER": "PCI_BUS_ID",
        "CUDA_VISIBLE_DEVICES": ",".join(map(str, gpus)),
    }
    log.parent.mkdir(parents=True, exist_ok=True)
    with open(log, "ab") as output:
        process = subprocess.Popen(
            serve_command(verifier, len(gpus), port),
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=subprocess.STDOUT,
            env=environment,
            start_new_session=True,
        )
    try:
        ready = replace(verifier, base_url=f"http://127.0.0.1:{port}/v1")
        await _wait_until_ready(ready, process, log)
        yield ready
    finally:
        await _stop(process)


def serve_command(verifier: Verifier, n_gpus: int, port: int) -> list[str]:
    """Return the command that serves a verifier on this machine alone."""
    return [
        *ended_with_parent(),
        vllm_command(),
        "serve",
        verifier.model,
        *("--revision", verifier.revision),
        *("--served-model-name", verifier.model),
        *("--host", "127.0.0.1"),
        *("--port", str(port)),
        *("--tensor-parallel-size", str(n_gpus)),
        # Or the model's own generation_config.json would supply what a request leaves out.
        *("--generation-config", "vllm"),
        *verifier.serve_arguments,
    ]


def ended_with_parent() -> list[str]:
    """Return the words before a command that end it when this process is killed; none where the system has no such."""
    setpriv = shutil.which("setpriv")
    return [setpriv, "--pdeathsig", "TERM"] if setpriv else []


async def _wait_for_gpus(verifier: Verifier, gpus: Sequence[int]) -> None:
    for _ in range(int(FREE_SECONDS)):
        if set(gpus) <= set(free_gpus()):
            return
        await asyncio.sleep(1)
    raise ServerFailed(f"{verifier.name}: GPUs {', '.join(map(str, gpus))} are in use")


async def _wait_until_ready(verifier: Verifier, process: subprocess.Popen[bytes], log: Path) -> None:
    seconds = ready_seconds()
    assert verifier.base_url is not None
    endpoint = Endpoint(verifier.base_url)
    probe = {"model": verifier.model, "messages": [{"role": "user", "content": "Hi"}], "max_tokens": 1}
    last = "nothing was tried"
    try:
        async with asyncio.timeout(seconds), open_session() as session:
            while process.poll() is None:
                try:
                    await complete(session, endpoint, probe, deadline_seconds=PROBE_SECONDS)
                    return
                except ModelStopped as error:
                    last = str(error)
                    if error.status is not None:
                        raise ServerFailed(f"{verifier.name}: {last}") from error
                except RequestFailed as error:
                    last = str(error)
    except TimeoutError:
        raise ServerFailed(f"{verifier.name}: not ready after {seconds:g} s ({last}){_end_of(log)}") from None
    raise ServerFailed(f"{verifier.name}: vllm ended with status {process.returncode}{_end_of(log)}")


async def _stop(process: subprocess.Popen[bytes]) -> None:
    """End the whole group: ask, wait, then kill, and return when no process of it is left."""
    task = asyncio.current_task()
    if task and task.cancelling():  # a second Ctrl-C would leave servers that keep their GPUs
        print(f"stopping the server of process group {process.pid}", file=sys.stderr)
        for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
            signal.signal(number, signal.SIG_IGN)
    for how in (signal.SIGTERM, signal.SIGKILL):
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, how)
        for _ in range(int(STOP_SECONDS * 10)):
            process.poll()
            if not _group_lives(process.pid):
                return
            await asyncio.sleep(0.1)
    print(f"process group {process.pid} could not be stopped; its GPUs may stay in use", file=sys.stderr)


def _group_lives(group: int) -> bool:
    try:
        os.killpg(group, 0)
    except ProcessLookupError:
        return False
    return True


def _end_of(log: Path) -> str:
    lines = log.read_text(encoding="utf-8", errors="replace").splitlines()[-SHOWN_LOG_LINES:]
    return f"; the end of {log}:\n" + "\n".join(f"  {line}" for line in lines)


def _free_port() -> int:
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        port: int = listener.getsockname()[1]
        return port
