"""Asks OpenAI-compatible servers: one pool of connections, bounded retries, one deadline a request.

aiohttp is used directly. Measured on one core at 256 requests in flight (perf/client.py), it takes about a tenth of the
time a request that the openai package does, and the two routes needed here are one POST and one GET.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import random
import time
import urllib.parse
import urllib.request
from collections.abc import AsyncIterator
from dataclasses import dataclass
from typing import Any

import aiohttp

from irt.io import InputError

MAX_ATTEMPTS = 8
FIRST_PAUSE_SECONDS = 0.5
LONGEST_PAUSE_SECONDS = 30.0
PREFLIGHT_SECONDS = 10.0
RETRIED_STATUSES = frozenset({408, 409, 429})  # and all from 500
SHOWN_CHARACTERS = 500


@dataclass(frozen=True)
class Endpoint:
    """A server: its URL up to and with ``/v1``, and the key and the proxy that it takes to get there, if any."""

    base_url: str
    api_key: str | None = None
    proxy: str | None = None


@dataclass(frozen=True)
class Answered:
    """A reply with status 200: its JSON, the attempts that it took, and the seconds of the last one."""

    payload: Any
    attempts: int
    seconds: float


def endpoint_of(base_url: str, api_key_variable: str | None) -> Endpoint:
    """Return the endpoint of a URL, with the key and the proxy that the environment gives for it.

    Raises
    ------
    InputError
        If the variable that should hold the key is not set.
    """
    api_key = os.environ.get(api_key_variable) if api_key_variable else None
    if api_key_variable and not api_key:
        raise InputError(
            f"{base_url}: the environment variable {api_key_variable} is not set; export the key there"
        )
    # aiohttp's trust_env does the same, but would also send passwords from ~/.netrc.
    parts = urllib.parse.urlsplit(base_url)
    bypassed = urllib.request.proxy_bypass(parts.hostname or "")
    return Endpoint(base_url, api_key, None if bypassed else urllib.request.getproxies().get(parts.scheme))


class RequestFailed(Exception):
    """A request was given up; others may still succeed. ``attempts`` were made."""

    def __init__(self, reason: str, attempts: int) -> None:
        super().__init__(reason)
        self.attempts = attempts


class ModelStopped(RequestFailed):
    """No request to this model can succeed: the message holds the server's own words."""


@contextlib.asynccontextmanager
async def open_session() -> AsyncIterator[aiohttp.ClientSession]:
    """Yield the one session of an event loop. Its pool has no limit: callers bound what is in flight.

    A pool smaller than the concurrency would make requests wait inside their own deadline.
    """
    connector = aiohttp.TCPConnector(limit=0)
    async with aiohttp.ClientSession(
        connector=connector, timeout=aiohttp.ClientTimeout(total=None)
    ) as session:
        yield session


async def complete(
    session: aiohttp.ClientSession, endpoint: Endpoint, body: dict[str, Any], *, deadline_seconds: float
) -> Answered:
    """Ask for one chat completion.

    Statuses 408, 409, 429 and 5xx and lost connections are tried again, at most eight times, with growing pauses (or as
    long as the server says in Retry-After). A request that is taken and not answered is not repeated: that would only
    add to the load. Everything ends within the deadline.

    Raises
    ------
    ModelStopped
        If the server refuses the request (another 4xx), or cannot be reached at all.
    RequestFailed
        If the attempts or the time are used up.
    """
    return await _request(session, endpoint, "chat/completions", json.dumps(body).encode(), deadline_seconds)


async def served_models(session: aiohttp.ClientSession, endpoint: Endpoint) -> dict[str, int | None] | None:
    """Return the models that a server has, with their context length where it tells; None if it has no such list.

    A server that is still starting is given ten seconds.

    Raises
    ------
    InputError
        If the server cannot be reached, refuses the key, or does not answer like one.
    """
    url = f"{endpoint.base_url}/models"
    try:
        answered = await _request(session, endpoint, "models", None, PREFLIGHT_SECONDS)
        return {model["id"]: model.get("max_model_len") for model in answered.payload["data"]}
    except ModelStopped as error:
        if str(error).startswith(("status 404", "status 405")):
            return None
        raise InputError(f"{url}: {error}; check base_url and the key") from error
    except RequestFailed as error:
        raise InputError(f"{url}: {error}; is the server up?") from error
    except (KeyError, TypeError, AttributeError) as error:
        raise InputError(f"{url}: not a list of models; check base_url (it ends in /v1)") from error


async def _request(
    session: aiohttp.ClientSession, endpoint: Endpoint, route: str, body: bytes | None, seconds: float
) -> Answered:
    url = f"{endpoint.base_url}/{route}"
    headers = {"Content-Type": "application/json"}
    if endpoint.api_key:
        headers["Authorization"] = f"Bearer {endpoint.api_key}"
    deadline = time.monotonic() + seconds
    reason, reached, attempt = "", False, 0
    while attempt < MAX_ATTEMPTS:
        attempt += 1
        started = time.monotonic()
        pause = _pause(attempt)
        try:
            async with (
                asyncio.timeout(deadline - started),
                session.request(
                    "GET" if body is None else "POST", url, data=body, headers=headers, proxy=endpoint.proxy
                ) as response,
            ):
                content = await response.read()
        except TimeoutError:
            raise RequestFailed(f"no answer within {seconds:g} s" + _before(reason), attempt) from None
        except aiohttp.ClientError as error:
            reason = f"{type(error).__name__}: {error}"
        else:
            reached = True
            if response.status == 200:
                return Answered(_payload(content, attempt), attempt, time.monotonic() - started)
            reason = f"status {response.status}: {_words(content)}"
            if response.status not in RETRIED_STATUSES and response.status < 500:
                raise ModelStopped(reason, attempt)
            pause = max(pause, _asked_pause(response.headers.get("Retry-After")))
        if time.monotonic() + pause >= deadline:
            break
        if attempt < MAX_ATTEMPTS:
            await asyncio.sleep(pause)
    reason = f"{reason} (after {attempt} attempts)"
    raise (RequestFailed if reached else ModelStopped)(reason, attempt)


def _payload(content: bytes, attempt: int) -> Any:
    try:
        return json.loads(content)
    except ValueError as error:
        raise RequestFailed(f"the reply is not JSON: {_words(content)}", attempt) from error


def _words(content: bytes) -> str:
    """Return what the server says went wrong, in one line."""
    text = content.decode(errors="replace")
    try:
        found = json.loads(text)
        found = found.get("error", found)
        text = found["message"] if isinstance(found, dict) else str(found)
    except (ValueError, AttributeError, KeyError):
        pass  # not OpenAI's form: the text as it is
    return " ".join(str(text).split())[:SHOWN_CHARACTERS] or "(no text)"


def _before(reason: str) -> str:
    return f"; before that: {reason}" if reason else ""


def _pause(attempt: int) -> float:
    """Return the seconds to wait after an attempt: doubling, and scattered, or all would come back at once."""
    longest: float = min(LONGEST_PAUSE_SECONDS, FIRST_PAUSE_SECONDS * 2 ** (attempt - 1))
    return longest * random.uniform(0.5, 1.0)


def _asked_pause(retry_after: str | None) -> float:
    try:
        return max(0.0, float(retry_after or 0))
    except ValueError:
        return 0.0  # a date, which no server of this kind sends
