"""The items of a run's candidates, read again from the rewriter's replies."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from irt.io import InputError
from propose.candidate import Candidate
from propose.parsing import Unusable, parse_reply
from verifier.items import Item


def candidate_items(candidates: Iterable[Candidate], pool: Iterable[Item]) -> dict[str, Item]:
    """Return the items of the candidates that are well-formed, by id, in the order of their rounds.

    Raises
    ------
    InputError
        If a parent is neither in the pool nor a well-formed candidate of an earlier round.
    """
    known = {item.id: item for item in pool}
    found: dict[str, Item] = {}
    for candidate in sorted(candidates, key=lambda one: one.round):
        if candidate.parent not in known:
            raise InputError(
                f"candidates.jsonl: candidate {candidate.id!r} was made from {candidate.parent!r}, which is neither in "
                "the pool nor an earlier candidate with an item; restore it from a copy, or init a new run"
            )
        item = read_item(candidate, known)
        if isinstance(item, Item):
            known[candidate.id] = found[candidate.id] = item
    return found


def read_item(candidate: Candidate, known: Mapping[str, Item]) -> Item | Unusable:
    """Return the item of a candidate, or why there is none; ``known`` holds its parent."""
    # Whatever stands in a reply that was cut off may be a draft: some models' thinking has no start tag.
    if candidate.finish_reason == "length":
        return Unusable("truncated", "the reply was cut off at max_tokens")
    return parse_reply(candidate.reply, known[candidate.parent], candidate.id)
