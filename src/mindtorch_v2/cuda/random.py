"""Random numbers of CUDA devices: seeds are taken and have nothing to act on; states cannot be read."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from .. import _absent

__all__ = [
    "get_rng_state",
    "get_rng_state_all",
    "set_rng_state",
    "set_rng_state_all",
    "manual_seed",
    "manual_seed_all",
    "seed",
    "seed_all",
    "initial_seed",
]
_refuse = _absent.Refuser(__name__, AssertionError, "Torch not compiled with CUDA enabled")
get_rng_state = _refuse("get_rng_state")
initial_seed = _refuse("initial_seed")


def get_rng_state_all() -> list[Any]:
    """[]: there are no devices."""
    return []


def set_rng_state(new_state: Any, device: Any = "cuda") -> None:
    """PyTorch keeps the state for a device that may come; none will."""


def set_rng_state_all(new_states: Iterable[Any]) -> None:
    """The same for several devices."""


def manual_seed(seed: int) -> None:
    """PyTorch keeps the seed for a device that may come; none will."""
    int(seed)


def manual_seed_all(seed: int) -> None:
    """The same for all devices."""
    int(seed)


def seed() -> None:
    """Nothing to seed."""


def seed_all() -> None:
    """Nothing to seed."""
