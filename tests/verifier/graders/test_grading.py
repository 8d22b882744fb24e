"""The graders together: dispatch, versions, and what a machine without a package is told."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from irt.io import InputError
from verifier.graders.grading import check_graders, check_item, grade, grader_version
from verifier.items import ANSWER_TYPES, Item

ROOT = Path(__file__).resolve().parents[3]
ITEMS = {
    "math": Item("m", "?", r"\frac{1}{2}", "math"),
    "choice": Item("c", "?", "B", "choice", ("gene", "cell")),
    "instructions": Item(
        "i", "?", None, "instructions", instruction_ids=("punctuation:no_comma",), kwargs=({},)
    ),
}
REPLIES = {
    "math": (r"\boxed{0.5}", r"\boxed{2}"),
    "choice": ("ANSWER: B", "ANSWER: A"),
    "instructions": ("a", "a,"),
}


@pytest.mark.parametrize("answer_type", ANSWER_TYPES)
def test_every_answer_type_has_a_grader_with_a_name_and_a_version(answer_type: str) -> None:
    check_graders([answer_type])
    name, version = grader_version(answer_type)
    assert name
    assert version
    good, bad = REPLIES[answer_type]
    for text, right in ((good, True), (bad, False)):
        verdict = grade(ITEMS[answer_type], text)
        assert (verdict.outcome, verdict.correct) == ("ok", right)
        assert (verdict.grader, verdict.version) == (name, version)


@pytest.mark.parametrize("answer_type", ANSWER_TYPES)
def test_good_items_pass(answer_type: str) -> None:
    check_item(ITEMS[answer_type])


def test_an_item_that_cannot_be_judged_is_named() -> None:
    item = Item("row-7", "?", None, "instructions", instruction_ids=("keywords:none",), kwargs=({},))
    with pytest.raises(InputError, match=r"item 'row-7': instruction 'keywords:none' is unknown"):
        check_item(item)


@pytest.mark.parametrize("key", [r"\foo{3}", "(1,2", "4 +", "1/0", "3x=", "$$", "9^{9^{9^{9}}}", " "])
def test_an_item_whose_key_cannot_be_read_is_named_and_never_judged(key: str) -> None:
    item = Item("row-7", "?", key, "math")
    with pytest.raises(InputError, match=r"item 'row-7': the answer .* cannot be read") as caught:
        check_item(item)
    assert repr(key) in str(caught.value)
    for text in (r"\boxed{4}", rf"\boxed{{{key}}}", "no answer at all, I am afraid"):
        verdict = grade(item, text)
        assert (verdict.outcome, verdict.correct) == ("grader_error", None)
        assert verdict.detail == f"the key {key!r} cannot be read"


# What a package is replaced by, the answer type that needs it, what the message must name.
BROKEN = [
    ("latex2sympy2_extended", "raise ImportError('no antlr4 runtime of version 4.13')", "math", "antlr4"),
    ("sympy", "raise ModuleNotFoundError(\"No module named 'sympy'\")", "math", "sympy"),
    ("nltk", "raise ModuleNotFoundError(\"No module named 'nltk'\")", "instructions", "nltk"),
]
PREFLIGHT = """
import sys
from irt.io import InputError
from verifier.graders.grading import check_graders
try:
    check_graders([sys.argv[1]])
except InputError as error:
    print(error)
"""


@pytest.mark.parametrize(("package", "content", "answer_type", "named"), BROKEN)
def test_a_package_that_does_not_work_is_named_before_anything_is_graded(
    package: str, content: str, answer_type: str, named: str, tmp_path: Path
) -> None:
    (tmp_path / package).mkdir()
    (tmp_path / package / "__init__.py").write_text(content, encoding="utf-8")
    environment = {**os.environ, "PYTHONPATH": f"{tmp_path}{os.pathsep}{ROOT}"}
    done = subprocess.run(
        [sys.executable, "-c", PREFLIGHT, answer_type],
        env=environment,
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=False,
    )
    assert (done.returncode, done.stderr) == (0, "")
    assert named in done.stdout
    assert done.stdout.count("\n") == 1


def test_choices_are_graded_and_versions_told_without_any_package() -> None:
    """The process that asks the models need not load what the graders do; it checks the items nevertheless."""
    script = (
        "import sys, verifier.graders.grader_pool, verifier.graders.grading as g\n"
        "from verifier.items import Item\n"
        "for key in ('204', '1/2', '0.5', 'x=9', '(1,3)', 'Monday', '2^{10}'):\n"
        "    g.check_item(Item('m', '?', key, 'math'))\n"
        "g.check_graders(['choice']); [g.grader_version(name) for name in ('math', 'choice', 'instructions')]\n"
        "outside = {'sympy', 'nltk', 'lm_eval', 'numpy', 'langdetect', 'math_verify'} & set(sys.modules)\n"
        "assert not outside, outside"
    )
    subprocess.run([sys.executable, "-c", script], cwd=ROOT, check=True)
