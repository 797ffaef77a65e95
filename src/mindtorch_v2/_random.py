"""Random state: `Generator`, `manual_seed` and the default generator."""
from __future__ import annotations

import contextlib
from collections.abc import Iterator
from typing import Any

from . import _device
from ._backends.cpu.generator import CPUGenerator
from ._tensor import Tensor, wrap


class Generator:
    """A source of random numbers, equal to PyTorch's CPU generator number by number."""

    def __init__(self, device: Any = "cpu") -> None:
        self.device = _device.device(device)
        self.engine = CPUGenerator()

    def manual_seed(self, seed: int) -> Generator:
        """Starts the sequence that belongs to this seed."""
        self.engine.manual_seed(seed)
        return self

    def seed(self) -> int:
        """Seeds from the operating system and returns the seed."""
        return self.engine.seed()

    def initial_seed(self) -> int:
        return self.engine.initial_seed()

    def get_state(self) -> Tensor:
        """The state as 5056 bytes, interchangeable with PyTorch's."""
        return wrap(self.engine.get_state())

    def set_state(self, new_state: Tensor) -> Generator:
        self.engine.set_state(new_state.numpy())
        return self

    def clone_state(self) -> Generator:
        """An independent generator in the same state."""
        made = Generator(self.device)
        made.engine = self.engine.clone_state()
        return made

    def __repr__(self) -> str:
        return f"<torch.Generator device='{self.device}'>"


default_generator = Generator()
default_generator.seed()


def manual_seed(seed: int) -> Generator:
    """Seeds the default generator and returns it."""
    return default_generator.manual_seed(int(seed))


def seed() -> int:
    return default_generator.seed()


def initial_seed() -> int:
    return default_generator.initial_seed()


def get_rng_state() -> Tensor:
    return default_generator.get_state()


def set_rng_state(new_state: Tensor) -> None:
    default_generator.set_state(new_state)


@contextlib.contextmanager
def fork_rng(devices: Any = None, enabled: bool = True, **_: Any) -> Iterator[None]:
    """Restores the default generator's state when the block ends."""
    if not enabled:
        yield
        return
    before = default_generator.get_state()
    try:
        yield
    finally:
        default_generator.set_state(before)
