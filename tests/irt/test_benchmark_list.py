"""The list of released benchmarks: what it holds, and how a mistake in it is told."""

from __future__ import annotations

from pathlib import Path

import pytest

from irt.benchmark_list import BENCHMARK_LIST, Benchmark, read_benchmark_list
from irt.io import InputError

GOOD = '[A]\ntitle = "T"\ndomain = "D"\nmatrix = "m"\n'


def test_the_projects_own_list_has_35_benchmarks_in_7_domains() -> None:
    benchmarks = read_benchmark_list(BENCHMARK_LIST)
    assert len(benchmarks) == len({benchmark.name for benchmark in benchmarks}) == 35
    domains = [benchmark.domain for benchmark in benchmarks]
    # A domain is one block: its entries stand together.
    blocks = [domain for domain, before in zip(domains, [None, *domains]) if domain != before]
    assert blocks == [
        "Mathematics",
        "Coding",
        "Knowledge",
        "Reasoning",
        "Tool use",
        "Software engineering",
        "General agents",
    ]
    assert len({benchmark.matrix for benchmark in benchmarks}) == 35
    guessed = {benchmark.name: benchmark.guessing for benchmark in benchmarks if benchmark.guessing}
    assert guessed == {
        "MMLU-Pro": 0.1,
        "MMLU-Bio": 0.25,
        "GPQA-Diamond": 0.25,
        "BBH-Deduction3": 1 / 3,
        "BBH-Tracking3": 1 / 3,
        "ARC-C": 0.25,
        "HellaSwag": 0.25,
    }
    assert {benchmark.name: benchmark.drop_models for benchmark in benchmarks if benchmark.drop_models} == {
        "MMLU-Bio": ("LLM_02",),
        "Chinese-SimpleQA": ("LLM_01",),
        "HellaSwag": ("LLM_03",),
    }


def test_entries_come_in_file_order_with_their_defaults(tmp_path: Path) -> None:
    path = tmp_path / "list.toml"
    path.write_text(
        '["Z.1"]\ntitle = "Ü | b"\ndomain = "D"\nmatrix = "m__n"\nguessing = 0.2\ndrop_models = ["x", "y"]\n'
        + GOOD,
        encoding="utf-8",
    )
    assert read_benchmark_list(path) == (
        Benchmark("Z.1", "Ü | b", "D", "m__n", 0.2, ("x", "y")),
        Benchmark("A", "T", "D", "m", 0.0, ()),
    )


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "no benchmark; an entry is [NAME] with title, domain, matrix"),
        (GOOD + "[A]\n", "not valid TOML (Cannot declare ('A',) twice"),
        ("[A\n", "not valid TOML ("),
        ('A = "x"\n', "[A]: found 'x'; an entry is [A] with title, domain, matrix below it"),
        (GOOD.replace("title", "#"), "[A]: no 'title'"),
        (GOOD + "guesing = 0.25\n", "[A]: unknown key 'guesing'; known are title, domain, matrix, guessing"),
        (GOOD + "[A.B]\n", "[A]: unknown key 'B'"),
        (GOOD.replace('"T"', '" "'), "[A]: title must be a text that is not blank, found ' '"),
        (GOOD.replace('"D"', "3"), "[A]: domain must be a text that is not blank, found 3"),
        (GOOD.replace('"m"', '"../m"'), "[A]: matrix '../m' is a file's name"),
        (GOOD.replace("[A]", '["a/b"]'), "[a/b]: name 'a/b' is a file's name"),
        (GOOD.replace("[A]", '[".."]'), "[..]: name '..' is a file's name"),
        (GOOD + "guessing = 1\n", "[A]: guessing must be a number from 0 to below 1, found 1"),
        (GOOD + "guessing = nan\n", "[A]: guessing must be a number from 0 to below 1, found nan"),
        (GOOD + "guessing = true\n", "[A]: guessing must be a number from 0 to below 1, found True"),
        (GOOD + 'drop_models = "x"\n', "[A]: drop_models must be a list of model names, found 'x'"),
        (GOOD + "drop_models = [1]\n", "[A]: drop_models must be a list of model names, found [1]"),
        (GOOD + 'drop_models = ["x", "x"]\n', "[A]: drop_models names a model twice"),
    ],
)
def test_a_mistake_is_told_with_file_and_entry(tmp_path: Path, text: str, message: str) -> None:
    path = tmp_path / "list.toml"
    path.write_text(text)
    with pytest.raises(InputError) as caught:
        read_benchmark_list(path)
    assert str(caught.value).startswith(f"{path}: {message}")


def test_a_file_that_is_not_utf8_is_told(tmp_path: Path) -> None:
    path = tmp_path / "list.toml"
    path.write_bytes(GOOD.replace("T", "\xdc").encode("latin-1"))
    with pytest.raises(InputError, match="not valid TOML"):
        read_benchmark_list(path)
