"""The panel: which models answer the items, how each is sampled, and where each is served. Read from a TOML file.

A verifier is more than a model. The same weights sampled at another temperature, or with thinking switched off, are
another test taker with another ability, so everything that shapes its answers is part of its identity.
"""

from __future__ import annotations

import hashlib
import json
import math
import re
import tomllib
from dataclasses import dataclass
from typing import Any

from irt.io import InputError, PathLike, open_text

LARGEST = 10_000_000  # of any setting; no context is as long, and no deadline
SMALLEST_PANEL = 3  # fewer say too little about an item's difficulty

# What every request to vLLM must state: left out, a parameter silently comes from the model's generation_config.json.
VLLM_SAMPLING = ("temperature", "top_p", "top_k", "min_p", "presence_penalty", "repetition_penalty")
# What hosted APIs know. They refuse the rest, and some refuse all but temperature.
HOSTED_SAMPLING = ("temperature", "top_p", "presence_penalty", "frequency_penalty")

THINKING = ("none", "always", "on", "off", "low", "medium", "high")

_TOP_LEVEL = {"concurrency": 64, "deadline_seconds": 1800}
_REQUIRED = ("name", "model", "thinking", "max_tokens", "sampling")
_OPTIONAL = ("revision", "gpus", "base_url", "api", "api_key_variable", "system_prompt", "serve_arguments")


@dataclass(frozen=True)
class Verifier:
    """One test taker.

    Attributes
    ----------
    name
        Its row in the response matrix.
    model, revision
        What the server calls it; the commit of its weights (empty for a hosted model).
    thinking
        ``none``: it does not reason before it answers. ``always``: it does, and cannot be told not to. ``on``, ``off``:
        the chat template's ``enable_thinking``. ``low``, ``medium``, ``high``: the ``reasoning_effort``.
    api
        ``vllm``: takes all of vLLM's sampling parameters. ``hosted``: takes those of OpenAI's API.
    max_tokens
        Of one answer, reasoning included.
    sampling
        The sampling parameters that are given; all of them are sent with every request.
    base_url
        Where it is served, up to and with ``/v1``; None: a server is started for it, on ``gpus`` GPUs.
    api_key_variable
        The environment variable with the key, or None.
    serve_arguments
        Further arguments of ``vllm serve``. No part of the identity: most say how fast, not what, it answers. If one
        changes the answers (quantization, a chat template), give the verifier another name.
    """

    name: str
    model: str
    revision: str
    thinking: str
    api: str
    max_tokens: int
    sampling: tuple[tuple[str, float], ...]
    base_url: str | None
    gpus: int
    api_key_variable: str | None
    system_prompt: str | None
    serve_arguments: tuple[str, ...]

    @property
    def identity(self) -> str:
        """Twelve hexadecimal digits that change with whatever shapes the answers."""
        shaping = (
            self.model,
            self.revision,
            self.sampling,
            self.thinking,
            self.max_tokens,
            self.system_prompt,
        )
        return hashlib.sha256(json.dumps(shaping).encode()).hexdigest()[:12]


@dataclass(frozen=True)
class Panel:
    """The verifiers, in the order of the matrix rows, and what holds for all servers.

    Attributes
    ----------
    concurrency
        Requests that one server has at a time.
    deadline_seconds
        The longest that one request may take, all its attempts together, from when it is first sent.
    """

    verifiers: tuple[Verifier, ...]
    concurrency: int
    deadline_seconds: float


def read_panel(path: PathLike) -> Panel:
    """Read a panel.

    Raises
    ------
    InputError
        If the file is not TOML, or has an unknown, missing or impossible value, with the verifier and the key.
    """
    with open_text(path) as handle:
        text = handle.read()
    try:
        table = tomllib.loads(text)
    except (ValueError, RecursionError) as error:  # also a number of thousands of digits
        raise InputError(f"{path}: not TOML ({error})") from error
    if unknown := sorted(set(table) - {*_TOP_LEVEL, "verifier"}):
        raise InputError(
            f"{path}: unknown key {unknown[0]!r}; a panel has {', '.join(_TOP_LEVEL)} and [[verifier]]"
        )
    entries = table.get("verifier", [])
    if not isinstance(entries, list) or not all(isinstance(entry, dict) for entry in entries):
        raise InputError(f"{path}: write each verifier as a table headed [[verifier]]")
    verifiers = tuple(read_verifier(entry, f"{path}: verifier {n}") for n, entry in enumerate(entries, 1))
    names = [verifier.name for verifier in verifiers]
    if twice := sorted({name for name in names if names.count(name) > 1}):
        raise InputError(f"{path}: two verifiers are named {twice[0]!r}; give each its own name")
    if len(verifiers) < SMALLEST_PANEL:
        raise InputError(f"{path}: a panel needs at least {SMALLEST_PANEL} verifiers, found {len(verifiers)}")
    limits = {key: whole(table.get(key, default), f"{path}: {key}") for key, default in _TOP_LEVEL.items()}
    return Panel(verifiers, **limits)


