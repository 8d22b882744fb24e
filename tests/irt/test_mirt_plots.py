"""The pictures, drawn for real: as PNG files, and as SVG files whose texts can be read."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from xml.etree import ElementTree

import numpy as np
import pytest
from matplotlib import font_manager, rc_context
from matplotlib.figure import Figure as Drawing

from irt.alignment import Alignment
from irt.arrays import FloatArray
from irt.intervals import UNDEFINED, Figure
from irt.mirt_plots import _MOST_PIXELS, _save, draw_alignment, draw_items
from irt.mirt_updates import Gaussian

CORRELATED = np.array([[1, -0.54], [-0.54, 1]])


@pytest.fixture(autouse=True)
def texts_in_svg_and_no_warnings() -> Iterator[None]:
    with rc_context({"svg.fonttype": "none"}), warnings.catch_warnings():
        warnings.simplefilter("error")
        yield


def row(benchmark: str, dimension: int, value: float = 0.5, subset: str = "") -> Alignment:
    figure = Figure(value, value - 0.1, value + 0.1)
    return Alignment(benchmark, subset, 9, 1989, dimension, figure, figure, figure, 0.9, 0.9)


def rows(*names: str) -> list[Alignment]:
    return [row(name, dimension) for name in names for dimension in (1, 2)]


def items(dims: int, count: int = 6) -> Gaussian:
    mean = np.linspace(-1, 1, count * (dims + 1)).reshape(count, dims + 1)
    covariance: FloatArray = np.broadcast_to(0.01 * np.eye(dims + 1), (count, dims + 1, dims + 1))
    return Gaussian(mean, covariance)


def texts(path: Path) -> list[str]:
    """Return the texts of an SVG file; a text of one that is drawn as mathematics is in pieces."""
    found = ElementTree.parse(path).iter("{http://www.w3.org/2000/svg}text")
    return ["".join(text.itertext()).strip() for text in found]


NAMES = {
    "$\\frac$": "$\\frac$",  # mathtext refuses it
    "$a_1$ and $b^2$": "$a_1$ and $b^2$",
    "\\$5 \\alpha {x} 50% & <b>": "\\$5 \\alpha {x} 50% & <b>",
    "tiny_arc^2": "tiny_arc^2",
    "two\nlines": "two\\nlines",
    "Математика": "Математика",
    "中文": "中文",
    "x" * 30 + "y" * 50: "x" * 18 + "…" + "y" * 17,
}


def test_names_are_drawn_as_they_stand(tmp_path: Path) -> None:
    some = [
        each
        for name in NAMES
        for each in (*rows(name), row("other", 1, subset=name), row("other", 2, subset=name))
    ]
    for ending in ("png", "svg"):
        draw_alignment(tmp_path / f"a.{ending}", some, CORRELATED)
    assert (tmp_path / "a.png").read_bytes().startswith(b"\x89PNG")
    found = texts(tmp_path / "a.svg")
    assert [found.count(shown) for shown in NAMES.values()] == [2] * len(NAMES)
    for name in NAMES:
        draw_items(tmp_path / "i.svg", name, items(1), np.zeros(6, dtype=bool))
        shown = NAMES[name] if len(name) <= 40 else "x" * 20 + "…" + "y" * 19
        assert f"{shown}: 6 items" in texts(tmp_path / "i.svg")


def test_letters_that_the_usual_font_lacks_come_from_another(tmp_path: Path) -> None:
    """A letter of a font that matplotlib brings along; in the usual one alone it would be a box."""
    usual = font_manager.get_font(font_manager.findfont(font_manager.FontProperties()))
    letter = "\u1d8a"
    assert not usual.get_char_index(ord(letter))
    draw_alignment(tmp_path / "a.svg", rows(letter), CORRELATED)
    assert "STIXGeneral" in (tmp_path / "a.svg").read_text(encoding="utf-8")
    draw_alignment(tmp_path / "b.svg", rows("usual"), CORRELATED)
    assert "STIXGeneral" not in (tmp_path / "b.svg").read_text(encoding="utf-8")


def test_the_heat_map_shows_weights_reasons_and_what_the_reader_must_know(tmp_path: Path) -> None:
    some = rows("one", "two")
    some[0] = replace(some[0], weight=Figure(-0.17, -0.3, -0.001))
    some[2] = replace(some[2], corrected=UNDEFINED, reason="not identified", models=30)
    some[2:] = [replace(each, weight=UNDEFINED, weight_reason="needs all dimensions") for each in some[2:]]
    draw_alignment(tmp_path / "a.svg", some, CORRELATED)
    found = texts(tmp_path / "a.svg")
    assert "standardised weight" in found and "-0.17" in found and "[-0.30, 0.00]" in found
    assert found.count("not identified") == 1 and found.count("needs all") == 2
    below = " ".join(found)
    assert "30 to 1,989 models, by row. [ ]: 95 % intervals over resampled models" in below
    assert "Dimensions correlate: -0.54 (1 and 2)." in below


def test_a_single_dimension_has_no_heat_map_of_weights(tmp_path: Path) -> None:
    draw_alignment(tmp_path / "a.svg", [row("one", 1), row("two", 1)], np.eye(1))
    found = " ".join(texts(tmp_path / "a.svg"))
    assert "weight" not in found and "correlate:" not in found and "1,989 models." in found


def test_only_the_strongest_of_many_correlations_are_listed(tmp_path: Path) -> None:
    correlations = np.eye(5)
    pairs = [(k, m) for m in range(5) for k in range(m)]
    for number, (k, m) in enumerate(pairs):
        correlations[k, m] = correlations[m, k] = (-1) ** number * (number + 1) / 20
    draw_alignment(tmp_path / "a.svg", [row("one", k + 1) for k in range(5)], correlations)
    found = " ".join(texts(tmp_path / "a.svg"))
    assert "correlate: -0.50 (4 and 5), 0.45 (3 and 5)," in found
    assert "the other 4 pairs at most 0.20 either way" in found


def test_the_picture_of_items_has_a_key_and_units(tmp_path: Path) -> None:
    alike = np.array([True, False, False, False, False, True])
    for dims in (1, 2, 5):
        draw_items(tmp_path / f"{dims}.svg", "one", items(dims), alike)
        found = texts(tmp_path / f"{dims}.svg")
        assert "95 % interval of a on one side of 0" in found and "interval of a has 0 in it" in found
        assert "all models right, or all wrong (2 items)" in found
        assert "discrimination a  (logits per sd of the ability)" in found
        assert "difficulty −d  (logits; right = harder)" in found
        assert [f"dimension {k + 1}" in found for k in range(dims + 1)] == [True] * dims + [False]
    draw_items(tmp_path / "none.svg", "one", items(2), np.zeros(6, dtype=bool))
    assert not any(text.startswith("all models") for text in texts(tmp_path / "none.svg"))


def test_huge_pictures_get_fewer_dots(tmp_path: Path) -> None:
    """Matplotlib refuses 2^16 pixels or more."""
    _save(Drawing(figsize=(0.1, 500)), tmp_path / "a.png")
    assert int.from_bytes((tmp_path / "a.png").read_bytes()[20:24], "big") == pytest.approx(
        _MOST_PIXELS, abs=1
    )
