"""What a verifier is asked: the item, and how to write the answer so that the grader finds it."""

from __future__ import annotations

import hashlib
import json

from verifier.items import Item

_MATH = "{question}\n\nReason step by step, and put the final answer in \\boxed{{}}."
# The letters are named by example from the item itself: a template such as "$LETTER" comes back verbatim.
_CHOICE = (
    "{question}\n\n{choices}\n\nEnd with a line of the form ANSWER: {first}, with the letter of your choice."
)


def messages(item: Item, system_prompt: str | None = None) -> list[dict[str, str]]:
    """Return the chat messages that ask an item.

    Instructions are sent as they are, because any added word could break one of them.
    """
    if item.answer_type == "math":
        text = _MATH.format(question=item.question)
    elif item.answer_type == "choice":
        lines = "\n".join(
            f"{label}) {choice}" for label, choice in zip(item.labels, item.choices, strict=True)
        )
        text = _CHOICE.format(question=item.question, choices=lines, first=item.labels[0])
    else:
        text = item.question
    asked = [{"role": "user", "content": text}]
    return [{"role": "system", "content": system_prompt}, *asked] if system_prompt else asked


def prompt_hash(item: Item) -> str:
    """Return sixteen hexadecimal digits of what is asked: an answer belongs to its question, not to an id alone."""
    return hashlib.sha256(json.dumps(messages(item)).encode()).hexdigest()[:16]
