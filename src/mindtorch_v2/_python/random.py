"""The functions that seed, save and restore the default generator."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from typing import Any

from .. import _accelerators
from .._backends.generators import Generator, default_generator
from .._tensor import Tensor


def manual_seed(seed: Any) -> Generator:
    """Seeds the default generator, and those of the devices that are in use; returns the default one.

    >>> _ = torch.manual_seed(0)
    >>> a = torch.rand(2)
    >>> _ = torch.manual_seed(0)
    >>> torch.equal(a, torch.rand(2))
    True
    """
    default_generator._stream.manual_seed(seed)
    for backend in _accelerators.loaded_backends():
        backend.manual_seed_all(seed)
    return default_generator


def seed() -> int:
    """Seeds the default generator with a number from the operating system, and returns that number.

    >>> isinstance(torch.seed(), int)
    True
    """
    return default_generator.seed()


def initial_seed() -> int:
    """The seed of the default generator.

    >>> _ = torch.manual_seed(3)
    >>> torch.initial_seed()
    3
    """
    return default_generator.initial_seed()


def get_rng_state() -> Tensor:
    """The state of the default generator.

    >>> state = torch.get_rng_state()
    >>> a = torch.rand(2)
    >>> torch.set_rng_state(state)
    >>> torch.equal(a, torch.rand(2))
    True
    """
    return default_generator.get_state()


def set_rng_state(new_state: Tensor) -> None:
    """Restores the state of the default generator.

    >>> state = torch.get_rng_state()
    >>> a = torch.rand(2)
    >>> torch.set_rng_state(state)
    >>> torch.equal(a, torch.rand(2))
    True
    """
    default_generator.set_state(new_state)


@contextlib.contextmanager
def fork_rng(
    devices: Any = None,
    enabled: bool = True,
    _caller: str = "fork_rng",
    _devices_kw: str = "devices",
    device_type: str = "cpu",
) -> Iterator[None]:
    """Restores the default generator when the block ends, whatever was drawn in it.

    >>> with torch.random.fork_rng():
    ...     a = torch.rand(2)
    >>> torch.equal(a, torch.rand(2))
    True
    """
    if not enabled:
        yield
        return
    before = default_generator._stream.get_state()
    try:
        yield
    finally:
        default_generator._stream.set_state(before)
