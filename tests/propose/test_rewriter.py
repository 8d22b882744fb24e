"""The rewriter's file: the three that are there can be read, and every mistake is told in one line."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from irt.io import InputError
from propose.rewriter import DEFAULT, read_rewriter

EXAMPLES = sorted(DEFAULT.parent.glob("rewriters/*.toml"))
GOOD = """
[rewriter]
name = "mine"
model = "mine/model"
base_url = "http://localhost:8000/v1"
thinking = "none"
max_tokens = 100
sampling = { temperature = 1.0, top_p = 1.0, top_k = -1, min_p = 0.0, presence_penalty = 0.0, repetition_penalty = 1.0 }
"""


@pytest.mark.parametrize("path", [DEFAULT, *EXAMPLES], ids=lambda path: path.stem)
def test_the_files_of_the_repository_can_be_read(path: Path) -> None:
    rewriter = read_rewriter(path)
    assert rewriter.name and len(rewriter.identity) == 12 and rewriter.concurrency > 0


def test_the_default_is_sampled_and_served_as_its_makers_recommend() -> None:
    model = read_rewriter().model
    assert model.model == "MiniMaxAI/MiniMax-M2.7" and re.fullmatch("[0-9a-f]{40}", model.revision)
    sampling = dict(model.sampling)
    assert (sampling["temperature"], sampling["top_p"], sampling["top_k"]) == (1.0, 0.95, 40)
    assert model.gpus == 4 and model.base_url is None and model.thinking == "always"
    assert model.max_tokens >= 32768
    assert "minimax_m2" in model.serve_arguments  # not minimax_m2_append_think, which older guides have


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (("[rewriter]", "[[rewriter]]"), "one table headed [rewriter]"),
        (("[rewriter]", "[writer]"), "unknown key 'writer'"),
        (("[rewriter]", "concurrency = 0\n[rewriter]"), "concurrency must be a whole number from 1 to"),
        (("[rewriter]", "patience = 3\n[rewriter]"), "unknown key 'patience'"),
        (('model = "mine/model"', ""), "rewriter (mine): model is missing"),
        (("top_k = -1,", ""), "sampling has no top_k"),
        (('base_url = "http://localhost:8000/v1"', ""), "give base_url"),
        (("max_tokens = 100", "max_tokens = -1"), "max_tokens must be a whole number"),
        (("[rewriter]", "[rewriter"), "not TOML"),
        (("[rewriter]", f"x = {'[' * 100_000}\n[rewriter]"), "not TOML"),
        (("max_tokens = 100", f"max_tokens = {'9' * 5000}"), "not TOML"),
    ],
)
def test_a_mistake_is_told_in_one_line(tmp_path: Path, change: tuple[str, str], message: str) -> None:
    path = tmp_path / "rewriter.toml"
    path.write_text(GOOD.replace(*change), encoding="utf-8")
    with pytest.raises(InputError) as error:
        read_rewriter(path)
    assert message in str(error.value) and str(path) in str(error.value) and "\n" not in str(error.value)


def test_what_shapes_the_replies_changes_the_identity(tmp_path: Path) -> None:
    identities = set()
    for number, change in enumerate([("", ""), ("temperature = 1.0", "temperature = 0.7"), ("8000", "8001")]):
        path = tmp_path / f"{number}.toml"
        path.write_text(GOOD.replace(*change), encoding="utf-8")
        identities.add(read_rewriter(path).identity)
    assert len(identities) == 2  # where it is served does not matter
