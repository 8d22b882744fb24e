"""A table of the report as HTML."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from html import escape


def table(headings: Sequence[str], rows: Iterable[Sequence[str]], text: int) -> str:
    """Return a table whose first ``text`` columns are aligned left."""

    def line(cells: Sequence[str], tag: str) -> str:
        return "".join(
            f"<{tag}{' class=text' if place < text else ''}>{escape(cell)}</{tag}>"
            for place, cell in enumerate(cells)
        )

    body = "".join(f"<tr>{line(row, 'td')}</tr>" for row in rows)
    return f"<table><tr>{line(headings, 'th')}</tr>{body}</table>"
