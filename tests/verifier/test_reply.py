"""What servers send for a finished, an unfinished and a missing answer is told apart."""

from __future__ import annotations

from typing import Any

import pytest

from verifier.reply import NotACompletion, final_text, read_reply


def completion(finish_reason: str | None = "stop", **message: Any) -> dict[str, Any]:
    return {
        "model": "served",
        "choices": [
            {"index": 0, "message": {"role": "assistant", **message}, "finish_reason": finish_reason}
        ],
        "usage": {"prompt_tokens": 3, "completion_tokens": 5},
    }


@pytest.mark.parametrize(
    ("payload", "outcome", "answer", "reasoning"),
    [
        (completion(content="The answer is 4."), "ok", "The answer is 4.", None),
        # vllm#35221: a thought that was cut off is in content with some parsers, and null with others.
        (completion("length", content=None, reasoning="I think"), "truncated", "", "I think"),
        (completion("length", content="I think 4... so maybe"), "truncated", "I think 4... so maybe", None),
        (completion("length", content="<think>I think 4"), "truncated", "<think>I think 4", None),
        (completion(content="I think 4.</think>\\boxed{4}"), "ok", "\\boxed{4}", None),
        (completion(content="<think>Is it 5? No.</think>\n\n\\boxed{4}"), "ok", "\\boxed{4}", None),
        # The first end tag ends the thinking, and what comes later is text.
        (completion(content="<think>a</think>b<think>c</think>4"), "ok", "b<think>c</think>4", None),
        # The field was renamed: both names are read.
        (completion(content="4", reasoning_content="2+2"), "ok", "4", "2+2"),
        (completion(content="4", reasoning="2+2"), "ok", "4", "2+2"),
        (completion(content=None, reasoning_content="2+2"), "no_answer", "", "2+2"),
        # A reply without content is an answer of the model's, not a reason to ask again.
        (completion(content=None), "no_answer", "", None),
        (completion(content=""), "no_answer", "", None),
        (completion(content=" \n"), "no_answer", " \n", None),
        (completion(content="<think>hm"), "no_answer", "<think>hm", None),
        (completion(content="<think>hm</think>  "), "no_answer", "  ", None),
        (completion("content_filter", content=None), "no_answer", "", None),
        (completion(None, content="4"), "ok", "4", None),
    ],
)
def test_the_outcome_is_told_by_the_end_of_the_text(
    payload: dict[str, Any], outcome: str, answer: str, reasoning: str | None
) -> None:
    reply = read_reply(payload)
    assert (reply.outcome, final_text(reply.text), reply.reasoning) == (outcome, answer, reasoning)
    assert (reply.served_model, reply.prompt_tokens, reply.completion_tokens) == ("served", 3, 5)


@pytest.mark.parametrize(
    "payload",
    [
        {},
        [],
        None,
        "text",
        {"choices": []},
        {"choices": [{"text": "a completion of the older kind"}]},
        {"choices": [{"message": "4"}]},
        completion(content=4),
        {"error": {"message": "maximum context length is 1000"}},
        completion("abort", content="half a tho"),
    ],
)
def test_what_is_no_completion_is_never_taken_for_an_answer(payload: Any) -> None:
    with pytest.raises(NotACompletion):
        read_reply(payload)


@pytest.mark.parametrize(
    "usage",
    [
        None,
        [],
        "many",
        5,
        {},
        {"completion_tokens": "2"},
        {"completion_tokens": [1]},
        {"completion_tokens": -1},
    ],
)
def test_tokens_that_a_server_does_not_count_are_none(usage: Any) -> None:
    assert read_reply(completion(content="4") | {"usage": usage}).completion_tokens is None


def test_content_in_parts_is_joined() -> None:
    parts = [{"type": "text", "text": "The answer "}, {"type": "other"}, {"type": "text", "text": "is 4."}]
    assert read_reply(completion(content=parts)).text == "The answer is 4."


@pytest.mark.parametrize(
    ("text", "final"),
    [
        # Checkers count paragraphs, so a text without a thought stays as it is, to the last space.
        ("\n\nalpha one\n\nbeta two\n ", "\n\nalpha one\n\nbeta two\n "),
        ("<think>hm</think>\r\n\r\n  alpha\n", "  alpha\n"),
        ("hm</think>\n\nalpha", "alpha"),
        ("</think>\n\nalpha", "alpha"),
        ('hm</think>"alpha"', '"alpha"'),
        ("hm</think>(B)", "(B)"),
        ("hm </think> B", " B"),
        (r"\boxed{4}. (I closed with </think>)", r"\boxed{4}. (I closed with </think>)"),
        ("Close it with `</think>`: B", "Close it with `</think>`: B"),
        ("B\n\nIt ends in </think>.", "B\n\nIt ends in </think>."),
        ("<think>It ends in `</think>`?</think>B", "B"),
        ("hm</think>B, as I said before </think>).", "B, as I said before </think>)."),
        ("<think>hm</think>.", "."),
        ("<think>hm", "<think>hm"),
        ("", ""),
    ],
)
def test_only_the_thought_and_the_line_breaks_behind_it_go(text: str, final: str) -> None:
    assert final_text(text) == final
