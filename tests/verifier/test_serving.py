"""Servers are started one wave after another, are ready when they generate, and leave no process behind."""

from __future__ import annotations

import asyncio
import os
import shutil
import signal
import subprocess
import sys
import time
from dataclasses import replace
from pathlib import Path

import pytest

from irt.io import InputError
from irt.response_matrix import read_response_matrix
from tests.signals import allow_interrupts
from tests.verifier.test_rollout import NAMES, ROOT, arguments, write_panel, write_pool
from verifier import rollout, serving
from verifier.client import open_session, served_models
from verifier.panel import Verifier, read_panel
from verifier.serving import ServerFailed, free_gpus, serve_command, served, waves

FAKE = Path(__file__).with_name("fake_vllm.py")


@pytest.fixture
def machine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A machine with four GPUs, one of them in use, and a vllm command; returns the log of what was started."""
    tools = tmp_path / "bin"
    tools.mkdir()
    for name, text in (
        ("nvidia-smi", 'printf "0, 4\\n1, 60000\\n2, 17\\n3, 0\\n"'),
        ("vllm", f'exec "{sys.executable}" "{FAKE}" "$@"'),
    ):
        (tools / name).write_text(f"#!/bin/sh\n{text}\n", encoding="utf-8")
        (tools / name).chmod(0o755)
    log = tmp_path / "started"
    monkeypatch.setenv("PATH", f"{tools}:{os.environ['PATH']}")
    monkeypatch.setenv("FAKE_VLLM_LOG", str(log))
    monkeypatch.setenv("FAKE_VLLM", "serve")
    monkeypatch.delenv("CUDA_VISIBLE_DEVICES", raising=False)
    monkeypatch.setattr(serving, "STOP_SECONDS", 1.0)
    monkeypatch.setattr(serving, "PROBE_SECONDS", 1.0)
    return log


@pytest.fixture
def verifier(tmp_path: Path) -> Verifier:
    panel = write_panel(tmp_path / "panel.toml", "http://localhost:1/v1")
    return replace(read_panel(panel).verifiers[0], base_url=None, revision="c" * 40)


def processes_started(log: Path) -> list[int]:
    return [int(pid) for line in log.read_text(encoding="utf-8").splitlines() for pid in line.split()[:3]]


def lives(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text(encoding="utf-8").rpartition(")")[2].split()[0] != "Z"
    except FileNotFoundError:
        return False


def assert_none_lives(log: Path) -> None:
    assert not [pid for pid in processes_started(log) if lives(pid)]


def test_a_server_is_ready_when_it_generates_and_ends_with_all_its_processes(
    machine: Path, verifier: Verifier, tmp_path: Path
) -> None:
    """vllm#55510: workers that outlive the server keep its GPUs. These ignore SIGTERM, too."""

    async def use() -> None:
        async with served(verifier, (2, 3), tmp_path / "server.log") as ready, open_session() as session:
            assert ready.identity == verifier.identity
            assert ready.base_url is not None
            models = await served_models(session, serving.Endpoint(ready.base_url))
            assert models and verifier.model in models

    asyncio.run(use())
    assert len(processes_started(machine)) == 3
    assert_none_lives(machine)


def test_what_is_started_is_pinned_and_local(machine: Path, verifier: Verifier) -> None:
    command = serve_command(replace(verifier, serve_arguments=("--reasoning-parser", "qwen3")), 2, 8001)
    command = command[command.index(serving.vllm_command()) :]
    assert command[1:3] == ["serve", verifier.model]
    pairs = dict(zip(command[3::2], command[4::2], strict=True))
    assert pairs == {
        "--revision": "c" * 40,
        "--served-model-name": verifier.model,
        "--host": "127.0.0.1",
        "--port": "8001",
        "--tensor-parallel-size": "2",
        "--generation-config": "vllm",
        "--reasoning-parser": "qwen3",
    }