def read_verifier(entry: dict[str, Any], where: str) -> Verifier:
    """Read one verifier's table; ``where`` begins every message.

    Raises
    ------
    InputError
        If a value is unknown, missing or impossible.
    """
    name = entry.get("name")
    where = f"{where} ({name})" if isinstance(name, str) and name else where
    if unknown := sorted(set(entry) - {*_REQUIRED, *_OPTIONAL}):
        known = ", ".join((*_REQUIRED, *_OPTIONAL))
        raise InputError(f"{where}: unknown key {unknown[0]!r}; a verifier has {known}")
    if missing := [key for key in _REQUIRED if key not in entry]:
        raise InputError(f"{where}: {missing[0]} is missing")
    if entry["thinking"] not in THINKING:
        raise InputError(
            f"{where}: thinking must be one of {', '.join(THINKING)}, found {entry['thinking']!r}"
        )
    verifier = Verifier(
        name=_text(entry, "name", where),
        model=_text(entry, "model", where),
        revision=_text(entry, "revision", where) if "revision" in entry else "",
        thinking=entry["thinking"],
        api=_api(entry, where),
        max_tokens=whole(entry["max_tokens"], f"{where}: max_tokens"),
        sampling=_sampling(entry, where),
        base_url=_url(entry, where) if "base_url" in entry else None,
        gpus=whole(entry.get("gpus", 1), f"{where}: gpus"),
        api_key_variable=_text(entry, "api_key_variable", where) if "api_key_variable" in entry else None,
        system_prompt=_text(entry, "system_prompt", where) if "system_prompt" in entry else None,
        serve_arguments=_arguments(entry.get("serve_arguments", []), where),
    )
    if verifier.base_url is None:
        for key in ("revision", "gpus"):
            if key not in entry:
                raise InputError(f"{where}: give base_url, or {key} for the server that is started for it")
    return verifier


def _api(entry: dict[str, Any], where: str) -> str:
    api = entry.get("api", "vllm")
    if api not in ("vllm", "hosted"):
        raise InputError(f"{where}: api must be vllm or hosted, found {api!r}")
    return str(api)


def _sampling(entry: dict[str, Any], where: str) -> tuple[tuple[str, float], ...]:
    api, given = _api(entry, where), entry["sampling"]
    if not isinstance(given, dict):
        raise InputError(f"{where}: sampling must be a table, found {given!r}")
    known = VLLM_SAMPLING if api == "vllm" else HOSTED_SAMPLING
    if unknown := sorted(set(given) - set(known)):
        raise InputError(f"{where}: unknown sampling parameter {unknown[0]!r}; {api} has {', '.join(known)}")
    if missing := [key for key in VLLM_SAMPLING if api == "vllm" and key not in given]:
        raise InputError(
            f"{where}: sampling has no {missing[0]}; state all of {', '.join(VLLM_SAMPLING)}, as the model's own "
            'defaults would apply otherwise (a hosted API that refuses some: api = "hosted")'
        )
    for key, value in given.items():
        number = isinstance(value, (int, float)) and not isinstance(value, bool) and math.isfinite(value)
        if not number or (key == "top_k" and value != int(value)):
            raise InputError(f"{where}: {key} must be a {'whole ' * (key == 'top_k')}number, found {value!r}")
    # 1 and 1.0 are the same sampling.
    return tuple(
        (key, int(given[key]) if key == "top_k" else float(given[key])) for key in known if key in given
    )


def _text(entry: dict[str, Any], key: str, where: str) -> str:
    value = entry[key]
    if not isinstance(value, str) or not value.strip() or "\n" in value and key != "system_prompt":
        raise InputError(f"{where}: {key} must be a text that is not blank, found {value!r}")
    return value


def _url(entry: dict[str, Any], where: str) -> str:
    value = _text(entry, "base_url", where).rstrip("/")
    found = re.fullmatch(
        r"https?://(?:[\w-]{1,63}(?:\.[\w-]{1,63})*|\[[0-9a-fA-F:.]+\])(?::(\d{1,5}))?(?:/[^\s?#]*)?", value
    )
    if not found or int(found[1] or 80) > 65535:
        raise InputError(f"{where}: base_url must look like http://host:8000/v1, found {value!r}")
    return value


def whole(value: Any, what: str) -> int:
    """Return a whole number from 1 to ``LARGEST``, or raise InputError; ``what`` begins the message."""
    if isinstance(value, bool) or not isinstance(value, int) or not 1 <= value <= LARGEST:
        raise InputError(f"{what} must be a whole number from 1 to {LARGEST:,}, found {value!r}")
    return value


def _arguments(value: Any, where: str) -> tuple[str, ...]:
    if not isinstance(value, list) or not all(isinstance(argument, str) for argument in value):
        raise InputError(f"{where}: serve_arguments must be a list of texts, found {value!r}")
    return tuple(value)
