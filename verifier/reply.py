"""What a chat completion says: an answer, none, or one that was cut off.

Decided by the finish reason and the end of the thinking, not by which parser the server runs: servers put an
unfinished thought into ``content``, into ``reasoning``, or leave ``content`` null.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any

END_OF_THINKING = "</think>"
START_OF_THINKING = "<think>"
_END_TAG = re.compile(re.escape(END_OF_THINKING))
GIVEN_UP = ("abort", "error")  # the server's doing, not the model's


class NotACompletion(Exception):
    """The server's reply is not a chat completion."""


@dataclass(frozen=True)
class Reply:
    """One reply, as served.

    Attributes
    ----------
    outcome
        ``ok``: there is a text to grade. ``no_answer``: the model ended without one. ``truncated``: it was cut off at
        max_tokens; whatever is there is not graded.
    text
        The message's content, empty where the server sent null.
    reasoning
        The message's reasoning field, by its present or its former name; None where there is none.
    prompt_tokens, completion_tokens
        As the server counts them; None where it does not.
    """

    outcome: str
    text: str
    reasoning: str | None
    finish_reason: str | None
    prompt_tokens: int | None
    completion_tokens: int | None
    served_model: str | None


def read_reply(payload: Any) -> Reply:
    """Read the JSON of a chat completion.

    Raises
    ------
    NotACompletion
        If there is no message in it, or the server says that it gave up on the request.
    """
    try:
        choice = payload["choices"][0]
        message = choice["message"]
        content = message.get("content")
        reasoning = message.get("reasoning") or message.get("reasoning_content")
        finish_reason = choice.get("finish_reason")
    except (KeyError, IndexError, TypeError, AttributeError) as error:
        raise NotACompletion(f"not a chat completion: {str(payload)[:200]}") from error
    if isinstance(content, list) and all(
        isinstance(part, dict) for part in content
    ):  # of parts, as some APIs send it
        content = "".join(part["text"] for part in content if isinstance(part.get("text"), str))
    if not isinstance(content, str | None) or not isinstance(reasoning, str | None):
        raise NotACompletion(f"not a chat completion: content is {type(content).__name__}")
    if finish_reason in GIVEN_UP:
        raise NotACompletion(f"the server ended the reply with finish_reason {finish_reason!r}")
    usage = payload.get("usage")
    usage = usage if isinstance(usage, dict) else {}
    return Reply(
        outcome=_outcome(content or "", finish_reason),
        text=content or "",
        reasoning=reasoning,
        finish_reason=finish_reason if isinstance(finish_reason, str) else None,
        prompt_tokens=_count(usage.get("prompt_tokens")),
        completion_tokens=_count(usage.get("completion_tokens")),
        served_model=model if isinstance(model := payload.get("model"), str) else None,
    )


def final_text(text: str) -> str:
    """Return what comes after the thinking, as it was sent; all of it where there is none.

    The thinking is what stands before the first end tag, whether the text begins with the start tag or the start is
    part of the prompt, as with some models. Only the line breaks behind that tag go. Later tags are text. So is one
    that the text mentions: in quotes, or with a closing bracket or punctuation right behind it.
    """
    tags = list(_END_TAG.finditer(text))
    began = text.lstrip().startswith(START_OF_THINKING)
    end = next((tag for tag in tags if not _is_mention(text, tag)), tags[0] if tags and began else None)
    return text[end.end() :].lstrip("\r\n") if end else text


def _is_mention(text: str, tag: re.Match[str]) -> bool:
    before, after = (
        text[tag.start() - 1 : tag.start()] if tag.start() else "",
        text[tag.end() : tag.end() + 1],
    )
    return (before != "" and before + after in ("``", '""', "''", "“”", "‘’")) or after in tuple(")].,;:!?")


def _count(value: Any) -> int | None:
    """Return a number of tokens; None where the server sent something else."""
    return value if isinstance(value, int) and not isinstance(value, bool) and value >= 0 else None


def _outcome(text: str, finish_reason: str | None) -> str:
    if finish_reason == "length":
        return "truncated"
    unfinished = text.lstrip().startswith(START_OF_THINKING) and END_OF_THINKING not in text
    return "no_answer" if unfinished or not final_text(text).strip() else "ok"
