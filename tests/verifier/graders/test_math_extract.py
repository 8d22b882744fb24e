"""One answer is found in a reply, by rules that no text in the reply's middle can turn."""

from __future__ import annotations

import pytest

from verifier.graders.math_extract import extract_math


@pytest.mark.parametrize(
    ("text", "answer"),
    [
        (r"First \boxed{5}. Wrong; so \boxed{\frac{1}{2}}.", r"\frac{1}{2}"),
        (r"\boxed{1} and once more \boxed{1}", "1"),
        (r"thus \boxed{3", None),
        (r"first \boxed{4}, then \boxed{3", None),
        (r"\boxed{4 and later \boxed{5}", "5"),
        (r"\boxed{\boxed{5}}", "5"),
        (r"\boxed{x=\boxed{5}}", "x={5}"),
        (r"\boxed{ \boxed{ \boxed{5} } }", "5"),
        ("\\boxed{" * 20_000 + "5" + "}" * 20_000, "5"),
        (r"\fbox{7}", "7"),
        (r"$\boxed 5$.", "5"),
        (r"\(\boxed5\)", "5"),
        (r"\boxed\frac{1}{2}.", r"\frac{1}{2}"),
        (r"\boxed {\{1,2\}}", r"\{1,2\}"),
        (r"\boxed{9} in the form \boxed{}", "9"),
        (r"\boxed{}", None),
        (r"The answer is 3. \boxed{4} Answer: 5", "4"),
        (r"\boxed{4} <answer>5</answer> ANSWER: 6", "4"),
        (r"The word \boxedtext{3} is no box. Answer: 4", "4"),
    ],
)
def test_last_box_is_the_answer(text: str, answer: str | None) -> None:
    assert extract_math(text) == answer


@pytest.mark.parametrize(
    ("text", "answer"),
    [
        ("The final answer is $5$. I hope it is correct.", "$5$"),
        ("Answer: 6\nNo, wait.\nAnswer: 8", "8"),
        ("**Answer:** 2.5", "2.5"),
        ('{"answer": 7}', "7"),
        ('{"work": "3+4", "answer": "\\\\frac{1}{2}"}', r"\\frac{1}{2}"),
        ("The answer is 7 and not 8.", "7"),
        ("The answer is not 8 but 7.", "7"),
        ("Final answer: 7, not 8", "7"),
        ("Answer: 7 (because 3+4 = 7)", "7"),
        ("The answer: does not exist.", "does not exist"),
        ("The answer is equal to 7.", "7"),
        ("The answer should therefore be 7", "7"),
        ("The answer must be 7", "7"),
        ("the answer to this is 7", "7"),
        ("**Final Answer:**\n\n$\\frac{1}{2}$", r"$\frac{1}{2}$"),
        ("The answer is:\n\\[\n12\n\\]", "12"),
        ("答案是5。因为2+3=5", "5"),
        ("答案：(1，3)", "(1，3)"),
        ("Answer: 5 because 2+3=5", "5"),
        ("Answer: 1:58 a.m.\nDone", "1:58 a.m"),
        ("Answer:", None),
        ("**Final Answer**\n\n$42$", "$42$"),
        ("## Final Answer\n42", "42"),
        ("Work: 2+2=4.\n\n### Answer:\n$$\n42\n$$\n\nLet me know if you have questions!", "42"),
        ("The final answer\n\n**42**", "42"),
        ("6 times 7.\n#### 42", "42"),
        ("6 times 7.\n#### 42\n\nHope this helps!", "42"),
        ("#### 1. Multiply\n\nThat is it.", None),
        ("#### Step 3: multiply\nThe answer is 42.", "42"),
        ("#### 3 cases\nThe answer is 42.", "42"),
        ("<answer>42</answer>", "42"),
        ("<answer>\n42\n</answer> I am sure.", "42"),
        ("The answer is 42.\n\nIs the answer: plausible?", "42"),
        ("The answer is 42.\n\nThe answer is plausible since it is positive.", "42"),
        ("Answer: 42\n\nIf the answer is 43, the sum is odd.", "42"),
        ("The answer is 42. Every other answer is 0.", "42"),
        ("The answer is 6. No: the final answer is no solution.", "no solution"),
        ("Answer: Monday", "Monday"),
        ("The answer is a", "a"),
    ],
)
def test_without_a_box_the_last_cue_counts_to_the_end_of_its_line(text: str, answer: str | None) -> None:
    assert extract_math(text) == answer


@pytest.mark.parametrize(
    ("text", "answer"),
    [
        ("5", "5"),
        (" $x=5$. ", "$x=5$"),
        ("**27 miles**", "27 miles"),
        ("We count.\n\nThe number of ways is **7**.", "7"),
        ("We count.\nNote: **important**", None),
        ("Then x = **7** is tried.\nIt fails.", None),
        ("", None),
        ("   \n ", None),
        ("I count the cases one by one and find that there are 12", None),
        ("First 3.\nThen 4.", None),
        ("42\n\nHope this helps!", "42"),
        ("$x=5$\n\nI hope this is clear.\n\nFeel free to ask more!", "$x=5$"),
    ],
)
def test_without_a_cue_only_a_bare_answer_counts(text: str, answer: str | None) -> None:
    assert extract_math(text) == answer


MEGABYTE = 1_000_000


@pytest.mark.parametrize(
    "unit",
    [
        "{",
        "}",
        r"\boxed{",
        r"\boxed ",
        r"\boxed",
        "answer is ",
        "answer ",
        " ",
        ".",
        "7",
        "**",
        "，",
        "\ud800",
        "\\",
        "## Answer\n",
        "answer:\n",
        "<answer>",
        "#### 4\n",
        "\nHope ",
        "Hope this helps!\n\n",
    ],
)
def test_a_megabyte_of_anything_is_read_in_linear_time(unit: str) -> None:
    """Square time would be hours here; the suite's own limit is minutes."""
    text = unit * (MEGABYTE // len(unit))
    extract_math(text)
    assert extract_math(rf"{text} \boxed{{5}}") == "5"
    extract_math(rf"\boxed{{5}} {text}")
    extract_math(f"Answer: {text}x")
