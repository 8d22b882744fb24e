"""Sources and their formats: every benchmark's own files become items with the benchmark's ids, in its order."""

from __future__ import annotations

import csv
import gzip
import json
import os
import re
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from irt.io import InputError
from tests.verifier.pools.hub_stand_in import invented_files, parquet
from verifier.items import Item, as_fields, item_from_fields
from verifier.pools.source_formats import LAYOUTS, read_items_of, split_options
from verifier.pools.source_records import Record
from verifier.pools.sources import HOSTS, read_sources

SOURCES = read_sources()
BENCHMARKS = ["aime24", "aime25", "aime26", "amc23", "gaokao2023en", "bbh_3obj", "mmlu_bio", "ifeval"]
CONTESTS = [f"{contest}-{number}" for contest in ("I", "II") for number in range(1, 16)]
SUBJECTS = {"college_biology": 144, "high_school_biology": 310}
TASKS = ("logical_deduction_three_objects", "tracking_shuffled_objects_three_objects")
IDS = {
    "aime24": [f"aime24-{place}" for place in CONTESTS],
    "aime25": [f"aime25-{place}" for place in CONTESTS],
    "aime26": [f"aime26-{place}" for place in CONTESTS],
    "amc23": [f"amc23-{number}" for number in range(40)],
    "gaokao2023en": [f"gaokao2023en-{number}" for number in range(385)],
    "bbh_3obj": [f"{task}/{number}" for task in TASKS for number in range(250)],
    "mmlu_bio": [f"{subject}/{number}" for subject, size in SUBJECTS.items() for number in range(size)],
    "ifeval": sorted(f"ifeval-{1000 + 3 * number}" for number in range(541)),
}


def written(folder: Path, benchmark: str) -> list[Path]:
    """Write invented files as the source has them, and return their paths."""
    source = SOURCES[benchmark]
    paths = []
    for number, (file, content) in enumerate(zip(source.files, invented_files(source), strict=True)):
        paths.append(folder / str(number) / Path(file).name)
        paths[-1].parent.mkdir()
        paths[-1].write_bytes(content)
    return paths


def write_lines(path: Path, records: list[Any]) -> Path:
    path.write_text("".join(json.dumps(record) + "\n" for record in records), encoding="utf-8")
    return path


# The list ------------------------------------------------------------------------------------------------------


def test_every_source_is_pinned_by_a_full_hash() -> None:
    assert list(SOURCES) == BENCHMARKS
    for source in SOURCES.values():
        assert re.fullmatch(r"[0-9a-f]{40}", source.revision)
        assert source.home in HOSTS and source.layout in LAYOUTS and source.licence and source.files
        assert len(source.sha256) in (0, len(source.files))
        assert all(re.fullmatch(r"[0-9a-f]{64}", checksum) for checksum in source.sha256)


# Converters ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("benchmark", BENCHMARKS)
def test_the_sources_own_files_become_items_in_the_benchmarks_order(tmp_path: Path, benchmark: str) -> None:
    source = SOURCES[benchmark]
    paths = written(tmp_path, benchmark)
    items = read_items_of(source, paths)
    assert [item.id for item in items] == IDS[benchmark]
    assert {(item.source, item.licence) for item in items} == {(source.address, source.licence)}
    assert [item_from_fields(as_fields(item), item.id) for item in items] == items
    assert read_items_of(source, paths[::-1]) == items  # whichever file is named first


def test_answers_and_choices_are_taken_over(tmp_path: Path) -> None:
    def items(benchmark: str) -> dict[str, Item]:
        folder = tmp_path / benchmark
        folder.mkdir()
        return {item.id: item for item in read_items_of(SOURCES[benchmark], written(folder, benchmark))}

    assert items("aime24")["aime24-I-1"].answer == "030"  # as the source has it
    assert items("aime25")["aime25-II-15"].answer == "900"
    assert items("amc23")["amc23-39"].answer == "39"  # 39.0 at the source
    assert items("gaokao2023en")["gaokao2023en-7"].answer == "$7$"
    deduction = items("bbh_3obj")["logical_deduction_three_objects/4"]
    assert deduction.question == "Three things, bbh/logical_deduction_three_objects.json 4: which?"
    assert (deduction.choices, deduction.answer) == (("one 4", "two", "three"), "B")
    biology = items("mmlu_bio")["high_school_biology/3"]
    assert (biology.choices, biology.answer) == (("w3", "x", "y", "z"), "D")
    prompt = items("ifeval")["ifeval-1003"]
    assert prompt.answer is None
    assert prompt.instruction_ids == ("punctuation:no_comma", "length_constraints:number_words")
    assert prompt.kwargs == (
        {},
        {"relation": "at least", "num_words": 20},
    )  # without the argument that was null


