r"""Mathematics: the answer in a reply against the key.

`extract_math` finds the answer, `equal` compares it; see there for the rules. Nothing heavy is imported until an answer
needs it. Run it on replies of unknown origin only where it can be stopped (`verifier.graders.grader_pool`).
"""

from __future__ import annotations

from verifier.graders.math_equal import equal
from verifier.graders.math_extract import extract_math
from verifier.graders.math_library import LibraryError, library_version, self_test
from verifier.graders.math_readable import readable
from verifier.graders.verdict import Verdict

__all__ = [
    "GRADER",
    "VERSION",
    "LibraryError",
    "equal",
    "extract_math",
    "grade_math",
    "grader_version",
    "readable",
    "self_test",
]

GRADER = "math"
# To be raised with every change that can change a verdict.
VERSION = "2"
LONGEST_ANSWER = 200


def grade_math(gold: str, text: str) -> Verdict:
    """Judge a reply.

    Parameters
    ----------
    gold
        The key, in LaTeX or plain text.
    text
        The whole reply, without its reasoning part.

    Returns
    -------
    Verdict
        ``no_answer`` where the reply gives none; ``grader_error``, with the reason, where the key cannot be read or the
        algebra library failed.
    """
    try:
        if not readable(gold):
            reason = f"the key {gold[:LONGEST_ANSWER]!r} cannot be read"
            return Verdict("grader_error", None, None, GRADER, grader_version(), reason)
    except LibraryError as error:
        return Verdict("grader_error", None, None, GRADER, grader_version(), str(error))
    answer = extract_math(text)
    if answer is None:
        return Verdict("no_answer", False, None, GRADER, grader_version())
    shown = answer[:LONGEST_ANSWER].encode("utf-8", "replace").decode("utf-8")
    try:
        correct = equal(gold=gold, answer=answer)
    except LibraryError as error:
        return Verdict("grader_error", None, shown, GRADER, grader_version(), str(error))
    return Verdict("ok", correct, shown, GRADER, grader_version())


def grader_version() -> str:
    """Return the version of the rules and of the libraries under them; nothing is imported for it."""
    return f"{VERSION} ({library_version()})"
