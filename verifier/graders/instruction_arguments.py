"""What each IFEval checker must be told, so that an item that cannot be judged is found before it is asked.

The published checkers fill a missing argument, or one that they cannot use, with a random one, and their verdicts
then change from run to run. Here every argument must be there and usable. Nothing heavy is imported.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import Any

from irt.io import InputError
from verifier.items import Item

# Far more than a keyword has. Whether Python can read groups nested thousands deep depends on who calls it.
LONGEST_PATTERN = 300
RELATIONS = ("less than", "at least")
LANGUAGES = tuple(
    "en es pt ar hi fr ru de ja it bn uk th ur ta te bg ko pl he fa vi ne sw kn mr gu pa ml fi".split()
)


def _is_count(value: Any) -> bool:
    # A bool is an int. The published loader drops zeros, and then draws a number.
    return isinstance(value, int) and not isinstance(value, bool) and value >= 1


def _is_text(value: Any) -> bool:
    return isinstance(value, str) and bool(value.strip())


def _is_pattern(value: Any) -> bool:
    """Keywords are regular expressions to the published checkers."""
    if not _is_text(value) or len(value) > LONGEST_PATTERN:
        return False
    try:
        re.compile(value)
    except (re.error, OverflowError, ValueError):  # a count too large
        return False
    return True


def _are_patterns(value: Any) -> bool:
    return isinstance(value, (list, tuple)) and bool(value) and all(_is_pattern(each) for each in value)


def _is_character(value: Any) -> bool:
    # Counted in lower case, where a few letters become two characters that are never found.
    return isinstance(value, str) and len(value) == 1 and len(value.lower()) == 1 and not value.isspace()


_Kind = tuple[Callable[[Any], bool], str]
_COUNT: _Kind = (_is_count, "a whole number from 1")
_TEXT: _Kind = (_is_text, "a text that is not blank")
_PATTERN: _Kind = (_is_pattern, "a text that is a regular expression")
_PATTERNS: _Kind = (_are_patterns, "a list of texts that are regular expressions")
_CHARACTER: _Kind = (_is_character, "one character")
_RELATION: _Kind = (RELATIONS.__contains__, "'less than' or 'at least'")
_LANGUAGE: _Kind = (LANGUAGES.__contains__, f"one of {', '.join(LANGUAGES)}")

ARGUMENTS: dict[str, dict[str, _Kind]] = {
    "change_case:capital_word_frequency": {"capital_frequency": _COUNT, "capital_relation": _RELATION},
    "change_case:english_capital": {},
    "change_case:english_lowercase": {},
    "combination:repeat_prompt": {"prompt_to_repeat": _TEXT},
    "combination:two_responses": {},
    "detectable_content:number_placeholders": {"num_placeholders": _COUNT},
    "detectable_content:postscript": {"postscript_marker": _PATTERN},
    "detectable_format:constrained_response": {},
    "detectable_format:json_format": {},
    "detectable_format:multiple_sections": {"section_spliter": _PATTERN, "num_sections": _COUNT},
    "detectable_format:number_bullet_lists": {"num_bullets": _COUNT},
    "detectable_format:number_highlighted_sections": {"num_highlights": _COUNT},
    "detectable_format:title": {},
    "keywords:existence": {"keywords": _PATTERNS},
    "keywords:forbidden_words": {"forbidden_words": _PATTERNS},
    "keywords:frequency": {"keyword": _PATTERN, "frequency": _COUNT, "relation": _RELATION},
    "keywords:letter_frequency": {"letter": _CHARACTER, "let_frequency": _COUNT, "let_relation": _RELATION},
    "language:response_language": {"language": _LANGUAGE},
    "length_constraints:nth_paragraph_first_word": {
        "num_paragraphs": _COUNT,
        "nth_paragraph": _COUNT,
        "first_word": _TEXT,
    },
    "length_constraints:number_paragraphs": {"num_paragraphs": _COUNT},
    "length_constraints:number_sentences": {"num_sentences": _COUNT, "relation": _RELATION},
    "length_constraints:number_words": {"num_words": _COUNT, "relation": _RELATION},
    "punctuation:no_comma": {},
    "startend:end_checker": {"end_phrase": _TEXT},
    "startend:quotation": {},
}


def check_instructions(item: Item) -> None:
    """Check that every instruction of an item is known and told all that it needs, and nothing else.

    An argument whose value is None counts as not there: the published data files have all of them in every row.

    Raises
    ------
    InputError
        Naming the item, the instruction and the argument.
    """
    if len(item.instruction_ids) != len(item.kwargs):
        raise InputError(
            f"item {item.id!r}: {len(item.instruction_ids)} instruction_ids but {len(item.kwargs)} kwargs; give one "
            "object an instruction"
        )
    for instruction, given in zip(item.instruction_ids, item.kwargs):
        where = f"item {item.id!r}: instruction {instruction!r}"
        if instruction not in ARGUMENTS:
            raise InputError(f"{where} is unknown; known are {', '.join(ARGUMENTS)}")
        _check_arguments(present(given), ARGUMENTS[instruction], where)


def present(arguments: Mapping[str, Any]) -> dict[str, Any]:
    """Return the arguments that have a value."""
    return {name: value for name, value in arguments.items() if value is not None}


def _check_arguments(given: Mapping[str, Any], needed: Mapping[str, _Kind], where: str) -> None:
    for name in given:
        if name not in needed:
            takes = f"takes {', '.join(needed)}" if needed else "takes no arguments"
            raise InputError(f"{where} {takes}, found {name!r}")
    for name, (is_good, wanted) in needed.items():
        if name not in given:
            raise InputError(f"{where} needs {name!r}: {wanted}")
        if not is_good(given[name]):
            raise InputError(f"{where}: {name} must be {wanted}, found {given[name]!r}")
    if "nth_paragraph" in needed and given["nth_paragraph"] > given["num_paragraphs"]:
        raise InputError(
            f"{where}: nth_paragraph must be at most num_paragraphs, found {given['nth_paragraph']} of "
            f"{given['num_paragraphs']}"
        )