def test_a_file_of_all_subjects_gives_the_same_items(tmp_path: Path) -> None:
    rows = [
        {"question": f"{subject}?{n}", "subject": subject, "choices": ["a", "b", "c", "d"], "answer": n % 4}
        for n in range(310)
        for subject in ("anatomy", "high_school_biology", "college_biology")
        if n < SUBJECTS.get(subject, 9)
    ]
    (tmp_path / "all.parquet").write_bytes(parquet(rows))
    items = read_items_of(SOURCES["mmlu_bio"], [tmp_path / "all.parquet"])
    assert [item.id for item in items] == IDS["mmlu_bio"]
    assert items[200].question == "high_school_biology?56"


def test_records_with_their_origin_keep_id_and_origin(tmp_path: Path) -> None:
    records = [
        {
            "id": f"amc23-{number}",
            "question": f"What is {number}?",
            "answer": str(number),
            "source": "somebody/copy",
            "source_path": "data/amc.jsonl",
            "source_commit": "0123456789abcdef0123456789abcdef01234567",
        }
        for number in range(39, -1, -1)
    ]
    items = read_items_of(SOURCES["amc23"], [write_lines(tmp_path / "copy.jsonl", records)])
    assert [item.id for item in items] == IDS["amc23"]
    assert items[0].source == "github.com/somebody/copy@0123456789ab: data/amc.jsonl"
    assert items[0].licence == ""


TEXT = st.text(st.characters(exclude_categories=["Cs", "Cc", "Zl", "Zp"]), min_size=1).filter(str.strip)


@given(TEXT, st.lists(TEXT, min_size=2, max_size=26))
def test_options_are_split_from_any_question(question: str, choices: list[str]) -> None:
    lines = [f"({'ABCDEFGHIJKLMNOPQRSTUVWXYZ'[n]}) {choice}" for n, choice in enumerate(choices)]
    assert split_options("\n".join((question, "Options:", *lines)), "here") == (
        question,
        tuple(choice.strip() for choice in choices),
    )


@pytest.mark.parametrize(
    "text", ["Which?", "Which?\nOptions:\n(B) x\n(A) y", "\nOptions:\n(A) x", "?\nOptions:\nx"]
)
def test_text_without_lettered_options_is_refused(text: str) -> None:
    with pytest.raises(InputError, match="here: must end in a line 'Options:'"):
        split_options(text, "here")


@given(st.one_of(st.integers(-(10**15), 10**15), st.text(st.characters(exclude_categories=["Cs"]))))
def test_an_answer_is_taken_as_it_stands(answer: int | str) -> None:
    assert Record({"answer": answer}, 0, "f", "f:1").text("answer") == str(answer).strip()


# Mistakes ------------------------------------------------------------------------------------------------------


def amc(number: int, **changes: Any) -> dict[str, Any]:
    return {"id": number, "problem": "What?", "answer": 1} | changes


@pytest.mark.parametrize(
    ("records", "says"),
    [
        ([amc(0), amc(1)], "2 items of amc23, which has 40"),
        ([amc(0), amc(0)], "copy.jsonl:2: item 'amc23-0' was there before"),
        ([{"id": 0, "answer": 1}], "copy.jsonl:1: has no field question or problem"),
        ([{"id": 0, "problem": "What?"}], "copy.jsonl:1: has no field answer"),
        ([amc(0, answer=[1])], "copy.jsonl:1: answer must be a text or a number, found [1]"),
        ([amc(0, answer=True)], "answer must be a text or a number, found True"),
        ([amc(0, id="x/y")], "'amc23-x/y' is not the id of an item of amc23"),
        ([["a list"]], "copy.jsonl:1: must be a JSON object, found list"),
        ([amc(0, id="amc23-0", answer_type="math")], "copy.jsonl:1: is an item of a pool already"),
        (
            [amc(0, id="aime24-I-1", source_commit="0", source="a/b", source_path="")],
            "'aime24-I-1' is not the id of an item",
        ),
    ],
)
def test_what_is_not_the_benchmarks_file_is_named(tmp_path: Path, records: list[Any], says: str) -> None:
    with pytest.raises(InputError) as caught:
        read_items_of(SOURCES["amc23"], [write_lines(tmp_path / "copy.jsonl", records)])
    assert says in str(caught.value) and "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("name", "content", "says"),
    [
        ("x.jsonl", b"{\n", "x.jsonl:1: not JSON"),
        ("x.jsonl", b"\xff\xfe", "not UTF-8"),
        ("x.jsonl", b"", "0 items of amc23"),
        ("x.jsonl", b"[" * 100_000, "nested too deeply"),
        ("x.json", b'{"examples": 3}', "must be a list, or an object with a list of examples"),
        ("x.parquet", b"PAR1 and then nothing", "not a whole parquet file"),
    ],
)
def test_a_file_that_cannot_be_read_is_named(tmp_path: Path, name: str, content: bytes, says: str) -> None:
    (tmp_path / name).write_bytes(content)
    with pytest.raises(InputError) as caught:
        read_items_of(SOURCES["amc23"], [tmp_path / name])
    assert name in str(caught.value) and says in str(caught.value)


