"""A panel says exactly what is asked of whom, and a mistake in it is named before anything is asked."""

from __future__ import annotations

from pathlib import Path

import pytest

from irt.io import InputError
from verifier.panel import VLLM_SAMPLING, read_panel

ROOM = Path(__file__).resolve().parents[2] / "verifier"

SAMPLING = "{ " + ", ".join(f"{key} = 1.0" for key in VLLM_SAMPLING) + " }"
ENTRY = f"""
[[verifier]]
name = "NAME"
model = "some/model"
base_url = "http://localhost:8000/v1"
thinking = "none"
max_tokens = 100
sampling = {SAMPLING}
"""
PANEL = "".join(ENTRY.replace("NAME", name) for name in "abc")


def read(folder: Path, text: str):  # type: ignore[no-untyped-def]
    path = folder / "panel.toml"
    path.write_text(text, encoding="utf-8")
    return read_panel(path)


def test_the_shipped_panel_has_twelve_pinned_verifiers_of_both_kinds() -> None:
    verifiers = read_panel(ROOM / "panel.toml").verifiers
    assert len(verifiers) == 12
    assert all(len(verifier.revision) == 40 for verifier in verifiers)
    assert all(tuple(key for key, _ in verifier.sampling) == VLLM_SAMPLING for verifier in verifiers)
    assert 4 <= sum(verifier.thinking == "none" for verifier in verifiers) <= 8
    assert len({verifier.identity for verifier in verifiers}) == 12


@pytest.mark.parametrize("path", sorted((ROOM / "panels").glob("*.toml")), ids=lambda path: path.stem)
def test_the_examples_are_panels_whose_servers_are_given(path: Path) -> None:
    assert all(verifier.base_url for verifier in read_panel(path).verifiers)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (("thinking", "thinkin"), "verifier 1 (a): unknown key 'thinkin'"),
        (('name = "a"\n', ""), "verifier 1: name is missing"),
        (('name = "b"', 'name = "a"'), "two verifiers are named 'a'"),
        (('name = "a"', 'name = " "'), "verifier 1 ( ): name must be a text that is not blank"),
        (('thinking = "none"', 'thinking = "maybe"'), "thinking must be one of none, always, on"),
        (
            ("max_tokens = 100", "max_tokens = 0"),
            "max_tokens must be a whole number from 1 to 10,000,000, found 0",
        ),
        (
            ("max_tokens = 100", "max_tokens = true"),
            "max_tokens must be a whole number from 1 to 10,000,000, found True",
        ),
        (("top_k = 1.0, ", ""), "sampling has no top_k"),
        (("top_k = 1.0", 'top_k = "all"'), "top_k must be a whole number, found 'all'"),
        (("top_k = 1.0", "top_q = 1.0"), "unknown sampling parameter 'top_q'"),
        (("http://localhost:8000/v1", "http://[::1/v1"), "base_url must look like http://host:8000/v1"),
        (("http://localhost:8000/v1", "http://a..b/v1"), "base_url must look like http://host:8000/v1"),
        (("http://localhost:8000/v1", "http://a:99999/v1"), "base_url must look like http://host:8000/v1"),
        (("top_k = 1.0", "top_k = 0.5"), "top_k must be a whole number, found 0.5"),
        (("top_p = 1.0", "top_p = nan"), "top_p must be a number, found nan"),
        (("http://localhost:8000/v1", "localhost:8000"), "base_url must look like http://host:8000/v1"),
        (('base_url = "http://localhost:8000/v1"', ""), "give base_url, or revision"),
        (('base_url = "http://localhost:8000/v1"', 'revision = "0"'), "give base_url, or gpus"),
        (('thinking = "none"', 'thinking = "none"\napi = "other"'), "api must be vllm or hosted"),
        (
            ('thinking = "none"', 'thinking = "none"\napi = "hosted"'),
            "unknown sampling parameter 'min_p'; hosted has",
        ),
        (("[[verifier]]", "retries = 3\n[[verifier]]"), "unknown key 'retries'"),
        (("[[verifier]]", 'concurrency = "many"\n[[verifier]]'), "concurrency must be a whole number"),
        (("[[verifier]]", "[[verifier"), "not TOML"),
        (("[[verifier]]", f"x = {'9' * 5000}\n[[verifier]]"), "not TOML"),
    ],
)
def test_a_mistake_is_named(tmp_path: Path, change: tuple[str, str], message: str) -> None:
    with pytest.raises(InputError) as caught:
        read(tmp_path, PANEL.replace(*change, 1))
    assert message in str(caught.value)
    assert str(caught.value).startswith(str(tmp_path / "panel.toml"))


def test_two_verifiers_are_too_few(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="at least 3 verifiers, found 2"):
        read(tmp_path, PANEL[: PANEL.rindex("[[verifier]]")])


@pytest.mark.parametrize(
    "change",
    [
        ("some/model", "other/model"),
        ("max_tokens = 100", "max_tokens = 101"),
        ("temperature = 1.0", "temperature = 0.7"),
        ('thinking = "none"', 'thinking = "off"'),
        ('thinking = "none"', 'thinking = "none"\nrevision = "1"'),
        ('thinking = "none"', 'thinking = "none"\nsystem_prompt = "Be brief."'),
    ],
)
def test_whatever_shapes_the_answers_changes_the_identity(tmp_path: Path, change: tuple[str, str]) -> None:
    before, after = (read(tmp_path, text).verifiers for text in (PANEL, PANEL.replace(*change, 1)))
    assert before[0].identity != after[0].identity
    assert [one.identity for one in before[1:]] == [one.identity for one in after[1:]]


def test_where_it_is_served_does_not_change_the_identity(tmp_path: Path) -> None:
    before, after = (read(tmp_path, text).verifiers for text in (PANEL, PANEL.replace("8000", "9000")))
    assert [one.identity for one in before] == [one.identity for one in after]
