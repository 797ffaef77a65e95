"""Random number generators: `torch.Generator` and the default one, from which kernels draw."""

from __future__ import annotations

from typing import Any

from .. import _accelerators, _device
from .._storage import taken
from .._tensor import Tensor, wrap
from .cpu.generator import CPUGenerator


class Generator:
    """A stream of random numbers. The same seed gives the same numbers as PyTorch's CPU generator.

    >>> g = torch.Generator().manual_seed(0)
    >>> torch.rand(2, generator=g).shape
    torch.Size([2])
    """

    __slots__ = ("_stream", "_device", "_offset", "__weakref__")

    def __init__(self, device: Any = "cpu") -> None:
        where = _device.resolve(device)
        if where.type != "cpu" and not getattr(_accelerators.find(where.type), "has_generators", False):
            raise RuntimeError(f"Device type {where.type.upper()} is not supported for torch.Generator() api.")
        self._stream = CPUGenerator()
        self._device = where
        self._offset = 0  # numbers drawn since the seed, on a device

    @property
    def device(self) -> _device.device:
        return self._device

    def manual_seed(self, seed: Any) -> Generator:
        """Restarts the stream from a seed; returns the generator."""
        self._stream.manual_seed(seed)
        self._offset = 0
        return self

    def draw_on_device(self, count: int) -> tuple[int, int]:
        """The seed, and where among its numbers the next `count` begin. A device computes them."""
        if self._device.type == "cpu":
            raise RuntimeError(f"Expected a '{_accelerators.default_name()}' device type for generator but found 'cpu'")
        before = self._offset
        self._offset += (count + 3) // 4 * 4
        return self._stream.initial_seed() & 0x7FFFFFFFFFFFFFFF, before

    def seed(self) -> int:
        """Restarts the stream from a seed that the operating system gives, and returns the seed."""
        return self._stream.seed()

    def initial_seed(self) -> int:
        return self._stream.initial_seed()

    def get_state(self) -> Tensor:
        """The state of the stream as a tensor of bytes, in PyTorch's layout."""
        return taken(wrap(self._stream.get_state()))

    def set_state(self, new_state: Tensor) -> Generator:
        """Continues from a saved state; returns the generator."""
        if not isinstance(new_state, Tensor):
            raise TypeError(f"expected a torch.ByteTensor, but got {type(new_state).__name__}")
        self._stream.set_state(new_state._array)
        return self

    def clone_state(self) -> Generator:
        """An independent generator that continues with the same numbers."""
        copy = Generator(self._device)
        copy._stream = self._stream.clone_state()
        return copy

    graphsafe_get_state = clone_state

    def __reduce__(self) -> tuple[Any, ...]:
        return _rebuild, (self._device, self._stream)

    def __repr__(self) -> str:
        return f"<torch._C.Generator object at {id(self):#x}>"


def _rebuild(device: _device.device, stream: CPUGenerator) -> Generator:
    made = Generator(device)
    made._stream = stream
    return made


default_generator = Generator()


def stream_of(generator: Generator | None) -> CPUGenerator:
    """The random numbers of a generator argument; None means the default generator."""
    if generator is None:
        return default_generator._stream
    if generator._device.type != "cpu":
        raise RuntimeError(f"Expected a 'cpu' device type for generator but found '{generator._device.type}'")
    return generator._stream
