"""Draws how benchmarks go with dimensions, and the items of one. Needs matplotlib.

Names are drawn as they stand, dollar signs and backslashes among them; long ones are cut in the middle. A character
that no installed font has is a box.
"""

from __future__ import annotations

import math
import textwrap
import warnings
from collections.abc import Sequence
from contextlib import AbstractContextManager
from pathlib import Path

import numpy as np
import numpy.typing as npt
from matplotlib import font_manager, rc_context
from matplotlib.axes import Axes
from matplotlib.collections import QuadMesh
from matplotlib.figure import Figure as Drawing
from matplotlib.lines import Line2D

from irt.alignment import Alignment
from irt.alignment_files import as_shown, correlated_pairs
from irt.arrays import FloatArray
from irt.intervals import Figure
from irt.mirt_updates import Gaussian

_ITEMS = "#1f5a96"
_ALIKE = "#b35c00"
_ZERO = "#6b6b6b"
_BLANK = "#eeeeee"
_REASON = "#555555"

# Half the width of a 95 % interval, in standard deviations.
_HALF_INTERVAL = 1.96

# In inches: a cell, and the least width of a panel for its title.
_CELL_WIDTH, _CELL_HEIGHT, _PANEL_WIDTH = 0.95, 0.42, 2.6
# The bar of colours is at most so high, and with more dimensions the names are on both sides.
_BAR_HEIGHT, _FEW_DIMS = 3.0, 4
_LONGEST_NAME, _LONGEST_TITLE = 36, 40
_MOST_PAIRS = 6
_PANELS_IN_A_ROW = 4

_DPI = 150
# Matplotlib refuses drawings of 2^16 pixels or more.
_MOST_PIXELS = 65_000


def draw_alignment(path: Path, rows: Sequence[Alignment], correlations: FloatArray) -> None:
    """Draw benchmark × dimension heat maps of corrected correlation, weight and uncorrected correlation to a PNG file.

    Each cell has its value with its 95 % interval, or on grey why there is none. Below are the number of models, what
    the intervals hold fixed, and how the dimensions correlate. Weights of a single dimension are its correlations, and
    have no heat map.

    Parameters
    ----------
    rows
        As ``irt.alignment.align`` returns them: all dimensions of a benchmark or subset in a run.
    correlations
        (D, D), of the abilities of the fit of all benchmarks.
    """
    dims = len(correlations)
    panels = [
        (
            "corrected correlation\nabilities fitted without the benchmark",
            [(r.corrected, r.reason) for r in rows],
        ),
        (
            "standardised weight\nin the regression on all dimensions",
            [(r.weight, r.weight_reason) for r in rows],
        ),
        (
            "uncorrected correlation\nabilities fitted to all benchmarks",
            [(r.uncorrected, r.reason) for r in rows],
        ),
    ]
    if dims == 1:
        del panels[1]
    names = [_row_name(row) for row in rows if row.dimension == 1]
    panel_width, rows_height = max(_PANEL_WIDTH, _CELL_WIDTH * dims), _CELL_HEIGHT * max(len(names), 3)
    width = 1.6 + 0.08 * max(map(len, names)) + len(panels) * panel_width
    below = textwrap.wrap(_below(rows, correlations), int(13 * width))
    with _names_as_they_stand("".join(names)):
        figure = Drawing(figsize=(width, 1.1 + rows_height + 0.16 * len(below)), layout="constrained")
        drawn = figure.subplots(1, len(panels), sharey=True)
        for axes, (title, cells) in zip(drawn, panels, strict=True):
            mesh = _heat_map(axes, [cells[start : start + dims] for start in range(0, len(cells), dims)])
            axes.set_title(title, fontsize=9.5)
            axes.set_xticks(np.arange(dims) + 0.5, [f"dimension {k + 1}" for k in range(dims)], fontsize=8.5)
        drawn[0].set_yticks(np.arange(len(names)) + 0.5, names, fontsize=9.5)
        drawn[0].invert_yaxis()
        drawn[-1].tick_params(labelright=dims > _FEW_DIMS)
        bar = figure.colorbar(
            mesh, ax=drawn, shrink=min(1, _BAR_HEIGHT / rows_height), aspect=15, pad=0.15 / width
        )
        bar.set_label(
            "correlation with\nthe scores" if dims == 1 else "correlation with\nthe scores, or weight"
        )
        bar.outline.set_visible(False)
        figure.supxlabel("\n".join(below), fontsize=8.5)
        _save(figure, path)


