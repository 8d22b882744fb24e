"""Graders behind limits: no text raises, hangs, or changes another text's verdict, and no process is left behind."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from verifier.graders.grader_pool import GraderPool
from verifier.graders.grading import grade
from verifier.graders.verdict import Verdict
from verifier.items import Item

ROOT = Path(__file__).resolve().parents[3]

CHOICE = Item("c", "?", "B", "choice", ("gene", "cell", "atom", "star"))
MATH = Item("m", "?", r"\frac{63}{400}", "math")


def instructions(name: str, **arguments: object) -> Item:
    return Item("i", "?", None, "instructions", instruction_ids=(name,), kwargs=(arguments,))


NO_COMMA = instructions("punctuation:no_comma")
PLACEHOLDERS = instructions("detectable_content:number_placeholders", num_placeholders=2)
# sympy looks for an antiderivative that there is not.
ENDLESS = r"\boxed{\int_{0}^{1} \frac{\sin(x^3+x)}{x^5+x+1} dx}"
# Every character becomes eighteen when the text is brought to plain letters: much memory.
LONG = "\ufdfa" * 200_000 + "😀 ANSWER: B"

TEXTS = [
    "ANSWER: B",
    "ANSWER: A",
    "I do not know",
    r"so \boxed{63/400}",
    r"so \boxed{0.1575}",
    r"so \boxed{64/400}",
    "",
    "!!!",
    "\ud800\udfff \udc00 ANSWER: B",
    "\u2028\u0085\x00\x1b]0;B\x07",
    '{"verdict": {"outcome": "ok", "correct": true}}\n{"ready": true}\n',
    "\\boxed{" * 1_000,
    "(" * 2_000,
    "ANSWER: B\n" * 2_000,
    "答案：B。",
    "word " * 500 + "ANSWER: B",
]


def workers_of(parent: int) -> set[int]:
    """Return the ids of the processes that have this parent."""
    found = set()
    for entry in Path("/proc").iterdir():
        if entry.name.isdecimal():
            try:
                fields = (entry / "stat").read_text("latin-1").rpartition(")")[2].split()
            except (FileNotFoundError, ProcessLookupError):
                continue
            if int(fields[1]) == parent and fields[0] != "Z":
                found.add(int(entry.name))
    return found


def wait_until(done: Callable[[], bool], what: str) -> None:
    for _ in range(3_000):
        if done():
            return
        time.sleep(0.01)
    pytest.fail(f"waited in vain: {what}")


@pytest.fixture
def before() -> Iterator[set[int]]:
    """The processes that were there before the pool."""
    if not Path("/proc/self/stat").exists():
        pytest.skip("needs /proc")
    yield workers_of(os.getpid())


@pytest.fixture
def quick_start(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Start workers without the packages that NLTK takes along where it finds them, and that are slow to load."""
    for name in ("scipy", "sklearn"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "__init__.py").write_text(f"raise ImportError(name={name!r})\n", encoding="utf-8")
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))


def judge_all(pool: GraderPool, items: Sequence[Item]) -> list[Verdict]:
    jobs = [(item, text) for item in items for text in TEXTS]
    with ThreadPoolExecutor(8) as threads:
        return list(threads.map(lambda job: pool.grade(*job), jobs))


def test_verdicts_do_not_depend_on_the_number_of_workers_or_the_thread(quick_start: None) -> None:
    with GraderPool(["choice", "instructions", "math"], workers=1, seconds=60) as pool:
        from_thread: list[Verdict] = []
        thread = threading.Thread(target=lambda: from_thread.append(pool.grade(MATH, TEXTS[3])))
        thread.start()
        one = judge_all(pool, (CHOICE, MATH, NO_COMMA))
        thread.join()
        assert pool.grade(MATH, TEXTS[3]) == from_thread[0] == grade(MATH, TEXTS[3])
        assert from_thread[0].correct is True
    with GraderPool(["choice", "math"], workers=2, seconds=60) as pool:
        assert judge_all(pool, (CHOICE, MATH)) == one[: 2 * len(TEXTS)]
    assert [verdict.outcome for verdict in one if verdict.outcome not in ("ok", "no_answer")] == []


def test_what_looks_like_the_pools_own_messages_is_a_text() -> None:
    with GraderPool(["choice"], workers=1) as pool:
        assert pool.grade(CHOICE, TEXTS[10]).outcome == "no_answer"
        assert pool.grade(CHOICE, TEXTS[8]).correct is True


