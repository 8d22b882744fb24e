"""Draws a benchmark's difficulty distribution beside an even one. Needs matplotlib."""

from __future__ import annotations

from pathlib import Path
from typing import Sequence

from matplotlib import rc_context
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import MaxNLocator

from irt.difficulty import Diagnosis, Gap
from irt.io import PathLike, atomic_path

_ITEMS = "#1f5a96"
_EVEN = "#6b6b6b"
_GAP = "#d9822b"
_LABEL = "#8a4b08"

_WITHOUT_DATE: dict[str, dict[str, None]] = {
    ".png": {},
    ".pdf": {"CreationDate": None},
    ".svg": {"Date": None},
}

# More points than this cannot be told apart, and make a vector file huge.
_MOST_POINTS = 2000


def plot_difficulty(path: PathLike, name: str, diagnosis: Diagnosis, gaps: Sequence[Gap]) -> None:
    """Draw the distribution of z and write it to a file.

    Above is a histogram of the items; below their cumulative share, whose sideways distance from the
    diagonal is what DDM averages, and a tick for each item. The gaps are shaded in both.

    Parameters
    ----------
    path
        Where to; its suffix (.png, .pdf, .svg) is the format.
    name
        The benchmark's name, for the title.
    diagnosis
        What ``irt.difficulty.diagnose`` returned.
    gaps
        The gaps to mark.

    Raises
    ------
    OSError
        If the file cannot be written.
    """
    figure = Figure(figsize=(7.2, 6.4), layout="constrained")
    counts, cumulative = figure.subplots(2, 1, sharex=True, height_ratios=[2, 3])
    figure.suptitle(name, fontsize=13, fontweight="bold", parse_math=False)
    counts.set_title(
        f"{diagnosis.items:,} items    DDM {diagnosis.ddm:.4f}    Max Gap {diagnosis.max_gap:.4f}",
        fontsize=11,
    )
    for axes in (counts, cumulative):
        for gap in gaps:
            axes.axvspan(gap.lower, gap.upper, color=_GAP, alpha=0.22, linewidth=0)
        axes.spines[["top", "right"]].set_visible(False)
    _draw_counts(counts, diagnosis.z)
    _label_gaps(counts, gaps)
    _draw_cumulative(cumulative, sorted(diagnosis.z))
    with atomic_path(path) as temporary:
        with rc_context({"svg.hashsalt": "difficulty"}):  # the same figures, the same bytes
            figure.savefig(temporary, dpi=150, metadata=_WITHOUT_DATE[Path(path).suffix])


def _draw_counts(axes: Axes, z: list[float]) -> None:
    bins = min(40, max(20, round(len(z) ** 0.5)))
    heights, _, _ = axes.hist(z, bins=bins, range=(0, 1), color=_ITEMS, edgecolor="white", linewidth=0.6)
    axes.axhline(len(z) / bins, color=_EVEN, linestyle="--", linewidth=1.3)
    axes.set_ylim(0, 1.35 * float(max(heights, default=1)))  # leaves room for the gaps' labels
    axes.yaxis.set_major_locator(MaxNLocator(5, integer=True))
    axes.set_ylabel("items")


def _label_gaps(axes: Axes, gaps: Sequence[Gap]) -> None:
    for rank, gap in enumerate(gaps):
        middle = (gap.lower + gap.upper) / 2
        axes.annotate(
            f"gap {rank + 1}: {gap.width:.3f}",
            # Three heights in turn, so that neighbours do not write over each other.
            (middle, 0.99 - 0.085 * (rank % 3)),
            xycoords=("data", "axes fraction"),
            ha="left" if middle < 0.045 else "right" if middle > 0.955 else "center",
            va="top",
            fontsize=9,
            color=_LABEL,
        )


def _draw_cumulative(axes: Axes, ordered: list[float]) -> None:
    n = len(ordered)
    kept = sorted({*range(0, n, max(1, n // _MOST_POINTS)), n - 1})
    x = [0.0, *(ordered[i] for i in kept), 1.0]
    y = [0.0, *((i + 1) / n for i in kept), 1.0]
    axes.plot([0, 1], [0, 1], color=_EVEN, linestyle="--", linewidth=1.3, label="evenly spread")
    axes.step(x, y, where="post", color=_ITEMS, linewidth=1.8, label="items")
    if len(kept) == n:
        axes.plot(ordered, [-0.035] * n, "|", color=_ITEMS, markersize=7, markeredgewidth=0.9, alpha=0.7)
    axes.fill_between([], [], color=_GAP, alpha=0.22, linewidth=0, label="widest gaps")
    axes.set_xlim(-0.01, 1.01)
    axes.set_ylim(-0.07, 1.03)
    axes.set_xlabel("difficulty z  (0 = easiest, 1 = hardest)")
    axes.set_ylabel("share of items up to z")
    axes.legend(loc="best", frameon=False, fontsize=9)
