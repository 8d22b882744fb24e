"""The benchmarks whose items can be fetched: where each has its home, at which revision, under which licence."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

LISTED = Path(__file__).with_name("sources.toml")
HOSTS = {"hub": "huggingface.co/datasets", "github": "github.com"}


@dataclass(frozen=True)
class Source:
    """One benchmark's home.

    Attributes
    ----------
    home
        ``hub`` (a data set of the Hugging Face Hub) or ``github``.
    revision
        The full hash of the commit.
    files
        Paths in the repository, in the order of the items.
    layout
        The name of a converter in ``verifier.pools.source_formats``.
    items
        How many items the files hold.
    sha256
        Of the files in the same order; empty where it is not known.
    defects
        Item ids, each with why the item is broken.
    """

    benchmark: str
    home: str
    repository: str
    revision: str
    files: tuple[str, ...]
    layout: str
    items: int
    licence: str
    sha256: tuple[str, ...] = ()
    defects: Mapping[str, str] = field(default_factory=dict, hash=False)

    @property
    def address(self) -> str:
        """The repository and its revision, for people."""
        return f"{HOSTS[self.home]}/{self.repository}@{self.revision[:12]}"


def read_sources(path: Path = LISTED) -> dict[str, Source]:
    """Return the sources by benchmark, in the order of the list."""
    tables = tomllib.loads(path.read_text(encoding="utf-8"))
    return {
        benchmark: Source(
            benchmark=benchmark,
            **table | {"files": tuple(table["files"]), "sha256": tuple(table.get("sha256", ()))},
        )
        for benchmark, table in tables.items()
    }
