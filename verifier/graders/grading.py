"""Grading by answer type: one grader each, as a pure function of item and text, in this process and without limits.

``grader_pool.py`` puts the same function behind time and memory limits. Heavy packages are imported by the
first use of the grader that needs them.
"""

from __future__ import annotations

import sys
from collections.abc import Iterable

from irt.io import InputError
from verifier.graders.instruction_arguments import check_instructions
from verifier.graders.verdict import Verdict
from verifier.items import Item


def grade(item: Item, text: str) -> Verdict:
    """Return the verdict on a reply to an item. What a grader cannot handle is raised, not judged."""
    if item.answer_type == "math":
        from verifier.graders.math_grader import grade_math

        assert item.answer is not None
        return grade_math(item.answer, text)
    if item.answer_type == "choice":
        from verifier.graders.choice_grader import grade_choice

        return grade_choice(item, text)
    if item.answer_type == "instructions":
        from verifier.graders.instruction_grader import grade_instructions

        return grade_instructions(item, text)
    raise ValueError(f"no grader for answer type {item.answer_type!r}")


def grader_version(answer_type: str) -> tuple[str, str]:
    """Return the name of the grader of an answer type, and its version with those of the packages it depends on."""
    if answer_type == "math":
        from verifier.graders import math_grader

        return math_grader.GRADER, math_grader.grader_version()
    if answer_type == "choice":
        from verifier.graders import choice_grader

        return choice_grader.GRADER, choice_grader.VERSION
    if answer_type == "instructions":
        from verifier.graders import instruction_grader

        return instruction_grader.GRADER, instruction_grader.version()
    raise ValueError(f"no grader for answer type {answer_type!r}")


def check_graders(answer_types: Iterable[str]) -> None:
    """Check that the graders of these answer types work here: their packages, data files, and a few known verdicts.

    Raises
    ------
    InputError
        Naming the package or file that is missing or does not work.
    """
    for answer_type in sorted(set(answer_types)):
        try:
            grader_version(answer_type)
            if answer_type == "math":
                from verifier.graders import math_grader

                math_grader.self_test()
            elif answer_type == "instructions":
                from verifier.graders import instruction_grader

                instruction_grader.self_test()
        except ImportError as error:  # also packages that refuse the version of another
            if error.name is not None and error.name.partition(".")[0] in ("irt", "verifier"):
                raise  # a fault of ours
            raise InputError(
                f"{sys.executable} cannot grade {answer_type} items ({type(error).__name__}: {error}); use `make "
                "setup`, or `python -m pip install -r requirements_verifier.txt`"
            ) from error


def check_item(item: Item) -> None:
    """Check that an item can be judged at all; quick, and imports nothing heavy for an ordinary key.

    Raises
    ------
    InputError
        Naming the item and what is wrong: for ``instructions``, an unknown instruction, or an argument that is
        missing, unknown or unusable; for ``math``, a key that cannot be read, on which everyone would score 0.
    """
    if item.answer_type == "math":
        from verifier.graders.math_grader import LibraryError, readable

        try:
            can_be_read = readable(item.answer or "")
        except LibraryError as error:
            raise InputError(
                f"item {item.id!r}: the answer {item.answer!r} cannot be read ({error})"
            ) from error
        if not can_be_read:
            raise InputError(
                f"item {item.id!r}: the answer {item.answer!r} cannot be read as mathematics or as words; write one "
                "value, a list, an interval or an equation, in LaTeX or plain text"
            )
    if item.answer_type == "instructions":
        check_instructions(item)
