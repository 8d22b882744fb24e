"""Downloads of pinned files: whole, verified and within a deadline, or one line on why not.

Hugging Face files come through huggingface_hub, which reads HF_ENDPOINT, HF_TOKEN and HF_HOME and keeps what it has
downloaded; GitHub files from BENCHFILL_GITHUB_RAW, by default https://raw.githubusercontent.com.
"""

from __future__ import annotations

import hashlib
import http.client
import os
import re
import sys
import threading
import time
import urllib.error
import urllib.request
from collections.abc import Callable
from functools import partial
from pathlib import Path

from irt.io import InputError
from verifier.pools.sources import Source

GITHUB_RAW = "https://raw.githubusercontent.com"
SECONDS = 60.0
SECONDS_A_READ = 10.0  # without a byte
TRIES = 3
CHUNK = 1 << 16
WORTH_ANOTHER_TRY = (408, 429, 500, 502, 503, 504)
LARGEST = 1 << 28  # bytes; the files are below a megabyte


def fetch(source: Source, folder: Path, seconds: float = SECONDS) -> list[Path]:
    """Download the files of a benchmark.

    Parameters
    ----------
    folder
        Where files from GitHub are put. Files from the Hub stay in the cache of huggingface_hub.
    seconds
        The deadline for all files together.

    Returns
    -------
    list of Path
        In the order of ``source.files``.

    Raises
    ------
    InputError
        In one line what could not be had, why, and what to do.
    """
    deadline = time.monotonic() + seconds
    get = _from_hub if source.home == "hub" else _from_github
    return [
        _within(deadline, seconds, source, partial(get, source, number, folder))
        for number in range(len(source.files))
    ]


def _within(deadline: float, seconds: float, source: Source, get: Callable[[], Path]) -> Path:
    """Call ``get`` in a thread that is given up at the deadline: a library's own retries have none."""
    outcome: list[Path | Exception] = []

    def work() -> None:
        try:
            outcome.append(get())
        except (InputError, OSError) as error:
            outcome.append(error)

    thread = threading.Thread(target=work, daemon=True)
    thread.start()
    thread.join(max(0.0, deadline - time.monotonic()))
    if thread.is_alive():
        raise _failure(source, f"not there after {seconds:g} s; is {_endpoint(source)} reachable?")
    if not outcome:
        raise RuntimeError(f"the download of {source.address} failed; its traceback is above")
    if isinstance(outcome[0], Exception):
        raise outcome[0]
    return outcome[0]


def _failure(source: Source, reason: str) -> InputError:
    return InputError(f"{source.address}: {reason} (a local copy can be read with --from)")


def _endpoint(source: Source) -> str:
    if source.home == "hub":
        return os.environ.get("HF_ENDPOINT") or "https://huggingface.co"
    return os.environ.get("BENCHFILL_GITHUB_RAW") or GITHUB_RAW


def _check_content(source: Source, number: int, path: Path, content: bytes) -> None:
    """Hold a file to the sha256 that is on record, or to its name in the cache, which is the Hub's checksum."""
    name = path.resolve().name
    if source.sha256:
        expected, actual = source.sha256[number], hashlib.sha256(content).hexdigest()
    elif re.fullmatch(r"[0-9a-f]{64}", name):
        expected, actual = name, hashlib.sha256(content).hexdigest()
    elif re.fullmatch(r"[0-9a-f]{40}", name):
        expected, actual = name, hashlib.sha1(b"blob %d\0" % len(content) + content).hexdigest()
    else:
        return
    if actual != expected:
        raise _failure(
            source,
            f"{source.files[number]} is not the file on record (checksum {actual[:12]}, not {expected[:12]}); "
            f"remove {path.resolve()} and fetch again",
        )


# Hugging Face Hub ----------------------------------------------------------------------------------------------


def _from_hub(source: Source, number: int, folder: Path) -> Path:
    try:
        import httpx2
        import huggingface_hub
    except ModuleNotFoundError as error:
        raise InputError(
            f"{sys.executable} has no package {error.name!r}; use `make setup`, or "
            "`python -m pip install -r requirements_verifier.txt` with Python 3.12 or newer"
        ) from error
    # What goes wrong is said here once, not by the library at each of its tries.
    huggingface_hub.logging.set_verbosity(huggingface_hub.logging.CRITICAL)
    huggingface_hub.utils.disable_progress_bars()
    try:
        path = Path(
            huggingface_hub.hf_hub_download(
                source.repository, source.files[number], repo_type="dataset", revision=source.revision
            )
        )
    except (OSError, httpx2.HTTPError, httpx2.InvalidURL, huggingface_hub.errors.EntryNotFoundError) as error:
        raise _failure(source, _hub_reason(source, number, error)) from error
    if source.revision not in path.parts:
        raise _failure(source, f"{_endpoint(source)} answers with another revision; is it a true mirror?")
    _check_content(source, number, path, path.read_bytes())
    return path