def test_listening_is_not_being_ready(
    machine: Path, verifier: Verifier, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """vllm#39863: /health and /v1/models answer while nothing is generated."""
    monkeypatch.setenv("FAKE_VLLM", "hang")
    monkeypatch.setenv(serving.READY_VARIABLE, "4")

    async def use() -> None:
        async with served(verifier, (0,), tmp_path / "server.log"):
            pytest.fail("a server that generates nothing was called ready")

    with pytest.raises(ServerFailed, match="not ready after 4 s"):
        asyncio.run(use())
    assert_none_lives(machine)


def test_a_server_that_ends_is_reported_with_its_last_words(
    machine: Path, verifier: Verifier, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("FAKE_VLLM", "crash")

    async def use() -> None:
        async with served(verifier, (0,), tmp_path / "logs" / "server.log"):
            pytest.fail("there is no server")

    with pytest.raises(ServerFailed, match="vllm ended with status 1") as caught:
        asyncio.run(use())
    assert "No available memory for the cache blocks" in str(caught.value)


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_a_stopped_rollout_leaves_no_server(
    machine: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, number: int
) -> None:
    """A batch system sends SIGTERM, a closed terminal SIGHUP."""
    monkeypatch.setenv("FAKE_VLLM", "polite")
    process = start_rollout_with_servers(tmp_path)
    wait_for_servers(machine, 3, process)
    process.send_signal(number)
    assert process.wait(timeout=60) == 130
    assert_none_lives(machine)


@pytest.mark.skipif(shutil.which("setpriv") is None, reason="this system has no setpriv")
def test_a_killed_rollout_tells_its_servers_to_end(
    machine: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("FAKE_VLLM", "polite")
    process = start_rollout_with_servers(tmp_path)
    wait_for_servers(machine, 3, process)
    process.kill()
    process.wait()
    for _ in range(100):
        if not any(map(lives, processes_started(machine))):
            return
        time.sleep(0.1)
    assert_none_lives(machine)


def start_rollout_with_servers(folder: Path) -> subprocess.Popen[bytes]:
    items = write_pool(folder / "pool.jsonl", 40)
    panel = write_panel(folder / "panel.toml", "URL")
    text = panel.read_text(encoding="utf-8").replace('base_url = "URL"', 'revision = "main"\ngpus = 1')
    panel.write_text(text, encoding="utf-8")
    return subprocess.Popen(
        [sys.executable, "-m", "verifier.rollout", *arguments(items, panel, folder / "out", 400)],
        cwd=ROOT,
        env={**os.environ, serving.READY_VARIABLE: "30"},
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        preexec_fn=allow_interrupts,
    )


def wait_for_servers(log: Path, count: int, process: subprocess.Popen[bytes]) -> None:
    while not log.exists() or log.read_text(encoding="utf-8").count("\n") < count:
        assert process.poll() is None
        time.sleep(0.05)
    time.sleep(1.0)  # they are starting, or answer


@pytest.mark.parametrize("visible", ["all", "GPU-5a1c"])
def test_gpus_named_otherwise_are_refused(
    machine: Path, monkeypatch: pytest.MonkeyPatch, visible: str
) -> None:
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", visible)
    with pytest.raises(InputError, match="CUDA_VISIBLE_DEVICES must be indices"):
        free_gpus()


def test_a_gpu_that_stays_in_use_fails_its_verifier_alone(
    machine: Path, verifier: Verifier, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(serving, "FREE_SECONDS", 1.0)

    async def use() -> None:
        async with served(verifier, (1,), tmp_path / "server.log"):
            pytest.fail("GPU 1 is in use")

    with pytest.raises(ServerFailed, match="simulated-01: GPUs 1 are in use"):
        asyncio.run(use())


def test_gpus_in_use_are_left_alone(machine: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert free_gpus() == [0, 2, 3]
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "1,2")
    assert free_gpus() == [2]


def test_waves_use_each_gpu_once_and_serve_everybody(verifier: Verifier) -> None:
    needs = [1, 4, 2, 1, 1, 8, 2, 1]
    panel = [replace(verifier, name=str(number), gpus=gpus) for number, gpus in enumerate(needs)]
    planned = waves(panel, range(8))
    assert sorted(one.name for wave in planned for one, _ in wave) == sorted(one.name for one in panel)
    for wave in planned:
        used = [gpu for _, gpus in wave for gpu in gpus]
        assert len(set(used)) == len(used) <= 8
        assert all(len(gpus) == one.gpus for one, gpus in wave)
    assert len(planned) == 3  # 20 GPUs in all


def test_a_verifier_too_large_for_the_machine_is_named(verifier: Verifier) -> None:
    with pytest.raises(InputError, match="simulated-01 needs 4 GPUs, and 3 are free"):
        waves([replace(verifier, gpus=4)], [0, 2, 3])


def test_a_missing_vllm_is_named(verifier: Verifier, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(serving.VLLM_VARIABLE, "no-such-vllm")
    with pytest.raises(InputError, match="no-such-vllm: no such command; .*install it"):
        serving.vllm_command()


def test_a_panel_without_servers_is_served_wave_by_wave(
    machine: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    items = write_pool(tmp_path / "pool.jsonl", 4)
    panel = write_panel(tmp_path / "panel.toml", "URL", names=NAMES[:4])
    text = panel.read_text(encoding="utf-8").replace('base_url = "URL"', 'revision = "main"\ngpus = 1')
    panel.write_text(text.replace("gpus = 1", "gpus = 2", 1), encoding="utf-8")
    monkeypatch.setattr(sys, "argv", ["rollout", *arguments(items, panel, tmp_path / "out", 2)])
    assert rollout.main() == 0
    matrix = read_response_matrix(tmp_path / "out" / "response_matrix.csv", n_trials=2)
    assert matrix.models == tuple(NAMES[:4])
    started = [line.split()[3] for line in machine.read_text(encoding="utf-8").splitlines()]
    assert sorted(started[:2]) == ["0,2", "3"]  # the large one and a small one, then the other two
    assert sorted(started[2:]) == ["0", "2"]
    assert_none_lives(machine)
