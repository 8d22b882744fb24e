"""Reads which items of the benchmarks belong together: benchmark,item,subset."""

from __future__ import annotations

import numpy as np

from irt.arrays import IntArray
from irt.io import InputError, PathLike, csv_rows, open_text
from irt.mirt_data import Benchmarks

COLUMNS = ("benchmark", "item", "subset")


def read_subsets(path: PathLike, data: Benchmarks) -> dict[tuple[int, str], IntArray]:
    """Return the items of each (number of the benchmark, name of the subset), in the order of the file.

    An item may be in several subsets and in none; columns of other names are ignored.

    Raises
    ------
    InputError
        If a column is missing or there twice; if a row has the wrong number of cells or a blank one, names an item that
        the matrices lack, or is there twice; with the line.
    """
    number_of = {item: number for number, item in enumerate(data.items)}
    members: dict[tuple[int, str], list[int]] = {}
    with open_text(path) as handle:
        rows = csv_rows(path, handle)
        line, header = next(rows, (0, []))
        missing = [name for name in COLUMNS if name not in header]
        if missing:
            raise InputError(
                f"{path}:{max(line, 1)}: no column {missing[0]!r}; it needs {', '.join(COLUMNS)}"
            )
        twice = [name for name in COLUMNS if header.count(name) > 1]
        if twice:
            raise InputError(f"{path}:{line}: two columns {twice[0]!r}; keep one")
        at = [header.index(name) for name in COLUMNS]
        for line, row in rows:
            if len(row) != len(header):
                raise InputError(f"{path}:{line}: {len(row)} cells instead of {len(header)}")
            benchmark, item, subset = (row[index] for index in at)
            if not subset:
                raise InputError(f"{path}:{line}: the subset is blank; leave out items that are in none")
            if benchmark not in data.names:
                known = ", ".join(map(repr, data.names))
                raise InputError(f"{path}:{line}: no benchmark {benchmark!r}; the matrices are {known}")
            if (benchmark, item) not in number_of:
                raise InputError(f"{path}:{line}: {benchmark!r} has no item {item!r}")
            listed = members.setdefault((data.names.index(benchmark), subset), [])
            if number_of[benchmark, item] in listed:
                raise InputError(f"{path}:{line}: item {item!r} is in subset {subset!r} already")
            listed.append(number_of[benchmark, item])
    if not members:
        raise InputError(f"{path}: no items below the column names")
    return {key: np.array(items, dtype=np.int64) for key, items in members.items()}
