"""The simulated server as a client sees it: with the openai package, which is not ours, and with bare requests."""

from __future__ import annotations

import asyncio
import hashlib
import json
import signal
import socket
import subprocess
import sys
import time
import urllib.error
import urllib.request
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import openai
import pytest

from tests.verifier.simulated.panel_process import ROOT, Panel, log_rows, simulated_panel
from verifier.prompts import messages
from verifier.reply import final_text
from verifier.simulated.examinees import answer
from verifier.simulated.families import ABILITIES, REWRITER, make_items

ITEM = make_items(1, seed=41, families=["power"], difficulties=[0.5])[0]
PROMPT = messages(ITEM)[-1]["content"]


@pytest.fixture(scope="module")
def panel() -> Iterator[Panel]:
    with simulated_panel("--context", 4096) as started:
        yield started


def post(panel: Panel, body: Any, key: str | None = None) -> tuple[int, dict[str, Any]]:
    data = body if isinstance(body, bytes) else json.dumps(body).encode()
    request = urllib.request.Request(f"{panel.url}/chat/completions", data)
    if key is not None:
        request.add_header("Authorization", f"Bearer {key}")
    try:
        with urllib.request.urlopen(request, timeout=20) as response:
            return response.status, json.load(response)
    except urllib.error.HTTPError as error:
        return error.code, json.load(error)


def ask(model: str = "simulated-10", seed: Any = 1, **more: Any) -> dict[str, Any]:
    return {"model": model, "seed": seed, "messages": [{"role": "user", "content": PROMPT}], **more}


def status_of(url: str) -> int:
    try:
        with urllib.request.urlopen(url, timeout=20) as response:
            return int(response.status)
    except urllib.error.HTTPError as error:
        return error.code


# The openai package --------------------------------------------------------------------------------------------


def client(panel: Panel) -> openai.AsyncOpenAI:
    return openai.AsyncOpenAI(base_url=panel.url, api_key="none", max_retries=0, timeout=20)


def test_the_openai_package_gets_completions_and_models(panel: Panel) -> None:
    async def talk() -> None:
        async with client(panel) as api:
            models = [model async for model in api.models.list()]
            assert [model.id for model in models] == [*ABILITIES, REWRITER]
            assert all(model.id.startswith("simulated") and model.owned_by == "simulated" for model in models)
            assert models[0].model_extra is not None and models[0].model_extra["max_model_len"] == 4096
            reply = await api.chat.completions.create(
                model="simulated-07",
                messages=[{"role": "user", "content": PROMPT}],
                seed=5,
                temperature=0.7,
                max_tokens=900,
                extra_body={"top_k": 20, "chat_template_kwargs": {"enable_thinking": False}},
            )
            assert reply.model == "simulated-07" and reply.choices[0].finish_reason == "stop"
            assert reply.choices[0].message.content == answer("simulated-07", PROMPT, 5).text
            assert reply.usage is not None and reply.usage.prompt_tokens > 10
            assert 1 < reply.usage.completion_tokens < 900
            assert reply.usage.total_tokens == reply.usage.prompt_tokens + reply.usage.completion_tokens

    asyncio.run(talk())


def test_the_openai_package_knows_the_errors(panel: Panel) -> None:
    async def talk() -> None:
        async with client(panel) as api:

            async def create(model: str, **more: Any) -> None:
                await api.chat.completions.create(
                    model=model, messages=[{"role": "user", "content": PROMPT}], **more
                )

            with pytest.raises(openai.NotFoundError, match="The model `gpt-9` does not exist"):
                await create("gpt-9")
            with pytest.raises(openai.BadRequestError, match="maximum context length is 4096 tokens"):
                await create("simulated-01", max_tokens=4090)
            with pytest.raises(openai.BadRequestError, match="does not stream"):
                await create("simulated-01", stream=True)

    asyncio.run(talk())


# Requests that are refused -------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("body", "status", "words"),
    [
        (b"{", 400, "not JSON"),
        (b"[" * 200_000, 400, "not JSON"),
        (b"\xff\xfe", 400, "not JSON"),
        ([], 400, "must be a JSON object"),
        ({}, 400, "model must be a text"),
        ({"model": "simulated-01"}, 400, "messages must be a list"),
        ({"model": "simulated-01", "messages": []}, 400, "messages must be a list"),
        ({"model": "simulated-01", "messages": [{"role": "bard", "content": ""}]}, 400, "found 'bard'"),
        ({"model": "simulated-01", "messages": [{"role": "user", "content": 3}]}, 400, "must be a text"),
        ({"model": "simulated-01", "messages": [{"role": "system", "content": "x"}]}, 400, "one of the user"),
        (ask(n=2), 400, "n must be 1"),
        (ask(seed="x"), 400, "seed must be a whole number"),
        (ask(max_tokens=0.5), 400, "max_tokens must be"),
        (ask(temperature=3), 400, "temperature must be"),
        (ask(stream=True), 400, "does not stream"),
        (ask(model="simulated-13"), 404, "The model `simulated-13` does not exist."),
    ],
)
def test_what_is_not_in_order_is_refused_with_a_reason(
    panel: Panel, body: Any, status: int, words: str
) -> None:
    found, payload = post(panel, body)
    assert found == status
    assert words in payload["error"]["message"] and payload["error"]["code"] == status


