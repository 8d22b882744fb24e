"""Files: text in, CSV rows in, whole files out. Standard library only, Python 3.9+.

Every reader names the file and the line when something is wrong; every writer replaces its target in one
step, so a reader never sees half a file and a failed command leaves the old file as it was.
"""

from __future__ import annotations

import contextlib
import csv
import gzip
import hashlib
import os
import zlib
from dataclasses import dataclass
from pathlib import Path
from typing import Iterable, Iterator, Sequence, TextIO, Union

PathLike = Union[str, "os.PathLike[str]"]

# One cell can be a whole model output in somebody's log; the default limit of 131,072 characters is too small.
csv.field_size_limit(2**30)


class InputError(Exception):
    """A mistake in the user's input. The message says what is wrong, where, and how to mend it."""


@contextlib.contextmanager
def open_text(path: PathLike) -> Iterator[TextIO]:
    """Open a UTF-8 text file for reading, with or without a byte-order mark; ``.gz`` is decompressed.

    Newlines are left alone, as the csv module wants them.

    Raises
    ------
    InputError
        If what is read inside the ``with`` block is not UTF-8 or not gzip data.
    OSError
        If the file cannot be opened.
    """
    opener = gzip.open if str(path).endswith(".gz") else open
    try:
        with opener(path, "rt", encoding="utf-8-sig", newline="") as handle:
            yield handle
    except UnicodeDecodeError as error:
        raise InputError(f"{path}: not UTF-8 text ({error.reason}); save the file as UTF-8") from error
    except (gzip.BadGzipFile, EOFError, zlib.error) as error:
        raise InputError(f"{path}: not a whole gzip file ({error}); copy the file again") from error


def csv_rows(path: PathLike, handle: TextIO) -> Iterator[tuple[int, list[str]]]:
    """Yield (line number, cells) for every row of an open CSV file that is not blank.

    The line number is that of the row's last line, as csv counts them: the first line is 1.

    Raises
    ------
    InputError
        If the text is not valid CSV, with the line.
    """
    reader = csv.reader(handle, strict=True)
    try:
        for row in reader:
            if row:
                yield reader.line_num, row
    except csv.Error as error:
        raise InputError(f"{path}:{reader.line_num}: not valid CSV ({error})") from error


@contextlib.contextmanager
def atomic_path(path: PathLike) -> Iterator[Path]:
    """Yield a temporary path beside ``path``; on success it is synced to disk and takes ``path``'s place.

    On any exception the temporary file is removed and ``path`` stays as it was. Missing parent folders
    are made.

    Raises
    ------
    InputError
        If the system refuses a write (a full disk, a folder that may not be written).
    """
    target = Path(path)
    # The suffix stays last: numpy and matplotlib choose the format, or add a suffix, by it.
    temporary = target.with_name(f".{target.stem}.{os.getpid()}.tmp{target.suffix}")
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        yield temporary
        with open(temporary, "rb+") as written:
            os.fsync(written.fileno())
        os.replace(temporary, target)
    except OSError as error:
        if error.filename is not None and str(error.filename) != str(temporary):
            raise  # of another file; its name is in the error
        raise InputError(f"{target}: cannot be written ({error.strerror}); it is as it was before") from error
    finally:
        with contextlib.suppress(FileNotFoundError):
            temporary.unlink()


@contextlib.contextmanager
def atomic_writer(path: PathLike) -> Iterator[TextIO]:
    """Open ``path`` for writing UTF-8 text that appears there whole, when the block ends, or not at all."""
    with atomic_path(path) as temporary, open(temporary, "w", encoding="utf-8", newline="") as handle:
        yield handle


def write_csv(path: PathLike, header: Sequence[str], rows: Iterable[Sequence[object]]) -> None:
    """Write a CSV file with LF line ends, whole or not at all."""
    with atomic_writer(path) as handle:
        # Before Python 3.13 a lone carriage return in a cell is quoted only if it is part of the line end, so the
        # rows are made with CRLF and lose the CR here.
        writer = csv.writer(_LineFeeds(handle), lineterminator="\r\n")
        writer.writerow(header)
        writer.writerows(rows)


@dataclass(frozen=True)
class _LineFeeds:
    handle: TextIO

    def write(self, row: str) -> None:
        self.handle.write(row[:-2] + "\n")


def sha256_of(path: PathLike) -> str:
    """Return the SHA-256 of a file's bytes, in hexadecimal."""
    digest = hashlib.sha256()
    with open(path, "rb") as handle:
        for block in iter(lambda: handle.read(1 << 20), b""):
            digest.update(block)
    return digest.hexdigest()
