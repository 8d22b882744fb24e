"""The simulated panel as an OpenAI-compatible server: /health, /v1/models, /v1/chat/completions.

It refuses what vLLM refuses, in the same form: {"error": {"message", "type", "param", "code"}}.
"""

from __future__ import annotations

import asyncio
import hashlib
import itertools
import json
import os
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from aiohttp import web
from aiohttp.typedefs import Handler

from irt.io import InputError
from verifier.simulated.examinees import Answer, answer
from verifier.simulated.families import ABILITIES, REWRITER
from verifier.simulated.faults import Faults
from verifier.simulated.problem import uniform
from verifier.simulated.rewriter import RewriterHabits, rewrite

MODELS = (*ABILITIES, REWRITER)
END_TAG_ALONE = "simulated-12"
HEADERS = {"Server": "simulated panel"}
CHARACTERS_PER_TOKEN = 4
RETRY_AFTER_SECONDS = 1
DEFAULT_MAX_TOKENS = 2048
LARGEST_BODY = 1 << 26


@dataclass(frozen=True)
class Request:
    """A chat completion that is in order: of it the model, the last user message, the seed and the limit matter."""

    model: str
    prompt: str
    seed: int | None
    max_tokens: int
    prompt_tokens: int


class Refused(Exception):
    """A request that is answered with an error; ``status`` is that of HTTP."""

    def __init__(self, status: int, kind: str, message: str) -> None:
        super().__init__(message)
        self.status = status
        self.kind = kind


def make_app(
    faults: Faults, habits: RewriterHabits, *, api_key: str | None = None, request_log: Path | None = None
) -> web.Application:
    """Return the server's application.

    Parameters
    ----------
    api_key
        If given, requests without it are refused with status 401.
    request_log
        A file to which one JSON line a completion request is appended, before it is answered: number, time, model,
        seed, prompt_sha256 (of the last user message), outcome.

    Raises
    ------
    InputError
        If the log cannot be opened.
    """
    log = _open_log(request_log)
    numbers = itertools.count(1)
    started = time.monotonic()

    def check_ready_and_key(http: web.Request) -> None:
        if time.monotonic() - started < faults.slow_start:
            raise Refused(503, "ServiceUnavailableError", "the simulated server is still starting")
        if api_key is not None and http.headers.get("Authorization") != f"Bearer {api_key}":
            raise Refused(401, "AuthenticationError", "Incorrect API key provided to the simulated server.")

    async def health(http: web.Request) -> web.Response:
        if time.monotonic() - started < faults.slow_start:
            raise Refused(503, "ServiceUnavailableError", "the simulated server is still starting")
        return web.Response(headers=HEADERS)

    async def models(http: web.Request) -> web.Response:
        check_ready_and_key(http)
        data = [
            {
                "id": name,
                "object": "model",
                "created": 0,
                "owned_by": "simulated",
                "max_model_len": faults.context,
            }
            for name in MODELS
        ]
        return _json({"object": "list", "data": data})

    async def completions(http: web.Request) -> web.Response:
        number = next(numbers)
        body = await http.read()
        request, outcome = None, ""
        try:
            check_ready_and_key(http)
            request = read_request(body, faults.context)
            outcome = faults.of_request(number)
        except Refused as error:
            outcome = str(error.status)
            raise
        finally:
            # One write, so that a log read at any time has whole lines.
            if log is not None:
                os.write(log, _log_line(number, request, outcome))
        if outcome == "hang":
            await asyncio.Event().wait()
        if faults.latency:
            await asyncio.sleep(faults.latency)
        if outcome == "429":
            raise Refused(429, "RateLimitError", "Rate limit reached (simulated fault).")
        if outcome == "500":
            raise Refused(500, "InternalServerError", "Internal server error (simulated fault).")
        return _json(_completion(number, request, outcome, faults, habits))

    # A request that hangs must end when its client leaves, so handlers are cancelled: see serve.
    app = web.Application(middlewares=[_errors_as_json], client_max_size=LARGEST_BODY)
    app.router.add_get("/health", health)
    app.router.add_get("/v1/models", models)
    app.router.add_post("/v1/chat/completions", completions)
    return app


def read_request(body: bytes, context: int) -> Request:
    """Check the body of a request.

    Raises
    ------
    Refused
        400 for what is malformed, unsupported or too long, 404 for a model that is not served.
    """
    try:
        fields = json.loads(body)
    except (ValueError, RecursionError) as error:
        raise _bad(f"the body is not JSON: {error}") from error
    if not isinstance(fields, dict):
        raise _bad("the body must be a JSON object")
    model = fields.get("model")
    if not isinstance(model, str):
        raise _bad("model must be a text")
    if model not in MODELS:
        raise Refused(404, "NotFoundError", f"The model `{model}` does not exist.")
    if fields.get("stream"):
        raise _bad("stream must be false: the simulated panel does not stream")
    if fields.get("n") not in (None, 1):
        raise _bad("n must be 1: the simulated panel gives one reply a request")
    seed = fields.get("seed")
    if seed is not None and (isinstance(seed, bool) or not isinstance(seed, int)):
        raise _bad(f"seed must be a whole number, found {seed!r}")
    temperature = fields.get("temperature")
    if temperature is not None and not (type(temperature) in (int, float) and 0 <= temperature <= 2):
        raise _bad(f"temperature must be a number from 0 to 2, found {temperature!r}")
    texts = _messages(fields.get("messages"))
    prompt = next((text for role, text in reversed(texts) if role == "user"), None)
    if prompt is None:
        raise _bad("messages must have one of the user")
    prompt_tokens = _tokens("".join(text for _, text in texts)) + 4 * len(texts)
    asked = fields.get("max_completion_tokens") or fields.get("max_tokens")
    if asked is not None and (type(asked) is not int or asked < 1):
        raise _bad(f"max_tokens must be a whole number of at least 1, found {asked!r}")
    if prompt_tokens + (asked or 1) > context:
        raise _bad(
            f"This model's maximum context length is {context} tokens. However, you requested "
            f"{prompt_tokens + (asked or 1)} tokens ({prompt_tokens} in the messages, {asked or 1} in the "
            "completion). Please reduce the length of the messages or completion."
        )
    max_tokens = asked or min(DEFAULT_MAX_TOKENS, context - prompt_tokens)
    return Request(model, prompt, seed, max_tokens, prompt_tokens)


