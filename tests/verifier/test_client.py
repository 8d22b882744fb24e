"""The client against servers that misbehave, on loopback."""

from __future__ import annotations

import asyncio
import json
import socket
import time
from collections.abc import Awaitable, Callable
from typing import Any

import pytest
from aiohttp import web

from irt.io import InputError
from verifier import client
from verifier.client import (
    Answered,
    Endpoint,
    ModelStopped,
    RequestFailed,
    complete,
    open_session,
    served_models,
)

Handler = Callable[[web.Request], Awaitable[web.StreamResponse]]
BODY = {"model": "m", "messages": [{"role": "user", "content": "2+2?"}]}
ANSWER = {"choices": [{"message": {"content": "4"}, "finish_reason": "stop"}]}


@pytest.fixture(autouse=True)
def short_pauses(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(client, "FIRST_PAUSE_SECONDS", 0.01)
    monkeypatch.setattr(client, "LONGEST_PAUSE_SECONDS", 0.05)


async def against(handler: Handler, ask: Callable[[Any, Endpoint], Awaitable[Any]]) -> Any:
    """Run a server with one handler for every route, and ask it."""
    application = web.Application()
    application.router.add_route("*", "/{path:.*}", handler)
    runner = web.AppRunner(application)
    await runner.setup()
    site = web.TCPSite(runner, "127.0.0.1", 0)
    await site.start()
    assert site._server is not None
    port = site._server.sockets[0].getsockname()[1]  # type: ignore[attr-defined]
    try:
        async with open_session() as session:
            async with asyncio.timeout(8):  # beyond every deadline in these tests
                return await ask(session, Endpoint(f"http://127.0.0.1:{port}/v1", api_key="secret"))
    finally:
        await runner.cleanup()


def ask_once(handler: Handler, deadline: float = 5.0) -> Any:
    return asyncio.run(against(handler, lambda s, e: complete(s, e, BODY, deadline_seconds=deadline)))


def in_turn(*statuses: int, headers: dict[str, str] | None = None) -> tuple[Handler, list[web.Request]]:
    """Return a handler that answers with each status in turn, the last one for ever, and the requests it has seen."""
    seen: list[web.Request] = []

    async def handler(request: web.Request) -> web.StreamResponse:
        status = statuses[min(len(seen), len(statuses) - 1)]
        seen.append(request)
        if status == 200:
            return web.json_response(ANSWER)
        return web.json_response({"error": {"message": f"sorry, {status}"}}, status=status, headers=headers)

    return handler, seen


def test_the_request_is_sent_as_it_is_with_the_key() -> None:
    async def handler(request: web.Request) -> web.StreamResponse:
        assert request.path == "/v1/chat/completions"
        assert request.headers["Authorization"] == "Bearer secret"
        assert await request.json() == BODY
        return web.json_response(ANSWER)

    assert ask_once(handler).payload == ANSWER


@pytest.mark.parametrize("status", [408, 409, 429, 500, 502, 503, 504])
def test_a_passing_fault_is_tried_again(status: int) -> None:
    handler, seen = in_turn(status, status, 200)
    answered: Answered = ask_once(handler)
    assert (answered.payload, answered.attempts, len(seen)) == (ANSWER, 3, 3)


@pytest.mark.parametrize("status", [400, 401, 403, 404, 405, 413, 422])
def test_a_refusal_stops_the_model_at_once_in_the_servers_words(status: int) -> None:
    handler, seen = in_turn(status)
    with pytest.raises(ModelStopped, match=f"^status {status}: sorry, {status}$"):
        ask_once(handler)
    assert len(seen) == 1


def test_a_lasting_fault_is_given_up_after_eight_attempts() -> None:
    handler, seen = in_turn(500)
    with pytest.raises(RequestFailed, match="status 500: sorry, 500") as caught:
        ask_once(handler)
    assert not isinstance(caught.value, ModelStopped)
    assert len(seen) == caught.value.attempts == client.MAX_ATTEMPTS


def test_the_pause_that_the_server_asks_for_is_kept() -> None:
    handler, seen = in_turn(429, 200, headers={"Retry-After": "0.4"})
    started = time.monotonic()
    ask_once(handler)
    assert time.monotonic() - started >= 0.4
    assert len(seen) == 2


def test_a_pause_beyond_the_deadline_is_not_waited_for() -> None:
    handler, seen = in_turn(429, headers={"Retry-After": "3600"})
    with pytest.raises(RequestFailed, match="status 429"):
        ask_once(handler, deadline=2.0)
    assert len(seen) == 1


def test_a_request_without_an_answer_ends_at_the_deadline_and_is_not_repeated() -> None:
    """Aider#5480: repeating a request that a busy server has taken only adds to its load."""
    seen = []

    async def handler(request: web.Request) -> web.StreamResponse:
        seen.append(request)
        await asyncio.sleep(2.0)
        return web.json_response(ANSWER)

    with pytest.raises(RequestFailed, match="no answer within 1 s"):
        ask_once(handler, deadline=1.0)
    assert len(seen) == 1


def test_slow_attempts_end_at_the_one_deadline() -> None:
    """openai-python#3828: a timeout for each attempt waits for their sum."""

    async def handler(request: web.Request) -> web.StreamResponse:
        await asyncio.sleep(0.4)
        return web.json_response({}, status=503)

    with pytest.raises(RequestFailed, match="no answer within 1 s; before that: status 503"):
        ask_once(handler, deadline=1.0)


def test_a_connection_that_breaks_is_tried_again() -> None:
    seen = []

    async def handler(request: web.Request) -> web.StreamResponse:
        seen.append(request)
        if len(seen) < 3:
            assert request.transport is not None
            request.transport.close()
        return web.json_response(ANSWER)

    assert ask_once(handler).attempts == 3


def test_an_answer_cut_off_on_its_way_is_tried_again() -> None:
    seen = []

    async def handler(request: web.Request) -> web.StreamResponse:
        seen.append(request)
        if len(seen) > 1:
            return web.json_response(ANSWER)
        response = web.StreamResponse(headers={"Content-Length": "1000"})
        await response.prepare(request)
        await response.write(b'{"choices": [')
        assert request.transport is not None
        request.transport.close()
        return response

    assert ask_once(handler).attempts == 2


@pytest.mark.parametrize(
    ("content", "words"),
    [
        (b"<html>\n Bad\n gateway</html>", "<html> Bad gateway</html>"),
        (b'{"error": "no such model"}', "no such model"),
        (b'{"message": "no such model", "object": "error"}', "no such model"),
        (b'{"detail": "Not Found"}', '{"detail": "Not Found"}'),
        (b"[]", "[]"),
        (b"", "(no text)"),
        (b"\xff\xfe", "\ufffd\ufffd"),
        (b"\x1b[31mred", "[31mred"),
        (b"x" * 10_000, "x" * 500),
    ],
)
def test_the_servers_words_are_one_line_whatever_their_form(content: bytes, words: str) -> None:
    async def handler(request: web.Request) -> web.StreamResponse:
        return web.Response(body=content, status=404)

    with pytest.raises(ModelStopped) as caught:
        ask_once(handler)
    assert str(caught.value) == f"status 404: {words}"


def test_a_reply_that_is_not_json_is_a_failure_and_not_a_text() -> None:
    async def handler(request: web.Request) -> web.StreamResponse:
        return web.Response(text="OK")

    with pytest.raises(RequestFailed, match="the reply is not JSON: OK"):
        ask_once(handler)


@pytest.mark.parametrize("status", [200, 400, 500])
def test_json_nested_without_end_is_a_failure_like_any_other(status: int) -> None:
    async def handler(request: web.Request) -> web.StreamResponse:
        return web.Response(text="[" * 200_000, status=status)

    with pytest.raises(RequestFailed):
        ask_once(handler)


def test_a_reply_without_end_is_cut(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(client, "LONGEST_REPLY", 1_000_000)

    async def handler(request: web.Request) -> web.StreamResponse:
        response = web.StreamResponse()
        await response.prepare(request)
        for _ in range(1000):
            await response.write(b"x" * 10_000)
        return response

    with pytest.raises(RequestFailed, match="longer than 1,000,000 bytes"):
        ask_once(handler)


def nobody() -> Endpoint:
    """Return an endpoint where nothing listens."""
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        return Endpoint(f"http://127.0.0.1:{listener.getsockname()[1]}/v1")


def test_a_server_that_is_not_there_stops_the_model() -> None:
    async def ask() -> None:
        async with open_session() as session:
            await complete(session, nobody(), BODY, deadline_seconds=5.0)

    with pytest.raises(ModelStopped, match="nothing answers there"):
        asyncio.run(ask())


# The list of models ---------------------------------------------------------------------------------------------


def models_of(handler: Handler) -> Any:
    return asyncio.run(against(handler, served_models))


def test_the_models_are_listed_with_their_context() -> None:
    async def handler(request: web.Request) -> web.StreamResponse:
        assert (request.method, request.path) == ("GET", "/v1/models")
        return web.json_response({"data": [{"id": "a", "max_model_len": 4096}, {"id": "b"}]})

    assert models_of(handler) == {"a": 4096, "b": None}


def test_a_server_without_a_list_is_told_apart_from_one_without_models() -> None:
    assert models_of(in_turn(404)[0]) is None


@pytest.mark.parametrize("payload", [{}, [], {"data": 3}, {"data": [{"name": "a"}]}, "models"])
def test_another_kind_of_server_is_named(payload: Any) -> None:
    async def handler(request: web.Request) -> web.StreamResponse:
        return web.Response(text=json.dumps(payload), content_type="application/json")

    with pytest.raises(InputError, match="not a list of models; check base_url"):
        models_of(handler)


def test_a_refused_key_is_named() -> None:
    with pytest.raises(InputError, match="status 401: sorry, 401; check the key"):
        models_of(in_turn(401)[0])


def test_a_dead_server_is_one_line() -> None:
    async def ask() -> None:
        async with open_session() as session:
            await served_models(session, nobody())

    with pytest.raises(
        InputError, match=r"/v1: nothing answers there .*; start the server, or correct base_url"
    ) as caught:
        asyncio.run(ask())
    assert "\n" not in str(caught.value)


def test_a_starting_server_is_waited_for() -> None:
    handler, seen = in_turn(503, 503, 503)

    async def starting(request: web.Request) -> web.StreamResponse:
        response = await handler(request)
        return web.json_response({"data": [{"id": "a"}]}) if len(seen) > 3 else response

    assert models_of(starting) == {"a": None}


def test_the_key_comes_from_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MY_KEY", "secret")
    assert client.endpoint_of("http://localhost:1/v1", "MY_KEY").api_key == "secret"
    monkeypatch.delenv("MY_KEY")
    with pytest.raises(InputError, match="the environment variable MY_KEY is not set"):
        client.endpoint_of("http://localhost:1/v1", "MY_KEY")


def test_the_proxy_of_the_environment_is_used_but_not_for_this_machine(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("https_proxy", "http://proxy:3128")
    monkeypatch.setenv("no_proxy", "localhost,127.0.0.1")
    assert client.endpoint_of("https://api.example.com/v1", None).proxy == "http://proxy:3128"
    assert client.endpoint_of("https://localhost:1/v1", None).proxy is None