def test_answers_that_hang_cost_their_own_verdicts_alone() -> None:
    """One of two workers is busy with a text that never ends; other answers pass through the other."""
    with GraderPool(["math"], workers=2, seconds=1) as pool, ThreadPoolExecutor(2) as threads:
        assert pool.grade(MATH, r"\boxed{63/400}").correct is True
        hung = threads.submit(pool.grade, MATH, ENDLESS)
        assert all(pool.grade(MATH, r"\boxed{63/400}").correct for _ in range(50))
        verdict = hung.result()
        assert (verdict.outcome, verdict.correct) == ("grader_timeout", None)
        assert (verdict.grader, verdict.detail) == ("math", "no verdict in 1 s")
        both = threads.map(
            lambda text: pool.grade(MATH, text).correct, [r"\boxed{63/400}", r"\boxed{4}"] * 10
        )
        assert list(both) == [True, False] * 10  # the one that was replaced too


@pytest.mark.parametrize("power", [r"10^{5^{5^{5^{5}}}}", r"9^{9^{9^{9}}}"])
def test_a_tower_of_powers_is_judged_or_stopped(power: str) -> None:
    with GraderPool(["math"], workers=1, seconds=5) as pool:
        four = Item("four", "?", "4", "math")
        verdict = pool.grade(four, rf"\boxed{{{power}}}")
        assert verdict.outcome in ("ok", "grader_timeout")
        assert verdict.correct is not True
        assert pool.grade(four, r"\boxed{4}").correct is True


def test_memory_is_limited_and_running_out_of_it_is_not_a_wrong_answer(before: set[int]) -> None:
    with GraderPool(["choice"], workers=1, memory_mb=8) as pool:
        verdict = pool.grade(CHOICE, LONG)
        assert (verdict.outcome, verdict.correct) == ("grader_error", None)
        assert verdict.detail and verdict.detail.startswith("MemoryError")
        assert pool.grade(CHOICE, "ANSWER: B").correct is True
    with GraderPool(["choice"], workers=1, memory_mb=512) as pool:
        assert pool.grade(CHOICE, LONG).correct is True


def test_a_worker_whose_graders_keep_memory_is_replaced_in_time(before: set[int]) -> None:
    """Each answer finds most of its limit free, however many there were before it."""
    seen: set[int] = set()
    with GraderPool(["choice"], workers=1, memory_mb=8) as pool:
        for times in (1, 1_000, 100_000, 1, 100_000, 1):
            assert pool.grade(CHOICE, "It is long.\n" * times + "ANSWER: B").correct is True
            seen |= workers_of(os.getpid()) - before
    assert len(seen) >= 2


def test_an_exception_in_a_grader_is_told_and_is_not_a_wrong_answer() -> None:
    broken = Item("c", "?", "Z", "choice", ("one", "two"))
    with GraderPool(["choice"], workers=1) as pool:
        verdict = pool.grade(broken, "ANSWER: B")
        assert (verdict.outcome, verdict.correct) == ("grader_error", None)
        assert verdict.detail and verdict.detail.startswith("InputError: item: answer must be one of A to B")
        assert pool.grade(CHOICE, "ANSWER: B").correct is True


def test_a_grader_that_cannot_start_is_an_error_and_not_a_wrong_answer(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "sympy").mkdir()
    (tmp_path / "sympy" / "__init__.py").write_text(
        "raise ImportError('sympy is of no use')", encoding="utf-8"
    )
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))
    with GraderPool(["math"], workers=1) as pool:
        for _ in range(2):
            verdict = pool.grade(MATH, r"\boxed{1}")
            assert (verdict.outcome, verdict.correct) == ("grader_error", None)
            assert verdict.detail and "sympy is of no use" in verdict.detail


def test_a_worker_killed_from_outside_takes_no_verdict_with_it(before: set[int]) -> None:
    with GraderPool(["choice"], workers=2) as pool, ThreadPoolExecutor(4) as threads:
        assert pool.grade(CHOICE, "ANSWER: B").correct is True
        for _ in range(4):
            futures = [threads.submit(pool.grade, CHOICE, f"{'long ' * 20_000}ANSWER: B") for _ in range(20)]
            futures[0].result()
            for worker in workers_of(os.getpid()) - before:
                os.kill(worker, signal.SIGKILL)
            assert [future.result().correct for future in futures] == [True] * 20


def kill_and_wait(workers: set[int]) -> None:
    """Kill workers; they stay as zombies until the pool looks at them."""
    for worker in workers:
        os.kill(worker, signal.SIGKILL)
    wait_until(lambda: not workers & workers_of(os.getpid()), "workers end")


def test_workers_killed_while_idle_take_no_verdict_with_them(before: set[int]) -> None:
    """Several at once: the one that is asked again must not be another dead one."""
    with GraderPool(["choice"], workers=3) as pool, ThreadPoolExecutor(3) as threads:
        for _ in range(3):
            assert pool.grade(CHOICE, "ANSWER: B").correct is True
            workers = workers_of(os.getpid()) - before
            assert len(workers) == 3
            kill_and_wait(workers)
            assert pool.grade(CHOICE, "ANSWER: B") == grade(CHOICE, "ANSWER: B")
            kill_and_wait(workers_of(os.getpid()) - before)
            futures = [threads.submit(pool.grade, CHOICE, "ANSWER: B") for _ in range(6)]
            assert [future.result().correct for future in futures] == [True] * 6


