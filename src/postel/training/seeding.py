"""Every random choice from an explicit seed, without touching the caller's generators."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import numpy as np
import torch

from postel.checks import check_count


@contextmanager
def seeded(seed: int, device: torch.device | str = "cpu") -> Iterator[None]:
    """A scope in which torch's generators start at ``seed``; afterwards they are as they were.

    >>> with seeded(0):
    ...     first = torch.rand(2)
    >>> with seeded(0):
    ...     bool((torch.rand(2) == first).all())
    True
    """
    device = torch.device(device)
    with torch.random.fork_rng(devices=[device] if device.type == "cuda" else []):
        torch.manual_seed(seed)
        yield


def derive_seed(seed: int, *path: int) -> int:
    """A seed of its own for the part of a run that ``path`` names, for instance a round of pseudo-labels.

    >>> derive_seed(0, 1) != derive_seed(0, 2), derive_seed(0, 1) == derive_seed(0, 1)
    (True, True)
    """
    check_count("seed", seed, 0)
    return int(np.random.SeedSequence([seed, *path]).generate_state(1, np.uint64)[0] >> np.uint64(1))
