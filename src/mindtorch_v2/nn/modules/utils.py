"""Small helpers of the modules: sizes given once or per dimension, names of types."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any

from ..._tensor import Tensor


def _ntuple(n: int) -> Callable[[Any], tuple[Any, ...]]:
    def expand(x: Any) -> tuple[Any, ...]:
        return tuple(x) if isinstance(x, Iterable) else (x,) * n

    return expand


_single = _ntuple(1)
_pair = _ntuple(2)
_triple = _ntuple(3)
_quadruple = _ntuple(4)


def _reverse_repeat_tuple(values: Sequence[int], times: int) -> tuple[int, ...]:
    """(a, b) twice -> (b, b, a, a): per-dimension padding in the order that `pad` takes it."""
    return tuple(v for v in reversed(values) for _ in range(times))


def typename(x: Any) -> str:
    """How error messages name the type of a value."""
    if isinstance(x, Tensor):
        return x.type()
    kind = x if isinstance(x, type) else type(x)
    name = kind.__qualname__
    return name if kind.__module__ in ("builtins", None) else f"{kind.__module__}.{name}"


def consume_prefix_in_state_dict_if_present(state_dict: dict[str, Any], prefix: str) -> None:
    """Takes a prefix off the keys of a state dict that have it, in place and in order: those of a wrapped module.

    >>> state = {"module.weight": 1, "module.bias": 2}
    >>> nn.modules.utils.consume_prefix_in_state_dict_if_present(state, "module.")
    >>> state
    {'weight': 1, 'bias': 2}
    """
    for key in list(state_dict):
        state_dict[key.removeprefix(prefix)] = state_dict.pop(key)
    metadata = getattr(state_dict, "_metadata", None)
    if metadata is None:
        return
    for key in list(metadata):  # modules: the wrapper itself, and names below it
        if key == "":
            continue
        if key == prefix.removesuffix("."):
            metadata[""] = metadata.pop(key)
        else:
            metadata[key.removeprefix(prefix)] = metadata.pop(key)
