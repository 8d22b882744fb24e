"""The whole grader: its verdicts, what it survives, what it imports, and its self-test."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import threading
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path

import pytest

from irt.io import InputError
from verifier.graders.math_grader import GRADER, equal, grade_math, grader_version, self_test
from verifier.graders.verdict import Verdict

ROOT = Path(__file__).resolve().parents[3]
CASES = [
    (r"\frac{63}{400}", r"\boxed{63/400}"),
    (r"\sqrt{2}", r"\boxed{\frac{2}{\sqrt 2}}"),
    ("15", r"\boxed{\sum_{k=1}^{5} k}"),
    (r"(2,\infty)", r"\boxed{x>2}"),
]


def test_verdicts_are_the_same_in_threads_and_processes() -> None:
    """Timeouts by signal have made every verdict of a thread False in other projects."""
    expected = [grade_math(*case) for case in CASES]
    assert all(verdict.correct for verdict in expected)
    in_threads: dict[int, Verdict] = {}
    threads = [
        threading.Thread(target=lambda place=place: in_threads.update({place: grade_math(*CASES[place])}))
        for place in range(len(CASES))
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert [in_threads[place] for place in range(len(CASES))] == expected
    with ProcessPoolExecutor(2) as pool:
        assert list(pool.map(grade_math, *zip(*CASES, strict=True))) == expected


def test_verdict_says_what_was_found_and_by_which_version() -> None:
    verdict = grade_math("5", r"\boxed{x = 6}")
    assert verdict == Verdict("ok", False, "x = 6", GRADER, grader_version())
    assert verdict.version.startswith("2 (math-verify ")
    assert grade_math("5", "I count the cases one by one and there are 5").outcome == "no_answer"
    long = grade_math("5", rf"\boxed{{{'7' * 1000}}}")
    assert long.answer == "7" * 200


DEEP = 10_000


@pytest.mark.parametrize(
    "answer",
    [
        "7" * 1_000_000,
        "(" * DEEP + "4" + ")" * DEEP,
        "(" * 50 + "4" + ")" * 50,
        r"\frac{" * 500 + "4" + "}{1}" * 500,
        r"\sqrt" * 600 + "4",
        "-" * 1999 + "4",
        "4" + "!" * 300,
        "4" + "/1" * 140,
        "4" + "+0" * 140,
        "2^{" * 300 + "2" + "}" * 300,
        r"\{" * 100 + "4" + r"\}" * 100,
        ",".join(["4"] * 1000),
        ",".join(rf"\sqrt{{{n}}}" for n in range(100)),
        "4\ud800",
        "\udfff",
        "4\x00",
        "4" + "\u0301" * 500,
        "一" * 1500 + "4",
        "ab " * 600 + "4",
        r"\pm" * 500 + "4",
        "4" + r"\approx 4" * 300,
        r"\begin{pmatrix}" * 200 + "4" + r"\end{pmatrix}" * 200,
        r"9999999999999999999!",
        r"\binom{10^9}{10^8}",
        r"\sqrt{2^{199999}}",
        r"1.0000000001^{10^{12}}",
        r"\sin(10^{10^{5}})",
        r"\tan(\frac{\pi}{2})",
        r"\frac{1}{0}",
        r"0^{-1}",
        r"\infty-\infty",
        r"\log_1 5",
        "2_{2.1}",
        "9_9",
        "None",
        "__import__('os').system('true')",
    ],
)
def test_any_answer_is_survived(answer: str) -> None:
    """Without limits from outside; only what the algebra library alone reads may need them."""
    verdict = grade_math("5", rf"\boxed{{{answer}}}")
    assert verdict.correct is not True
    json.dumps(verdict.answer, ensure_ascii=False).encode("utf-8")
    equal(gold=answer, answer="5")


def test_what_sympy_cannot_do_is_a_grader_error_with_its_reason() -> None:
    verdict = grade_math("4", r"\boxed{\gcd(12\%, 8)}")
    assert (verdict.outcome, verdict.correct) == ("grader_error", None)
    assert verdict.detail == "PolynomialError in math-verify or its parser"


def test_the_next_answer_is_judged_after_a_hostile_one() -> None:
    for hostile in (r"\boxed{9^{9^{9^{9}}}}", r"\boxed{10^{5^{5^{5^{5}}}}}"):
        assert grade_math("4", hostile).correct is False
        assert grade_math("4", r"\boxed{4}").correct is True


def test_nothing_heavy_is_imported_before_it_is_needed() -> None:
    code = (
        "import sys; from verifier.graders.math_grader import grade_math, grader_version; grader_version();"
        r"assert grade_math('0.5', '\\boxed{\\frac12}').correct and not grade_math('7', '\\boxed{x=8}').correct;"
        "print([name for name in ('sympy', 'mpmath', 'math_verify', 'latex2sympy2_extended') if name in sys.modules])"
    )
    answer = subprocess.run(
        [sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=True
    )
    assert answer.stdout.strip() == "[]"


def test_self_test_passes_here() -> None:
    self_test()


@pytest.mark.parametrize(
    ("fake", "message"),
    [
        (
            "raise ImportError('Unsupported ANTLR version 4.7.2')",
            "latex2sympy2_extended .*Unsupported ANTLR version",
        ),
        ("from sympy import Integer\nlatex2sympy = lambda text: Integer(2)", "latex2sympy2_extended reads"),
        (
            "def latex2sympy(text): raise Exception('no viable alternative')",
            "latex2sympy2_extended cannot read",
        ),
        *(
            (
                "from sympy import Integer, Rational\n"
                "known = {'frac': Rational(1, 2), 'sum': Integer(15), 'int': Integer(1)}\n"
                "def latex2sympy(text):\n"
                f"    if {command!r} in text: raise AttributeError('no such method')\n"
                "    found = [value for word, value in known.items() if word in text]\n"
                "    return found[0] if found else Rational(text)\n",
                rf"latex2sympy2_extended cannot read \\{command}.*AttributeError",
            )
            for command in ("sum", "int", "lfloor")
        ),
    ],
)
def test_a_broken_parser_is_named_before_anything_is_graded(tmp_path: Path, fake: str, message: str) -> None:
    (tmp_path / "math_verify").mkdir()
    (tmp_path / "math_verify" / "__init__.py").write_text(
        "verify = lambda left, right, **kwargs: left == right\n"
    )
    (tmp_path / "latex2sympy2_extended").mkdir()
    (tmp_path / "latex2sympy2_extended" / "__init__.py").write_text(fake + "\n")
    code = "from verifier.graders.math_grader import self_test; self_test()"
    environment = os.environ | {"PYTHONPATH": f"{tmp_path}{os.pathsep}{ROOT}"}
    answer = subprocess.run(
        [sys.executable, "-c", code],
        cwd=tmp_path,
        env=environment,
        capture_output=True,
        text=True,
        check=False,
    )
    last = answer.stderr.strip().splitlines()[-1]
    assert answer.returncode != 0 and last.startswith(f"{InputError.__module__}.InputError")
    assert re.search(message, last), last


def test_a_failure_of_the_library_is_no_verdict(tmp_path: Path) -> None:
    """It stands for any answer on which sympy fails: the model is neither right nor wrong."""
    (tmp_path / "math_verify").mkdir()
    (tmp_path / "math_verify" / "__init__.py").write_text(
        "def verify(*args, **kwargs):\n    raise RecursionError('maximum recursion depth exceeded')\n"
    )
    code = (
        "from verifier.graders.math_grader import grade_math;"
        r"verdict = grade_math('n', '\\boxed{\\sum_{k=1}^{n} 1}');"
        "print(verdict.outcome, verdict.correct, verdict.detail)"
    )
    environment = os.environ | {"PYTHONPATH": f"{tmp_path}{os.pathsep}{ROOT}"}
    answer = subprocess.run(
        [sys.executable, "-c", code],
        cwd=tmp_path,
        env=environment,
        capture_output=True,
        text=True,
        check=True,
    )
    assert answer.stdout.startswith("grader_error None RecursionError in math-verify")


@pytest.mark.parametrize("error", ["AttributeError", "TypeError", "KeyError", "NotImplementedError"])
def test_a_broken_converter_makes_no_answer_wrong(tmp_path: Path, error: str) -> None:
    (tmp_path / "latex2sympy2_extended").mkdir()
    (tmp_path / "latex2sympy2_extended" / "__init__.py").write_text(
        f"def latex2sympy(text):\n    raise {error}('of our own making')\n"
    )
    (tmp_path / "math_verify").mkdir()
    (tmp_path / "math_verify" / "__init__.py").write_text("verify = None\n")
    code = (
        "from verifier.graders.math_grader import grade_math;"
        r"verdict = grade_math('15', '\\boxed{\\sum_{k=1}^{5} k}');"
        "print(verdict.outcome, verdict.correct, verdict.detail)"
    )
    answer = subprocess.run(
        [sys.executable, "-c", code],
        cwd=tmp_path,
        env=os.environ | {"PYTHONPATH": f"{tmp_path}{os.pathsep}{ROOT}"},
        capture_output=True,
        text=True,
        check=True,
    )
    assert answer.stdout.strip() == f"grader_error None {error} in latex2sympy2_extended"