def test_other_paths_are_not_found_and_health_is_ok(panel: Panel) -> None:
    root = panel.url.removesuffix("/v1")
    assert status_of(f"{root}/health") == 200
    assert status_of(f"{root}/v1/embeddings") == 404


def test_a_key_is_asked_for_if_there_is_one() -> None:
    with simulated_panel("--api-key", "opensesame") as locked:
        assert post(locked, ask())[0] == 401
        assert post(locked, ask(), key="wrong")[0] == 401
        assert post(locked, ask(), key="opensesame")[0] == 200
        assert status_of(f"{locked.url}/models") == 401


# Replies -------------------------------------------------------------------------------------------------------


def test_same_seed_same_reply_on_any_server_and_no_seed_another_each_time(panel: Panel) -> None:
    replies = [post(panel, ask())[1]["choices"] for _ in range(2)]
    with simulated_panel() as other:
        replies.append(post(other, ask())[1]["choices"])
    assert replies[0] == replies[1] == replies[2]
    unseeded = {json.dumps(post(panel, ask(seed=None))[1]["choices"]) for _ in range(8)}
    assert len(unseeded) > 1


def test_content_may_come_in_parts_and_after_a_system_prompt(panel: Panel) -> None:
    parts = [{"type": "text", "text": PROMPT[:20]}, {"type": "text", "text": PROMPT[20:]}]
    told = [{"role": "system", "content": "Be brief."}, {"role": "user", "content": parts}]
    assert post(panel, ask() | {"messages": told})[1]["choices"] == post(panel, ask())[1]["choices"]


def test_a_reply_longer_than_max_tokens_is_cut_off(panel: Panel) -> None:
    whole = post(panel, ask())[1]["choices"][0]["message"]["content"]
    choice = post(panel, ask(max_tokens=5))[1]["choices"][0]
    assert choice["finish_reason"] == "length" and choice["message"]["content"] == whole[:20]


@pytest.mark.parametrize("field", ["none", "inline", "reasoning", "reasoning_content"])
def test_thinking_goes_where_it_is_told_to(field: str) -> None:
    with simulated_panel("--reasoning-field", field) as started:
        message = post(started, ask("simulated-10"))[1]["choices"][0]["message"]
        plain = post(started, ask("simulated-02"))[1]["choices"][0]["message"]
        last = post(started, ask("simulated-12"))[1]["choices"][0]["message"]
        cut = post(started, ask("simulated-10", max_tokens=3))[1]["choices"][0]
    expected = answer("simulated-10", PROMPT, 1)
    assert expected.thinking
    assert set(plain) == {"role", "content"} and "<think>" not in plain["content"]
    assert cut["finish_reason"] == "length"
    if field == "inline":
        assert message["content"] == f"<think>\n{expected.thinking}\n</think>\n\n{expected.text}"
        assert not last["content"].startswith("<think>") and "</think>" in last["content"]
        assert cut["message"]["content"] == "<think>\nTher"[:8] + expected.thinking[:4]
    else:
        assert message["content"] == expected.text
        assert message.get(field) == (None if field == "none" else expected.thinking)
    if field.startswith("reasoning"):
        assert cut["message"] == {"role": "assistant", "content": None, field: expected.thinking[:12]}
    assert final_text(message["content"]) == expected.text


# Faults --------------------------------------------------------------------------------------------------------


