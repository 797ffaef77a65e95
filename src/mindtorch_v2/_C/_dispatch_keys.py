"""PyTorch's dispatch keys as names: what programs say when they switch autocast off around an operator."""

from __future__ import annotations

import contextlib
import enum
from collections.abc import Iterable, Iterator
from typing import Any

from ..amp.autocast_mode import autocast


class DispatchKey(enum.Enum):
    """A layer of PyTorch's dispatcher. Calls travel otherwise here: a key is a name and nothing else."""

    Undefined = 0
    CPU = 1
    CUDA = 2
    XPU = 3
    MPS = 4
    Meta = 5
    PrivateUse1 = 6
    SparseCPU = 7
    Autograd = 8
    AutogradCPU = 9
    AutogradCUDA = 10
    AutogradMeta = 11
    AutogradPrivateUse1 = 12
    ADInplaceOrView = 13
    AutocastCPU = 14
    AutocastCUDA = 15
    AutocastXPU = 16
    AutocastMPS = 17
    AutocastPrivateUse1 = 18
    CompositeImplicitAutograd = 19
    CompositeExplicitAutograd = 20
    BackendSelect = 21
    Python = 22
    Functionalize = 23
    FuncTorchBatched = 24


class DispatchKeySet:
    """A set of dispatch keys.

    >>> from mindtorch_v2._C import DispatchKey, DispatchKeySet
    >>> both = DispatchKeySet(DispatchKey.CPU) | DispatchKeySet(DispatchKey.AutocastCPU)
    >>> both.has(DispatchKey.AutocastCPU), both.remove(DispatchKey.AutocastCPU).has(DispatchKey.AutocastCPU)
    (True, False)
    """

    def __init__(self, keys: DispatchKey | Iterable[DispatchKey]) -> None:
        self._keys = frozenset([keys] if isinstance(keys, DispatchKey) else keys)

    def __or__(self, other: DispatchKeySet) -> DispatchKeySet:
        return DispatchKeySet(self._keys | other._keys)

    def __and__(self, other: DispatchKeySet) -> DispatchKeySet:
        return DispatchKeySet(self._keys & other._keys)

    def __sub__(self, other: DispatchKeySet) -> DispatchKeySet:
        return DispatchKeySet(self._keys - other._keys)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, DispatchKeySet) and self._keys == other._keys

    def __hash__(self) -> int:
        return hash(self._keys)

    def has(self, key: DispatchKey) -> bool:
        """Whether a key is among them."""
        return key in self._keys

    def add(self, key: DispatchKey) -> DispatchKeySet:
        """A set with one key more."""
        return DispatchKeySet(self._keys | {key})

    def remove(self, key: DispatchKey) -> DispatchKeySet:
        """A set without the key."""
        return DispatchKeySet(self._keys - {key})

    def __iter__(self) -> Iterator[DispatchKey]:
        return iter(sorted(self._keys, key=lambda k: k.value))

    def __repr__(self) -> str:
        return f"DispatchKeySet({', '.join(k.name for k in self)})"


class _ExcludeDispatchKeyGuard:
    """A block in which the keys' layers are left out. Autocast's can be; all others are refused.

    >>> from mindtorch_v2._C import DispatchKey, DispatchKeySet, _ExcludeDispatchKeyGuard
    >>> with torch.autocast("cpu"), _ExcludeDispatchKeyGuard(DispatchKeySet(DispatchKey.AutocastCPU)):
    ...     torch.is_autocast_enabled("cpu")
    False
    """

    def __init__(self, keys: DispatchKeySet) -> None:
        others = [k.name for k in keys if not k.name.startswith("Autocast")]
        if others:
            raise NotImplementedError(f"_ExcludeDispatchKeyGuard: only autocast can be left out, got {others}")
        self._types = [k.name.removeprefix("Autocast").lower() for k in keys]

    def __enter__(self) -> None:
        self._stack = contextlib.ExitStack()
        if "cpu" in self._types:
            self._stack.enter_context(autocast("cpu", enabled=False))

    def __exit__(self, *exc: Any) -> None:
        self._stack.close()
