"""Files: text in, CSV rows in, whole files out. Standard library only, Python 3.9+.

Every reader names the file and the line when something is wrong; every writer replaces its target in one
step, so a reader never sees half a file and a failed command leaves the old file as it was.
"""

from __future__ import annotations

import contextlib
import csv
import gzip
import hashlib
import io
import json
import os
import secrets
import zlib
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Dict, Iterable, Iterator, Sequence, TextIO, Union

PathLike = Union[str, "os.PathLike[str]"]

# One cell can be a whole model output in somebody's log; the default limit of 131,072 characters is too small.
csv.field_size_limit(2**30)


class InputError(Exception):
    """A mistake in the user's input. The message says what is wrong, where, and how to mend it."""


@contextlib.contextmanager
def open_text(path: PathLike) -> Iterator[TextIO]:
    """Open a UTF-8 text file for reading, with or without a byte-order mark; gzip, by its first bytes, is unpacked.

    Newlines are left alone, as the csv module wants them.

    Raises
    ------
    InputError
        If what is read inside the ``with`` block is not UTF-8 or not gzip data.
    OSError
        If the file cannot be opened.
    """
    try:
        with open(path, "rb") as raw:
            packed = raw.peek(2)[:2] == b"\x1f\x8b"
            binary = gzip.GzipFile(fileobj=raw) if packed else raw
            with io.TextIOWrapper(binary, encoding="utf-8-sig", newline="") as handle:
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
    are made. Where ``path`` is a link, the file that it points to is replaced.

    Raises
    ------
    InputError
        If ``path`` is there and not a file (a folder, a device), or the system refuses a write (a full disk, a
        folder that may not be written).
    """
    target = Path(os.path.realpath(path))
    check_output(path)
    # A short name, as the target's own may be as long as names can be. The suffix stays last: numpy and matplotlib
    # choose the format, or add a suffix, by it.
    temporary = target.with_name(f".{secrets.token_hex(4)}.tmp{target.suffix}")
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        yield temporary
        with open(temporary, "rb+") as written:
            os.fsync(written.fileno())
        os.replace(temporary, target)
    except OSError as error:
        if error.filename is not None and Path(error.filename) not in (temporary, *target.parents):
            raise  # of another file; its name is in the error
        raise InputError(
            f"{path}: cannot be written ({error.strerror}); nothing was changed there"
        ) from error
    finally:
        with contextlib.suppress(OSError):
            temporary.unlink()


def read_json_object(path: PathLike) -> Dict[str, Any]:
    """Return the one JSON object that a file holds.

    Raises
    ------
    InputError
        If it holds anything else, or what is too long or too deep to read.
    """
    with open_text(path) as handle:
        text = handle.read()
    try:
        value = json.loads(text)
    except json.JSONDecodeError as error:
        raise InputError(f"{path}:{error.lineno}: not valid JSON ({error.msg}); mend or remove it") from error
    except (ValueError, RecursionError) as error:
        raise InputError(
            f"{path}: a number is too long or the nesting too deep to read; mend or remove it"
        ) from error
    if not isinstance(value, dict):
        raise InputError(f"{path}: expected a JSON object; mend or remove it")
    return value


def check_output(path: PathLike) -> None:
    """Refuse to write to what is not a file: a rename would put one in the place of a device.

    Raises
    ------
    InputError
        If ``path`` is there and not a file.
    """
    if os.path.exists(path) and not os.path.isfile(path):
        raise InputError(f"{path}: is a folder or a device; name a file to write")


def remove_file(path: PathLike) -> None:
    """Remove a file if it is there: what vouches for others goes before they change. Where it is a link, that stays."""
    Path(os.path.realpath(path)).unlink(missing_ok=True)


@contextlib.contextmanager
def atomic_writer(path: PathLike) -> Iterator[TextIO]:
    """Open ``path`` for writing UTF-8 text that appears there whole, when the block ends, or not at all."""
    with atomic_path(path) as temporary, open(temporary, "w", encoding="utf-8", newline="") as handle:
        yield handle


def write_csv(path: PathLike, header: Sequence[str], rows: Iterable[Sequence[object]]) -> None:
    """Write a CSV file with LF line ends, whole or not at all."""
    with atomic_writer(path) as handle:
        write_rows(handle, header, rows)


def write_rows(handle: TextIO, header: Sequence[str], rows: Iterable[Sequence[object]]) -> None:
    """Write CSV rows with LF line ends to an open file."""
    # Before Python 3.13 a lone carriage return in a cell is quoted only if it is part of the line end, so the rows
    # are made with CRLF and lose the CR on their way.
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