def test_faults_come_at_their_rates_and_a_retry_may_succeed(tmp_path: Path) -> None:
    rates = {"429": 0.1, "500": 0.15, "cut_off": 0.2, "null_content": 0.05}
    log = tmp_path / "log.jsonl"
    options = [f"--{'rate-' if name.isdigit() else ''}{name.replace('_', '-')}" for name in rates]
    options = [option if "rate" in option else f"{option}-rate" for option in options]
    flags = [part for option, rate in zip(options, rates.values(), strict=True) for part in (option, rate)]
    seen: Counter[str] = Counter()
    with simulated_panel(*flags, "--seed", 3, "--request-log", log) as started:
        for _ in range(600):
            status, payload = post(started, ask("simulated-03"))
            if status != 200:
                seen[str(status)] += 1
            elif payload["choices"][0]["message"]["content"] is None:
                seen["null_content"] += 1
            else:
                seen["cut_off" if payload["choices"][0]["finish_reason"] == "length" else "ok"] += 1
        with pytest.raises(urllib.error.HTTPError) as caught:
            for _ in range(200):
                body = json.dumps(ask()).encode()
                urllib.request.urlopen(f"{started.url}/chat/completions", body, timeout=20).close()
        with caught.value as error:
            if error.code == 429:
                assert error.headers["Retry-After"] == "1"
    for name, rate in (rates | {"ok": 0.5}).items():
        assert abs(seen[name] - 600 * rate) < 4 * (600 * rate * (1 - rate)) ** 0.5, seen
    rows = log_rows(log)
    assert Counter(row["outcome"] for row in rows[:600]) == seen
    assert [row["number"] for row in rows] == list(range(1, len(rows) + 1))
    assert rows[0] | {"time": 0, "outcome": ""} == {
        "number": 1,
        "time": 0,
        "model": "simulated-03",
        "seed": 1,
        "prompt_sha256": hashlib.sha256(PROMPT.encode()).hexdigest(),
        "outcome": "",
    }


def test_latency_is_waited_for() -> None:
    with simulated_panel("--latency", 0.3) as slow:
        started = time.monotonic()
        assert post(slow, ask())[0] == 200
        assert time.monotonic() - started >= 0.3


def test_others_are_answered_while_some_hang(tmp_path: Path) -> None:
    log = tmp_path / "log.jsonl"

    async def talk(panel: Panel) -> list[Any]:
        asked: Any = [{"role": "user", "content": PROMPT}]
        async with client(panel) as api:
            one = api.with_options(timeout=2).chat.completions.create
            asking = (one(model="simulated-01", messages=asked, seed=n) for n in range(30))
            return await asyncio.gather(*asking, return_exceptions=True)

    with simulated_panel("--hang-rate", 0.3, "--request-log", log) as panel:
        replies = asyncio.run(talk(panel))
    hung = sum(isinstance(reply, openai.APITimeoutError) for reply in replies)
    outcomes = Counter(row["outcome"] for row in log_rows(log))
    assert outcomes == {"hang": hung, "ok": 30 - hung} and 0 < hung < 30


def test_a_slow_start_is_unavailable_until_it_is_over() -> None:
    with simulated_panel("--slow-start", 2) as started:
        health = f"{started.url.removesuffix('/v1')}/health"
        assert status_of(health) == 503 and post(started, ask())[0] == 503
        deadline = time.monotonic() + 20
        while status_of(health) == 503 and time.monotonic() < deadline:
            time.sleep(0.1)
        assert status_of(health) == 200 and post(started, ask())[0] == 200


# Start and end -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_a_signal_ends_it_quietly_even_while_a_request_hangs(number: signal.Signals, tmp_path: Path) -> None:
    log = tmp_path / "log.jsonl"
    with simulated_panel("--hang-rate", 1, "--request-log", log) as started:
        with socket.create_connection(("127.0.0.1", started.port), timeout=20) as hanging:
            body = json.dumps(ask()).encode()
            head = f"POST /v1/chat/completions HTTP/1.1\r\nHost: x\r\nContent-Length: {len(body)}\r\n\r\n"
            hanging.sendall(head.encode() + body)
            deadline = time.monotonic() + 20
            while not log.read_bytes() and time.monotonic() < deadline:
                time.sleep(0.02)
            assert [row["outcome"] for row in log_rows(log)] == ["hang"]
            started.process.send_signal(number)
            output, errors = started.process.communicate(timeout=20)
            assert hanging.recv(100) == b""
        assert (started.process.returncode, output, errors) == (0, "", "")


def test_a_taken_port_is_one_line(panel: Panel) -> None:
    command = [sys.executable, "-m", "verifier.simulated", "--port", str(panel.port)]
    result = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=60, check=False)
    assert result.returncode == 2 and result.stdout == ""
    assert result.stderr == (
        f"verifier.simulated: error: port {panel.port} is taken; choose another, or 0 for any that is free\n"
    )


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (["--rate-429", "1.5"], "must be a number from 0 to 1"),
        (["--rate-429", "0.7", "--rate-500", "0.7"], "rates of faults must not add up to over 1"),
        (["--wrong-key-rate", "0.7", "--duplicate-rate", "0.7"], "must not add up to over 1"),
        (["--latency", "-1"], "must be a number of at least 0"),
        (["--request-log", "/nowhere/log.jsonl"], "/nowhere/log.jsonl: cannot be written"),
    ],
)
def test_impossible_options_are_one_line(options: list[str], words: str) -> None:
    command = [sys.executable, "-m", "verifier.simulated", "--port", "0", *options]
    result = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=60, check=False)
    assert result.returncode == 2 and words in result.stderr and result.stderr.count("\n") == 1