def _messages(messages: Any) -> list[tuple[str, str]]:
    """Return (role, text) of every message; a text may come whole or in parts."""
    if not isinstance(messages, list) or not messages:
        raise _bad("messages must be a list that is not empty")
    texts = []
    for message in messages:
        role = message.get("role") if isinstance(message, dict) else None
        if role not in ("system", "developer", "user", "assistant"):
            raise _bad(f"a message must have the role system, developer, user or assistant, found {role!r}")
        content = message.get("content")
        parts = [{"type": "text", "text": content}] if isinstance(content, str) else content
        if not isinstance(parts, list) or not all(
            isinstance(part, dict) and part.get("type") == "text" and isinstance(part.get("text"), str)
            for part in parts
        ):
            raise _bad("the content of a message must be a text, or parts of type text")
        texts.append((role, "".join(part["text"] for part in parts)))
    return texts


def _completion(
    number: int, request: Request, outcome: str, faults: Faults, habits: RewriterHabits
) -> dict[str, Any]:
    # Without a seed every request is another draw.
    seed = f"unseeded {faults.seed} {number}" if request.seed is None else request.seed
    if request.model == REWRITER:
        reply = rewrite(request.prompt, seed, habits)
    else:
        reply = answer(request.model, request.prompt, seed)
    message: dict[str, Any] = {"role": "assistant", "content": reply.text}
    limit = request.max_tokens * CHARACTERS_PER_TOKEN
    if outcome == "cut_off":
        limit = min(limit, int(_length(reply, faults) * uniform("cut off", faults.seed, number)))
    # Some models send the end tag alone, as their chat template has the start.
    start_tag = "" if request.model == END_TAG_ALONE else "<think>\n"
    finish = _place_thinking(message, reply, faults.reasoning_field, limit, start_tag)
    if outcome == "null_content":
        message["content"] = None
    written = _tokens("".join(value for key, value in message.items() if key != "role" and value))
    return {
        "id": f"chatcmpl-simulated-{number}",
        "object": "chat.completion",
        "created": int(time.time()),
        "model": request.model,
        "system_fingerprint": "simulated",
        "choices": [{"index": 0, "message": message, "logprobs": None, "finish_reason": finish}],
        "usage": {
            "prompt_tokens": request.prompt_tokens,
            "completion_tokens": written,
            "total_tokens": request.prompt_tokens + written,
        },
    }


def _length(reply: Answer, faults: Faults) -> int:
    thinking = reply.thinking if faults.reasoning_field != "none" else None
    return len(thinking or "") + len(reply.text)


def _place_thinking(message: dict[str, Any], reply: Answer, where: str, limit: int, start_tag: str) -> str:
    """Put the thinking where the server would, hold all to ``limit`` characters, and return the finish reason."""
    thinking = reply.thinking if where != "none" else None
    if where == "inline" and thinking is not None:
        message["content"] = f"{start_tag}{thinking}\n</think>\n\n{reply.text}"
    elif thinking is not None:
        message[where] = thinking[:limit]
        if limit <= len(thinking):
            message["content"] = None
            return "length"
        limit -= len(thinking)
    if len(message["content"]) <= limit:
        return "stop"
    message["content"] = message["content"][:limit]
    return "length"


def _tokens(text: str) -> int:
    return len(text) // CHARACTERS_PER_TOKEN + 1


def _bad(message: str) -> Refused:
    return Refused(400, "BadRequestError", message)


def _json(payload: dict[str, Any], status: int = 200, headers: dict[str, str] | None = None) -> web.Response:
    return web.Response(
        body=json.dumps(payload).encode(),
        status=status,
        headers=HEADERS | (headers or {}),
        content_type="application/json",
    )


@web.middleware
async def _errors_as_json(request: web.Request, handler: Handler) -> web.StreamResponse:
    try:
        return await handler(request)
    except Refused as error:
        status, kind, message = error.status, error.kind, str(error)
    except web.HTTPException as error:
        kind = "NotFoundError" if error.status == 404 else "BadRequestError"
        status, message = error.status, f"{request.method} {request.path}: {error.reason}"
    payload = {"error": {"message": message, "type": kind, "param": None, "code": status}}
    return _json(payload, status, {"Retry-After": str(RETRY_AFTER_SECONDS)} if status == 429 else None)


def _open_log(path: Path | None) -> int | None:
    if path is None:
        return None
    try:
        return os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o644)
    except OSError as error:
        raise InputError(
            f"{path}: cannot be written ({error.strerror}); name another file for --request-log"
        ) from error


def _log_line(number: int, request: Request | None, outcome: str) -> bytes:
    digest = hashlib.sha256(request.prompt.encode("utf-8", "surrogatepass")).hexdigest() if request else None
    row = {
        "number": number,
        "time": round(time.time(), 3),
        "model": request.model if request else None,
        "seed": request.seed if request else None,
        "prompt_sha256": digest,
        "outcome": outcome,
    }
    return json.dumps(row).encode() + b"\n"