def _heat_map(axes: Axes, rows: Sequence[Sequence[tuple[Figure, str]]]) -> QuadMesh:
    """Draw rows of figures, each with why it has no value, and return the cells with their colours."""
    grid = np.array([[figure.value for figure, _ in row] for row in rows])
    axes.set_facecolor(_BLANK)
    mesh = axes.pcolormesh(
        np.ma.masked_invalid(grid), cmap="RdBu", vmin=-1, vmax=1, edgecolors="white", linewidth=1.5
    )
    for y, row in enumerate(rows):
        for x, (figure, reason) in enumerate(row):
            if math.isnan(figure.value):
                text, color = textwrap.fill(reason, 14), _REASON
            else:
                text = f"{figure.value:z.2f}\n[{figure.low:z.2f}, {figure.high:z.2f}]"
                color = "white" if abs(figure.value) > 0.6 else "black"
            # Inside its cell, so the layout need not measure it.
            drawn = axes.text(x + 0.5, y + 0.5, text, ha="center", va="center", fontsize=7.5, color=color)
            drawn.set_in_layout(False)
    axes.tick_params(length=0)
    axes.spines[:].set_visible(False)
    return mesh


def _below(rows: Sequence[Alignment], correlations: FloatArray) -> str:
    """Return what a reader must know beside the cells."""
    fewest, most = min(row.models for row in rows), max(row.models for row in rows)
    models = f"{most:,} models" if fewest == most else f"{fewest:,} to {most:,} models, by row"
    text = f"{models}. [ ]: 95 % intervals over resampled models; they hold the abilities fixed, without their error."
    pairs = sorted(correlated_pairs(correlations), key=lambda pair: -abs(pair[2]))
    if not pairs:
        return text
    listed = ", ".join(f"{value:z.2f} ({k} and {m})" for k, m, value in pairs[:_MOST_PAIRS])
    rest = pairs[_MOST_PAIRS:]
    others = f", the other {len(rest)} pairs at most {abs(rest[0][2]):.2f} either way" if rest else ""
    return (
        f"{text} Dimensions correlate: {listed}{others}. Where they do, a benchmark that measures one goes with the "
        "other, too: read the weight."
    )


def draw_items(path: Path, name: str, items: Gaussian, alike: npt.NDArray[np.bool_]) -> None:
    """Draw the items of a benchmark, difficulty against discrimination on each dimension, into a PNG file.

    Difficulty is −d, the logit of a wrong answer by a model of average abilities, the same in every panel; a
    compensatory model has no other difficulty per dimension. Filled: the loading's 95 % interval is on one side of 0.
    Crosses: only the benchmark's other items say where these are.

    Parameters
    ----------
    items
        Of the benchmark: (a_1 … a_D, d).
    alike
        (items,) whether all answers are right, or all wrong.
    """
    dims = items.mean.shape[1] - 1
    across = min(dims, _PANELS_IN_A_ROW)
    down = math.ceil(dims / across)
    title = _cut(as_shown(name), _LONGEST_TITLE)
    with _names_as_they_stand(title):
        figure = Drawing(figsize=(max(6.5, 1.2 + 3.6 * across), 1.8 + 3.1 * down), layout="constrained")
        panels = np.ravel(figure.subplots(down, across, sharex=True, sharey=True, squeeze=False))
        figure.suptitle(f"{title}: {len(items.mean):,} items", fontsize=12, fontweight="bold")
        for k, axes in enumerate(panels[:dims]):
            _scatter(axes, k, items, alike)
            axes.set_title(f"dimension {k + 1}", fontsize=10)
        for axes in panels[max(dims - across, 0) : dims]:  # those with nothing below
            axes.set_xlabel("difficulty −d  (logits; right = harder)", fontsize=9.5)
            axes.tick_params(labelbottom=True)
        for axes in panels[dims:]:
            axes.set_visible(False)
        figure.supylabel("discrimination a  (logits per sd of the ability)", fontsize=10)
        key = _key(int(alike.sum()))
        columns = len(key) if across > 1 else 1
        figure.legend(handles=key, loc="outside lower center", ncols=columns, frameon=False, fontsize=8.5)
        _save(figure, path)


