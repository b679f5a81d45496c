"""Every random choice comes from an explicit seed, and the caller's generators stay untouched."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import numpy as np
import torch

from postel.checks import check_count


@contextmanager
def seeded(seed: int, device: torch.device | str = "cpu") -> Iterator[None]:
    """Start torch's generators at a seed within a ``with`` block; afterwards they are as they were.

    Args:
        seed: The seed.
        device: The device whose generator is seeded beside the CPU's.

    Example:
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
    """Derive a separate seed for one part of a run, for instance a round of pseudo-labels.

    Args:
        seed: The run's seed, at least 0.
        *path: Numbers that name the part.

    Returns:
        The part's seed.

    Raises:
        InputError: If the seed is not a whole number from 0.

    Example:
        >>> derive_seed(0, 1) != derive_seed(0, 2), derive_seed(0, 1) == derive_seed(0, 1)
        (True, True)
    """
    check_count("seed", seed, 0)
    return int(np.random.SeedSequence([seed, *path]).generate_state(1, np.uint64)[0] >> np.uint64(1))
