"""How the sampler is run, and the defaults of every command that runs it. Standard library only."""

from __future__ import annotations

import os
from dataclasses import dataclass, field

CHAINS = 4

# Goes up with every change of the estimator that changes figures, so that old ones are not taken for up to date.
ESTIMATOR = 1


def available_cpus() -> int:
    """Return how many processors this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


@dataclass(frozen=True)
class SamplerSettings:
    """How to sample. ``tune`` and ``draws`` count for each chain; ``cores`` chains run at a time."""

    chains: int = CHAINS
    tune: int = 1000
    draws: int = 1000
    target_accept: float = 0.95
    seed: int = 0
    cores: int = field(default_factory=lambda: min(available_cpus(), CHAINS))