def _scatter(axes: Axes, k: int, items: Gaussian, alike: npt.NDArray[np.bool_]) -> None:
    difficulty, loading = -items.mean[:, -1], items.mean[:, k]
    clear = np.abs(loading) > _HALF_INTERVAL * np.sqrt(items.covariance[:, k, k])
    filled, hollow = clear & ~alike, ~clear & ~alike
    axes.axhline(0, color=_ZERO, linewidth=0.8)
    axes.axvline(0, color=_ZERO, linewidth=0.8)
    axes.scatter(difficulty[hollow], loading[hollow], s=14, facecolors="none", edgecolors=_ITEMS, alpha=0.6)
    axes.scatter(difficulty[filled], loading[filled], s=14, color=_ITEMS, alpha=0.6, linewidths=0)
    axes.scatter(difficulty[alike], loading[alike], s=18, color=_ALIKE, marker="x", linewidths=1)
    axes.spines[["top", "right"]].set_visible(False)


def _key(alike: int) -> list[Line2D]:
    """Return what the marks stand for; the last only if there are such items."""
    found = [
        _mark("o", _ITEMS, _ITEMS, "95 % interval of a on one side of 0"),
        _mark("o", _ITEMS, "none", "interval of a has 0 in it"),
    ]
    if alike:
        label = f"all models right, or all wrong ({alike:,} item{'' if alike == 1 else 's'})"
        found.append(_mark("x", _ALIKE, _ALIKE, label))
    return found


def _mark(marker: str, color: str, inside: str, label: str) -> Line2D:
    return Line2D(
        [],
        [],
        linestyle="none",
        marker=marker,
        color=color,
        markerfacecolor=inside,
        markersize=4.5,
        label=label,
    )


def _row_name(row: Alignment) -> str:
    name = _cut(as_shown(row.subset or row.benchmark), _LONGEST_NAME)
    return f"    {name}" if row.subset else name


def _cut(name: str, longest: int) -> str:
    """Return a name of at most so many characters: of a longer one both ends."""
    if len(name) <= longest:
        return name
    start = longest // 2
    return f"{name[:start]}…{name[start + 1 - longest :]}"


def _names_as_they_stand(names: str) -> AbstractContextManager[None]:
    """Return the settings under which texts are drawn letter by letter, in fonts that have these characters."""
    return rc_context({"text.parse_math": False, "font.family": _fonts(names)})


def _fonts(text: str) -> list[str]:
    """Return the usual font and, for characters that it lacks, others that are installed."""
    usual = font_manager.FontProperties().get_family()
    font = font_manager.get_font(font_manager.findfont(font_manager.FontProperties()))
    missing = {c for c in text if not font.get_char_index(ord(c))}
    families = list(usual)
    for entry in font_manager.fontManager.ttflist:
        # Its glyphs are placeholders, which are drawn anyhow where there is no other.
        if not missing or entry.name.startswith("Last Resort"):
            continue
        font = font_manager.get_font(entry.fname)
        has = {c for c in missing if font.get_char_index(ord(c))}
        if has and font.scalable and entry.style == "normal" and entry.weight == 400:
            families.append(entry.name)
            missing -= has
    return families


def _save(figure: Drawing, path: Path) -> None:
    dots = min(_DPI, _MOST_PIXELS / max(figure.get_size_inches()))
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message=r"Glyph \d+ .*missing from font", category=UserWarning)
        figure.savefig(path, dpi=dots)
