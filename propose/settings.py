"""The settings of a run, written into its config.json when it is made and never changed; only caps may be raised."""

from __future__ import annotations

from dataclasses import asdict, dataclass, fields
from typing import Any

from irt.io import InputError

# A candidate is dropped when it meets the rule, once all verifiers have answered, with less than this probability times
# the share of them that has not: chosen on simulations, so that at least 98 % of the decisions stay what they would be.
DROP_BELOW = 0.07


@dataclass(frozen=True)
class Settings:
    """What a run does.

    Attributes
    ----------
    benchmark, run
        Names of the benchmark and of the run; the run's seeds come from both.
    gaps, max_rounds, parents, children
        A round makes ``children`` candidates of each of ``parents`` items for each of ``gaps`` gaps, the widest.
    solutions
        How often the rewriter solves each candidate that is well-formed and new, before the panel sees it.
    verifiers_a_wave
        How many verifiers answer before it is asked again which candidates are worth going on with.
    drop_below
        The predictive probability of acceptance below which a candidate is dropped, before the first answer; it falls
        to 0 with the answers that are left. 0 never drops.
    accept_above
        The posterior probability of lying in the gap that acceptance needs.
    max_rollouts, max_tokens
        Hard caps of answers by the panel, and of tokens written by panel and rewriter; None: no cap.
    """

    benchmark: str
    run: str
    gaps: int = 3
    max_rounds: int = 8
    parents: int = 4
    children: int = 4
    solutions: int = 4
    verifiers_a_wave: int = 1
    drop_below: float = DROP_BELOW
    accept_above: float = 0.5
    max_rollouts: int | None = None
    max_tokens: int | None = None

    def as_fields(self) -> dict[str, Any]:
        """Return the settings as a JSON object."""
        return asdict(self)


def settings_from_fields(values: Any, where: str) -> Settings:
    """Return the settings of a JSON object; ``where`` begins every error message.

    Raises
    ------
    InputError
        If a setting is missing, unknown or impossible.
    """
    if not isinstance(values, dict):
        raise InputError(f"{where}: settings must be an object, found {type(values).__name__}")
    names = {one.name for one in fields(Settings)}
    if odd := sorted(names ^ set(values)):
        what = "unknown" if odd[0] in values else "missing"
        raise InputError(f"{where}: {what} setting {odd[0]!r}; a run has {', '.join(sorted(names))}")
    for name in ("benchmark", "run"):
        if not isinstance(values[name], str) or not values[name]:
            raise InputError(f"{where}: {name} must be a name, found {values[name]!r}")
    for name in ("gaps", "max_rounds", "parents", "children", "verifiers_a_wave"):
        _check_whole(values[name], 1, f"{where}: {name}")
    _check_whole(values["solutions"], 0, f"{where}: solutions")
    for name in ("max_rollouts", "max_tokens"):
        if values[name] is not None:
            _check_whole(values[name], 1, f"{where}: {name}")
    for name in ("drop_below", "accept_above"):
        value = values[name]
        if isinstance(value, bool) or not isinstance(value, int | float) or not 0 <= value < 1:
            raise InputError(f"{where}: {name} must be a number from 0 to below 1, found {value!r}")
    return Settings(**values)


def _check_whole(value: Any, lowest: int, what: str) -> None:
    if isinstance(value, bool) or not isinstance(value, int) or value < lowest:
        raise InputError(f"{what} must be a whole number of at least {lowest}, found {value!r}")
