"""Progress of long work on standard error: a bar on a terminal, a plain line now and then in a log."""

from __future__ import annotations

import contextlib
import sys
import time
from collections.abc import Callable, Iterator

SECONDS_BETWEEN_LINES = 15.0


@contextlib.contextmanager
def progress(title: str, total: int) -> Iterator[Callable[[int, str], None]]:
    """Yield ``update(done, note)``, to be called as often as you like; ``done`` counts up to ``total``."""
    if not sys.stderr.isatty():
        yield _plain_lines(title, total)
        return
    # Imported here: rich costs 0.1 s that a log does not need.
    from rich.console import Console
    from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn, TimeRemainingColumn

    columns = (
        TextColumn("{task.description}"),
        BarColumn(),
        TextColumn("{task.percentage:>3.0f} % {task.fields[note]}"),
        TimeElapsedColumn(),
        TimeRemainingColumn(),
    )
    with Progress(*columns, console=Console(stderr=True)) as bar:
        task = bar.add_task(title, total=total, note="")
        yield lambda done, note: bar.update(task, completed=done, note=note)


def _plain_lines(title: str, total: int) -> Callable[[int, str], None]:
    started = last = time.monotonic()

    def update(done: int, note: str) -> None:
        nonlocal last
        now = time.monotonic()
        if now - last >= SECONDS_BETWEEN_LINES:
            last = now
            text = f"{title}: {done:,} of {total:,} ({done / total:.0%}) after {now - started:.0f} s"
            print(f"{text}, {note}" if note else text, file=sys.stderr, flush=True)

    return update
