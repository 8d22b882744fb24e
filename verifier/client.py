"""Asks OpenAI-compatible servers: one pool of connections, bounded retries, one deadline a request.

aiohttp is used directly. Measured on one core at 256 requests in flight (perf/client.py), it takes about a tenth of the
time a request that the openai package does, and the two routes needed here are one POST and one GET.
"""

from __future__ import annotations

import asyncio
import contextlib
import errno
import json
import os
import random
import time
import urllib.parse
import urllib.request
from collections.abc import AsyncIterator, Callable
from dataclasses import dataclass
from typing import Any

import aiohttp

from irt.io import InputError

MAX_ATTEMPTS = 8
TROUBLE_ATTEMPTS = 3
FIRST_PAUSE_SECONDS = 0.5
LONGEST_PAUSE_SECONDS = 30.0
PREFLIGHT_SECONDS = 5.0
RETRIED_STATUSES = frozenset({408, 409, 429})  # and all from 500
SHOWN_CHARACTERS = 500
LONGEST_REPLY = 64_000_000  # bytes; the longest answer of a model is a hundredth of that


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
            f"{base_url}: the environment variable {api_key_variable} is not set; export {api_key_variable}=... first"
        )
    if api_key and not api_key.isprintable():
        raise InputError(
            f"{api_key_variable} has a line break or another control character in it; export the key alone"
        )
    # aiohttp's trust_env does the same, but would also send passwords from ~/.netrc.
    parts = urllib.parse.urlsplit(base_url)
    bypassed = urllib.request.proxy_bypass(parts.hostname or "")
    return Endpoint(base_url, api_key, None if bypassed else urllib.request.getproxies().get(parts.scheme))


class RequestFailed(Exception):
    """A request was given up after some attempts; others may still succeed.

    ``status`` is that of the last answer, None where there was none.
    """

    def __init__(self, reason: str, attempts: int, status: int | None = None) -> None:
        super().__init__(reason)
        self.attempts = attempts
        self.status = status


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
    session: aiohttp.ClientSession,
    endpoint: Endpoint,
    body: dict[str, Any],
    *,
    deadline_seconds: float,
    on_trouble: Callable[[str], None] = lambda reason: None,
) -> Answered:
    """Ask for one chat completion.

    Statuses 408, 409, 429 and 5xx and lost connections are tried again, at most eight times, with growing pauses (or as
    long as the server says in Retry-After). A request that is taken and not answered is not repeated: that would only
    add to the load. Everything ends within the deadline. From the third attempt that fails on, ``on_trouble`` is called
    with the reason.

    Raises
    ------
    ModelStopped
        If the server refuses the request (another 4xx), or cannot be reached at all.
    RequestFailed
        If the attempts or the time are used up.
    """
    content = json.dumps(body).encode()
    return await _request(session, endpoint, "chat/completions", content, deadline_seconds, on_trouble)


async def served_models(session: aiohttp.ClientSession, endpoint: Endpoint) -> dict[str, int | None] | None:
    """Return the models that a server has, with their context length where it tells; None if it has no such list.

    A server that is still starting is given five seconds.

    Raises
    ------
    InputError
        If the server cannot be reached, refuses the key, or does not answer like one.
    """
    url = endpoint.base_url
    try:
        answered = await _request(session, endpoint, "models", None, PREFLIGHT_SECONDS)
        return {str(model["id"]): _context(model.get("max_model_len")) for model in answered.payload["data"]}
    except ModelStopped as error:
        if error.status in (404, 405) and urllib.parse.urlsplit(url).path:
            return None
        if error.status is None:
            remedy = "start the server, or correct base_url"
        elif error.status in (401, 403):
            remedy = "check the key: api_key_variable in the panel, and the variable that it names"
        else:
            remedy = "correct base_url; does it lack /v1?"
        raise InputError(f"{url}: {error}; {remedy}") from error
    except RequestFailed as error:
        raise InputError(f"{url}: {error}; is the server up?") from error
    except (KeyError, TypeError, AttributeError) as error:
        raise InputError(f"{url}: not a list of models; check base_url (it ends in /v1)") from error


def _context(length: Any) -> int | None:
    """Return a context length; some servers say 0, or nothing, for unknown."""
    return length if isinstance(length, int) and length > 0 else None


async def _request(
    session: aiohttp.ClientSession,
    endpoint: Endpoint,
    route: str,
    body: bytes | None,
    seconds: float,
    on_trouble: Callable[[str], None] = lambda reason: None,
) -> Answered:
    url = f"{endpoint.base_url}/{route}"
    headers = {"Content-Type": "application/json"}
    if endpoint.api_key:
        headers["Authorization"] = f"Bearer {endpoint.api_key}"
    deadline = time.monotonic() + seconds
    reason, status, attempt = "", None, 0
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
                content = await _read(response)
        except TimeoutError:
            raise RequestFailed(f"no answer within {seconds:g} s" + _before(reason), attempt) from None
        except _TooLong as error:
            raise RequestFailed(f"the reply is longer than {LONGEST_REPLY:,} bytes", attempt) from error
        except aiohttp.ClientConnectorError as error:
            if error.os_error.errno in (errno.EMFILE, errno.ENFILE):
                raise InputError(
                    "too many open files; raise `ulimit -n`, or lower concurrency in the panel"
                ) from error
            reason = f"nothing answers there ({error.os_error.strerror or error.os_error})"
        except aiohttp.ClientError as error:
            reason = f"the connection broke ({type(error).__name__}: {error})"
        else:
            status = response.status
            if status == 200:
                return Answered(_payload(content, attempt), attempt, time.monotonic() - started)
            reason = f"status {status}: {_words(content)}"
            if status not in RETRIED_STATUSES and status < 500:
                raise ModelStopped(reason, attempt, status)
            pause = max(pause, _asked_pause(response.headers.get("Retry-After")))
        if time.monotonic() + pause >= deadline:
            break
        if attempt >= TROUBLE_ATTEMPTS:
            on_trouble(reason)
        if attempt < MAX_ATTEMPTS:
            await asyncio.sleep(pause)
    reason = f"{reason} (after {attempt} attempts)"
    raise (ModelStopped if status is None else RequestFailed)(reason, attempt, status)


async def _read(response: aiohttp.ClientResponse) -> bytes:
    """Return the body; a server that never stops sending must not fill the memory."""
    content = bytearray()
    async for block in response.content.iter_chunked(1 << 16):
        content += block
        if len(content) > LONGEST_REPLY:
            raise _TooLong
    return bytes(content)


class _TooLong(Exception):
    pass


def _payload(content: bytes, attempt: int) -> Any:
    try:
        return json.loads(content)
    except (ValueError, RecursionError) as error:
        raise RequestFailed(f"the reply is not JSON: {_words(content)}", attempt) from error


def _words(content: bytes) -> str:
    """Return what the server says went wrong, in one line."""
    text = content.decode(errors="replace")
    try:
        found = json.loads(text)
        found = found.get("error", found)
        text = found["message"] if isinstance(found, dict) else str(found)
    except (ValueError, RecursionError, AttributeError, KeyError):
        pass  # not OpenAI's form: the text as it is
    printable = "".join(
        character if character.isprintable() else " " for character in str(text)[: 4 * SHOWN_CHARACTERS]
    )
    return " ".join(printable.split())[:SHOWN_CHARACTERS] or "(no text)"


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