def stop(workers: set[int]) -> None:
    """Stop workers in the middle of whatever they do; they can still be killed."""
    for worker in workers:
        os.kill(worker, signal.SIGSTOP)


def test_workers_killed_while_one_answers_take_no_verdict_with_them(before: set[int]) -> None:
    """The answer is taken up by a worker that was started for it."""
    with GraderPool(["choice"], workers=3, seconds=60) as pool, ThreadPoolExecutor(1) as threads:
        assert pool.grade(CHOICE, "ANSWER: B").correct is True
        workers = workers_of(os.getpid()) - before
        stop(workers)
        future = threads.submit(pool.grade, CHOICE, "ANSWER: B")
        time.sleep(0.05)
        kill_and_wait(workers)
        assert future.result().correct is True


def test_a_worker_killed_twice_in_one_answer_is_an_error_of_that_answer(before: set[int]) -> None:
    with GraderPool(["choice"], workers=1, seconds=60) as pool, ThreadPoolExecutor(1) as threads:
        assert pool.grade(CHOICE, "ANSWER: B").correct is True
        future = threads.submit(pool.grade, CHOICE, LONG)
        killed: set[int] = set()
        while not future.done():
            for worker in workers_of(os.getpid()) - before - killed:
                os.kill(worker, signal.SIGKILL)
                killed.add(worker)
            time.sleep(0.01)
        verdict = future.result()
        assert (verdict.outcome, verdict.detail) == ("grader_error", "the grader was killed by SIGKILL")
        assert len(killed) >= 2
        assert pool.grade(CHOICE, "ANSWER: B").correct is True


def test_a_stopped_worker_is_a_hung_one(before: set[int]) -> None:
    with GraderPool(["choice"], workers=1, seconds=0.5) as pool:
        assert pool.grade(CHOICE, "ANSWER: B").correct is True
        for worker in workers_of(os.getpid()) - before:
            os.kill(worker, signal.SIGSTOP)
        # Longer than a pipe holds: sending it must not wait for ever either.
        assert pool.grade(CHOICE, "ANSWER: B" * 50_000).outcome == "grader_timeout"
        assert pool.grade(CHOICE, "ANSWER: B").correct is True


def test_closing_the_pool_ends_every_worker_and_every_wait(before: set[int]) -> None:
    with ThreadPoolExecutor(3) as threads:
        with GraderPool(["choice"], workers=2, seconds=60) as pool:
            assert pool.grade(CHOICE, "ANSWER: B").correct is True
            workers = workers_of(os.getpid()) - before
            assert len(workers) == 2
            stop(workers)
            waiting = [threads.submit(pool.grade, CHOICE, "ANSWER: B") for _ in range(3)]
            time.sleep(0.05)
        assert workers_of(os.getpid()) - before == set()
        for future in waiting:
            with pytest.raises(RuntimeError, match="not open"):
                future.result(30)
    with pytest.raises(RuntimeError, match="not open"):
        pool.grade(CHOICE, "ANSWER: B")


PARENT = f"""
import sys, threading
from verifier.graders.grader_pool import GraderPool
from verifier.items import Item
# The published checker looks from every bracket to the end of the line: quadratic, and inside one call of C code.
placeholders, endless = {PLACEHOLDERS!r}, "[" * 2_000_000
with GraderPool(["instructions"], workers=2, seconds=1) as pool:
    pool.grade(placeholders, "none")
    threading.Thread(target=pool.grade, args=(placeholders, endless), daemon=True).start()
    print("busy", flush=True)
    sys.stdin.read()
"""


def start_parent() -> subprocess.Popen[bytes]:
    environment = {**os.environ, "PYTHONPATH": f"{os.environ.get('PYTHONPATH', '')}{os.pathsep}{ROOT}"}
    parent = subprocess.Popen(
        [sys.executable, "-c", PARENT],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        env=environment,
        cwd=ROOT,
    )
    assert parent.stdout
    assert parent.stdout.readline() == b"busy\n"
    return parent


def test_no_worker_outlives_a_killed_parent(before: set[int], quick_start: None) -> None:
    """Idle, starting, and in the middle of a call of C code that would take minutes."""
    with start_parent() as parent:
        wait_until(lambda: len(workers_of(parent.pid)) == 2, "two workers")
        workers = workers_of(parent.pid)
        parent.kill()
        assert parent.wait(30) == -signal.SIGKILL
        wait_until(lambda: not any(Path(f"/proc/{worker}").exists() for worker in workers), "workers end")


def test_an_item_of_another_type_is_the_callers_mistake() -> None:
    with GraderPool(["choice"], workers=1) as pool, pytest.raises(ValueError, match="not 'math'"):
        pool.grade(MATH, "4")