def test_a_truncated_parquet_file_is_refused_at_every_length(tmp_path: Path) -> None:
    whole = invented_files(SOURCES["aime25"])[0]
    path = tmp_path / "x.parquet"
    for length in range(4, len(whole), 37):
        path.write_bytes(whole[:length])
        with pytest.raises(InputError, match="not a whole parquet file"):
            read_items_of(SOURCES["aime25"], [path])


@pytest.mark.parametrize(
    ("benchmark", "change", "says"),
    [
        ("aime24", {"url": "https://example.org/2024"}, "url names no AIME problem"),
        ("ifeval", {"kwargs": "none"}, "kwargs must be a list of objects"),
        ("ifeval", {"instruction_id_list": [1]}, "instruction_id_list must be a list of texts"),
    ],
)
def test_a_field_of_another_form_is_named(
    tmp_path: Path, benchmark: str, change: dict[str, Any], says: str
) -> None:
    (path,) = written(tmp_path, benchmark)
    records = [json.loads(line) for line in path.read_text().splitlines()]
    write_lines(path, [records[0] | change, *records[1:]])
    with pytest.raises(InputError, match=says):
        read_items_of(SOURCES[benchmark], [path])


def test_bbh_files_must_tell_their_task_by_name(tmp_path: Path) -> None:
    first, second = written(tmp_path, "bbh_3obj")
    renamed = first.rename(tmp_path / "data.json")
    with pytest.raises(InputError, match="the file's name must tell the task"):
        read_items_of(SOURCES["bbh_3obj"], [renamed, second])
    with pytest.raises(InputError, match="250 items of bbh_3obj, which has 500"):
        read_items_of(SOURCES["bbh_3obj"], [second])


def test_a_matharena_index_outside_the_contests_is_refused(tmp_path: Path) -> None:
    (tmp_path / "x.parquet").write_bytes(parquet([{"problem_idx": 31, "problem": "What?", "answer": 1}]))
    with pytest.raises(InputError, match="problem_idx must be 1 to 30, found 31"):
        read_items_of(SOURCES["aime25"], [tmp_path / "x.parquet"])


# Real files ----------------------------------------------------------------------------------------------------

REAL = {
    "bbh_3obj": [f"bbh_{task}.jsonl" for task in TASKS],
    "mmlu_bio": ["mmlu_biology.jsonl"],
}


@pytest.fixture
def real_items() -> Path:
    if not (folder := os.environ.get("BENCHFILL_ITEMS")):
        pytest.skip("BENCHFILL_ITEMS names no folder of item files")
    return Path(folder)


@pytest.mark.parametrize("benchmark", BENCHMARKS)
def test_real_item_files_load(real_items: Path, benchmark: str) -> None:
    paths = [real_items / name for name in REAL.get(benchmark, [f"{benchmark}.jsonl"])]
    items = read_items_of(SOURCES[benchmark], paths)
    in_file = [json.loads(line)["id"] for path in paths for line in path.read_text("utf-8").splitlines()]
    if benchmark == "ifeval":  # the file has one record restored at its end; the order is that of the source
        in_file.sort()
    assert [item.id for item in items] == in_file
    assert all(item.choices or item.answer_type != "choice" for item in items)


@pytest.mark.parametrize(
    ("benchmark", "matrix"),
    [
        ("bbh_3obj", "bbh_logical_deduction_three_objects__psn-irt"),
        ("mmlu_bio", "mmlu_biology__psn-irt"),
        ("aime25", "aime25_I__matharena-site"),
    ],
)
def test_items_stand_where_the_columns_of_released_matrices_stand(
    real_items: Path, benchmark: str, matrix: str
) -> None:
    paths = [real_items / name for name in REAL.get(benchmark, [f"{benchmark}.jsonl"])]
    items = read_items_of(SOURCES[benchmark], paths)
    with gzip.open(real_items.parent / "matrices" / f"{matrix}.csv.gz", "rt", encoding="utf-8") as handle:
        columns = next(csv.reader(handle))[1:]
    assert [item.id for item in items][: len(columns)] == columns