def _hub_reason(source: Source, number: int, error: Exception) -> str:
    """Return why, in the words of this program: the library's run over many lines."""
    from huggingface_hub import errors

    endpoint, page = _endpoint(source), f"{_endpoint(source)}/datasets/{source.repository}"
    if isinstance(error, errors.LocalEntryNotFoundError) and isinstance(error.__cause__, Exception):
        return _hub_reason(source, number, error.__cause__)
    status = error.response.status_code if isinstance(error, errors.HfHubHTTPError) else None
    if isinstance(error, errors.GatedRepoError) or status in (401, 403):
        token = "the token in HF_TOKEN has no access" if os.environ.get("HF_TOKEN") else "access is refused"
        return f"{token} (HTTP {status}); accept the terms at {page} and set HF_TOKEN to your token"
    if isinstance(error, errors.RevisionNotFoundError):
        return f"{endpoint} has no such revision"
    if isinstance(error, errors.RepositoryNotFoundError):
        return f"{endpoint} has no such data set, or it is private (HTTP {status}); is HF_ENDPOINT right?"
    if isinstance(error, errors.RemoteEntryNotFoundError):
        return f"{endpoint} has no file {source.files[number]} there"
    if isinstance(error, errors.OfflineModeIsEnabled):
        return "HF_HUB_OFFLINE is set and the file is not in the cache"
    if status is not None:
        return f"{endpoint} fails (HTTP {status}); try again later"
    if "Consistency check failed" in str(error):
        return f"{source.files[number]} broke off on the way; try again"
    if isinstance(error, OSError) and error.filename is not None:
        return f"the cache cannot be used ({error.filename}: {error.strerror}); is HF_HOME right?"
    return f"{endpoint}: {type(error).__name__}: {' '.join(str(error).split())[:200]}"


# GitHub --------------------------------------------------------------------------------------------------------


def _from_github(source: Source, number: int, folder: Path) -> Path:
    base = _endpoint(source).rstrip("/")
    if not base.startswith(("http://", "https://")):
        raise InputError(f"BENCHFILL_GITHUB_RAW must begin with http:// or https://, found {base!r}")
    url = f"{base}/{source.repository}/{source.revision}/{source.files[number]}"
    content = _get(source, url)
    # Files of one benchmark may share their last name, and their name tells the task.
    path = folder / str(number) / Path(source.files[number]).name
    _check_content(source, number, path, content)
    path.parent.mkdir(parents=True)
    path.write_bytes(content)
    return path


def _get(source: Source, url: str) -> bytes:
    reason = ""
    for number in range(TRIES):
        time.sleep(0.5 * number)
        try:
            with urllib.request.urlopen(url, timeout=SECONDS_A_READ) as response:
                return _whole_body(response)
        except urllib.error.HTTPError as error:
            error.close()
            if error.code == 404:
                raise _failure(source, f"{url} is not there (HTTP 404)") from error
            if error.code not in WORTH_ANOTHER_TRY:
                raise _failure(source, f"{url} is refused (HTTP {error.code})") from error
            reason = f"HTTP {error.code}"
        except (urllib.error.URLError, http.client.HTTPException, OSError, ValueError) as error:
            reason = " ".join(str(getattr(error, "reason", error)).split()) or type(error).__name__
    raise _failure(source, f"{url} cannot be had in {TRIES} tries ({reason}); try again later")


def _whole_body(response: http.client.HTTPResponse) -> bytes:
    """Return the body, and raise if the connection ended before the length that was announced."""
    parts: list[bytes] = []
    length = 0
    while chunk := response.read(CHUNK):
        parts.append(chunk)
        length += len(chunk)
        if length > LARGEST:
            raise OSError(f"more than {LARGEST} bytes")
    announced = response.headers.get("Content-Length")
    if announced is not None and int(announced) != length:
        raise OSError(f"broke off after {length} of {announced} bytes")
    return b"".join(parts)
