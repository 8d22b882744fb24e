"""Stands in for the vllm command: a simulated panel behind a parent that takes SIGTERM badly, as engines do.

The environment variable FAKE_VLLM says how it behaves: ``serve``, ``polite`` (the same, but ends on
SIGTERM), ``hang`` (listens and generates nothing), ``crash``.
"""

import os
import signal
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
IGNORE_AND_SLEEP = (
    "import signal, time; signal.signal(signal.SIGTERM, signal.SIG_IGN); print('up'); time.sleep(600)"
)

behaviour = os.environ["FAKE_VLLM"]
if behaviour == "crash":
    print("ValueError: No available memory for the cache blocks.", flush=True)
    sys.exit(1)
started: list[subprocess.Popen[bytes]] = []


def end(*_: object) -> None:
    for process in started:
        process.kill()


signal.signal(signal.SIGTERM, end if behaviour == "polite" else signal.SIG_IGN)
engine = subprocess.Popen([sys.executable, "-c", IGNORE_AND_SLEEP], stdout=subprocess.PIPE)
assert engine.stdout is not None
engine.stdout.readline()  # it ignores SIGTERM from here on
port = sys.argv[sys.argv.index("--port") + 1]
faults = ["--hang-rate", "1"] if behaviour == "hang" else []
server = subprocess.Popen([sys.executable, "-m", "verifier.simulated", "--port", port, *faults], cwd=ROOT)
started += [engine, server]
with open(os.environ["FAKE_VLLM_LOG"], "a", encoding="utf-8") as log:
    gpus = os.environ["CUDA_VISIBLE_DEVICES"]
    print(os.getpid(), server.pid, engine.pid, gpus, *sys.argv[1:], file=log)
engine.wait()
