"""IFEval: whether a reply follows every instruction of its item.

The checkers are the published ones as lm-eval maintains them, with their oddities: ``nth_paragraph_first_word`` counts
the paragraphs that are not blank but looks at all of them, keywords are found inside words, a text without any
language counts as written in the right one. Two things differ, because the published verdicts there are random:
arguments must all be given (instruction_arguments.py), and ``letter_frequency`` counts the character of the
item also where it is not a letter (``#`` and ``!`` in two published items).

An item is correct if all of its instructions are followed (strict, prompt level).
"""

from __future__ import annotations

import logging
from functools import cache
from importlib import metadata
from typing import Any

from irt.io import InputError
from verifier.graders.instruction_arguments import ARGUMENTS, LANGUAGES, check_instructions, present
from verifier.graders.punkt_data import provide_punkt
from verifier.graders.verdict import Verdict
from verifier.items import Item

GRADER = "ifeval"
# Raise it whenever a verdict may change.
OWN_VERSION = "1"
_INSTALL = "install the versions of requirements_verifier.txt"


@cache
def version() -> str:
    """Return our version and those of the packages that a verdict depends on; imports none of them."""
    packages = ("lm_eval", "langdetect", "nltk")
    return ", ".join([OWN_VERSION, *(f"{package} {metadata.version(package)}" for package in packages)])


def grade_instructions(item: Item, text: str) -> Verdict:
    """Judge a reply; ``detail`` lists the instructions that it does not follow. A blank reply is ``no_answer``."""
    followed = follows(item, text)
    broken = [name for name, kept in zip(item.instruction_ids, followed) if not kept]
    return Verdict(
        outcome="ok" if text.strip() else "no_answer",
        correct=not broken,
        answer=None,
        grader=GRADER,
        version=version(),
        detail=f"not followed: {', '.join(broken)}" if broken else None,
    )


def follows(item: Item, text: str, *, loose: bool = False) -> list[bool]:
    """Return, for each instruction, whether the text follows it.

    Parameters
    ----------
    loose
        Also true if one of the published variants of the text follows it: without asterisks, without the first or
        the last line, or without several of these.

    Raises
    ------
    InputError
        As ``check_instructions``.
    """
    check_instructions(item)
    texts = [variant for variant in (_variants(text) if loose else [text]) if variant.strip()]
    checkers = [_checker(name, present(given)) for name, given in zip(item.instruction_ids, item.kwargs)]
    return [any(bool(checker.check_following(variant)) for variant in texts) for checker in checkers]


def self_test() -> None:
    """Check that the published checkers are the ones that are described here, and that they work.

    Raises
    ------
    InputError
        Saying what does not work and what to install.
    ModuleNotFoundError
        If a package is not installed.
    """
    registry = _official()
    for name, needed in ARGUMENTS.items():
        checker = registry.get(name)
        if checker is None or set(checker(name).get_instruction_args_keys()) != set(needed):
            raise InputError(f"lm_eval {metadata.version('lm_eval')} has another {name!r}; {_INSTALL}")
    from lm_eval.tasks.ifeval import instructions_util

    if set(instructions_util.LANGUAGE_CODES) != set(LANGUAGES):
        raise InputError(f"lm_eval {metadata.version('lm_eval')} knows other languages; {_INSTALL}")
    tests = (
        (
            "length_constraints:number_sentences",
            {"num_sentences": 3, "relation": "less than"},
            "nltk's punkt_tab",
        ),
        (
            "change_case:capital_word_frequency",
            {"capital_frequency": 1, "capital_relation": "at least"},
            "nltk",
        ),
        ("language:response_language", {"language": "de"}, "langdetect"),
    )
    text = "Dr. Maier wohnt in einem kleinen Haus in BERLIN. Das Haus ist alt und hat einen Garten."
    for name, arguments, package in tests:
        if not _checker(name, arguments).check_following(text):
            raise InputError(f"the IFEval checkers do not work with this {package}; {_INSTALL}")


@cache
def _official() -> dict[str, Any]:
    """Return the published checker classes by instruction id. Imports lm-eval: a second or two."""
    provide_punkt()
    import langdetect
    from lm_eval.tasks.ifeval import instructions_registry

    # Without a seed the language of a short text changes from call to call.
    langdetect.DetectorFactory.seed = 0
    # It writes every text without a language to standard error.
    logging.getLogger("lm_eval.tasks.ifeval.instructions").setLevel(logging.CRITICAL)
    return dict(instructions_registry.INSTRUCTION_DICT)


def _checker(name: str, arguments: dict[str, Any]) -> Any:
    """Return the published checker of an instruction, told its arguments."""
    checker = _official()[name](name)
    if name == "keywords:letter_frequency":
        character = arguments["letter"]
        checker.build_description(**{**arguments, "letter": "a"})
        checker._letter = character.lower()
    else:
        checker.build_description(**arguments)
    return checker


def _variants(text: str) -> list[str]:
    lines = text.split("\n")
    kept = [
        text,
        "\n".join(lines[1:]).strip(),
        "\n".join(lines[:-1]).strip(),
        "\n".join(lines[1:-1]).strip(),
    ]
    return kept + [variant.replace("*", "") for variant in kept]
