"""Draws how benchmarks go with dimensions, and the items of one. Needs matplotlib."""

from __future__ import annotations

import math
from collections.abc import Sequence
from pathlib import Path

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure as Drawing
from matplotlib.image import AxesImage

from irt.alignment import Alignment
from irt.arrays import FloatArray
from irt.intervals import Figure
from irt.mirt_updates import Gaussian

_ITEMS = "#1f5a96"
_ZERO = "#6b6b6b"
_BLANK = "#e4e4e4"

# Half the width of a 95 % interval, in standard deviations.
_HALF_INTERVAL = 1.96


def draw_alignment(path: Path, rows: Sequence[Alignment]) -> None:
    """Draw the benchmark × dimension heat maps of corrected and uncorrected correlations into a PNG file.

    ``rows`` as ``irt.alignment.align`` returns them: all dimensions of a benchmark or subset in a run. Grey: no value.
    """
    dims = max(row.dimension for row in rows)
    names = [f"    {row.subset}" if row.subset else row.benchmark for row in rows if row.dimension == 1]
    figure = Drawing(figsize=(3.6 + 2.7 * max(dims, 2), 1.9 + 0.5 * len(names)), layout="constrained")
    panels = figure.subplots(1, 2, sharey=True)
    titles = ("abilities fitted without the benchmark", "abilities fitted to all benchmarks")
    columns = ([row.corrected for row in rows], [row.uncorrected for row in rows])
    for axes, title, values in zip(panels, titles, columns, strict=True):
        image = _heat_map(axes, [values[start : start + dims] for start in range(0, len(values), dims)])
        axes.set_title(title, fontsize=10)
        axes.set_xticks(range(dims), [f"dimension {k + 1}" for k in range(dims)])
    panels[0].set_yticks(range(len(names)), names)
    figure.colorbar(image, ax=panels, shrink=0.8, label="correlation with the models' scores")
    figure.savefig(path, dpi=150)


def _heat_map(axes: Axes, rows: Sequence[Sequence[Figure]]) -> AxesImage:
    grid = np.array([[cell.value for cell in row] for row in rows])
    axes.set_facecolor(_BLANK)
    image = axes.imshow(np.ma.masked_invalid(grid), cmap="RdBu", vmin=-1, vmax=1, aspect="auto")
    for y, row in enumerate(rows):
        for x, cell in enumerate(row):
            defined = not math.isnan(cell.value)
            text = f"{cell.value:.2f}\n[{cell.low:.2f}, {cell.high:.2f}]" if defined else "no value"
            light = defined and abs(cell.value) > 0.6
            axes.text(x, y, text, ha="center", va="center", fontsize=7.5, color="white" if light else "black")
    axes.tick_params(length=0)
    axes.spines[:].set_visible(False)
    return image


def draw_items(path: Path, name: str, items: Gaussian) -> None:
    """Draw the items of a benchmark, difficulty against discrimination on each dimension, into a PNG file.

    Difficulty is −d, the logit of a wrong answer by a model of average abilities, the same in every panel; a
    compensatory model has no other difficulty per dimension. Filled: the loading's 95 % interval is on one side of 0.

    Parameters
    ----------
    items
        Of the benchmark: (a_1 … a_D, d).
    """
    dims = items.mean.shape[1] - 1
    figure = Drawing(figsize=(1.2 + 3.6 * dims, 3.9), layout="constrained")
    panels = np.atleast_1d(figure.subplots(1, dims, sharex=True, sharey=True))
    figure.suptitle(f"{name}: {len(items.mean):,} items", fontsize=12, fontweight="bold")
    difficulty: FloatArray = -items.mean[:, dims]
    for k, axes in enumerate(panels):
        loading, sd = items.mean[:, k], np.sqrt(items.covariance[:, k, k])
        clear = np.abs(loading) > _HALF_INTERVAL * sd
        axes.axhline(0, color=_ZERO, linewidth=0.8)
        axes.axvline(0, color=_ZERO, linewidth=0.8)
        axes.scatter(
            difficulty[~clear], loading[~clear], s=14, facecolors="none", edgecolors=_ITEMS, alpha=0.6
        )
        axes.scatter(difficulty[clear], loading[clear], s=14, color=_ITEMS, alpha=0.6, linewidths=0)
        axes.set_title(f"dimension {k + 1}", fontsize=10)
        axes.spines[["top", "right"]].set_visible(False)
    panels[0].set_ylabel("discrimination on the dimension, a")
    figure.supxlabel("difficulty, −d  (right = harder)", fontsize=10)
    figure.savefig(path, dpi=150)
