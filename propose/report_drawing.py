"""Draws a benchmark's difficulty distribution before and after, as SVG text that stands in a page without a script."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from html import escape

WIDTH, PANEL, LEFT, RIGHT, TOP = 860, 130, 64, 16, 26
BINS = 40
GAP_INSET = 1.5  # at each side, so that two gaps with one item between them do not look like one
ORIGINAL, NEW, GAP, INK = "#1f5a96", "#2e8540", "#d9822b", "#444"


@dataclass(frozen=True)
class Panel:
    """One row of the drawing.

    Attributes
    ----------
    title
        What stands above it.
    originals, new
        Difficulties b.
    gaps
        (low, high) in b, to be shaded.
    """

    title: str
    originals: Sequence[float]
    new: Sequence[float]
    gaps: Sequence[tuple[float, float]]


def draw(panels: Sequence[Panel]) -> str:
    """Return an SVG element: for each panel a histogram, new items on top of originals, and a tick for each item."""
    values = [b for panel in panels for b in (*panel.originals, *panel.new)]
    low, high = min(values), max(values)
    tallest = max(max(map(sum, zip(*_heights(panel, low, high), strict=True))) for panel in panels)
    height = len(panels) * (PANEL + TOP) + 44
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {height}" role="img" '
        'font-family="sans-serif" font-size="12">',
        f"<title>{escape(' / '.join(panel.title for panel in panels))}</title>",
    ]
    for number, panel in enumerate(panels):
        parts += _panel(panel, number * (PANEL + TOP) + TOP, low, high, tallest)
    bottom = len(panels) * (PANEL + TOP) + 8
    for step in range(5):
        b = low + (high - low) * step / 4
        parts.append(
            f'<text x="{_x(b, low, high):.1f}" y="{bottom + 12}" text-anchor="middle" fill="{INK}">{b:.2f}</text>'
        )
    parts.append(
        f'<text x="{(LEFT + WIDTH - RIGHT) / 2}" y="{bottom + 30}" text-anchor="middle" fill="{INK}">'
        "difficulty b (harder to the right)</text>"
    )
    return "\n".join([*parts, "</svg>"])


def _panel(panel: Panel, top: int, low: float, high: float, tallest: int) -> list[str]:
    floor = top + PANEL - 14
    parts = [f'<text x="{LEFT}" y="{top - 8}" font-weight="bold" fill="{INK}">{escape(panel.title)}</text>']
    for start, end in panel.gaps:
        x = _x(start, low, high)
        wide = _x(end, low, high) - x
        inset = min(GAP_INSET, wide / 4)
        parts.append(
            f'<rect x="{x + inset:.1f}" y="{top}" width="{wide - 2 * inset:.1f}" height="{PANEL - 14}" '
            f'fill="{GAP}" fill-opacity="0.22" stroke="{GAP}" stroke-width="0.8"/>'
        )
    wide = (WIDTH - LEFT - RIGHT) / BINS
    scale = (PANEL - 20) / max(tallest, 1)
    for place, (originals, new) in enumerate(zip(*_heights(panel, low, high), strict=True)):
        x = LEFT + place * wide
        for count, under, colour in ((originals, 0, ORIGINAL), (new, originals, NEW)):
            if count:
                parts.append(
                    f'<rect x="{x:.1f}" y="{floor - (under + count) * scale:.1f}" width="{wide - 1:.1f}" '
                    f'height="{count * scale:.1f}" fill="{colour}"/>'
                )
    parts.append(f'<line x1="{LEFT}" y1="{floor}" x2="{WIDTH - RIGHT}" y2="{floor}" stroke="{INK}"/>')
    parts.append(
        f'<text x="{LEFT - 8}" y="{floor - tallest * scale + 10:.1f}" text-anchor="end" fill="{INK}">{tallest}</text>'
        f'<text x="{LEFT - 8}" y="{floor}" text-anchor="end" fill="{INK}">items</text>'
    )
    for values, colour in ((panel.originals, ORIGINAL), (panel.new, NEW)):
        for b in values:
            x = _x(b, low, high)
            parts.append(
                f'<line x1="{x:.1f}" y1="{floor + 2}" x2="{x:.1f}" y2="{floor + 10}" stroke="{colour}" '
                'stroke-width="1.4"/>'
            )
    return parts


def _heights(panel: Panel, low: float, high: float) -> tuple[list[int], list[int]]:
    """Return the number of originals and of new items in each bin."""
    heights = ([0] * BINS, [0] * BINS)
    for counts, values in zip(heights, (panel.originals, panel.new), strict=True):
        for b in values:
            counts[min(int((b - low) / (high - low) * BINS), BINS - 1)] += 1
    return heights


def _x(b: float, low: float, high: float) -> float:
    return LEFT + (WIDTH - LEFT - RIGHT) * (b - low) / (high - low)
