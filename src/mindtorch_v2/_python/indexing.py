"""`x[...]`: an index expression becomes select, slice, unsqueeze and index calls, as PyTorch makes them."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from operator import index
from sys import maxsize
from typing import Any

import numpy as np

from .._dispatch import aten
from .._dispatch.modes import SPACE
from .._dispatch.overrides import UNASKED, answer_of
from .._dtype import int64
from .._keys import SPECIAL
from .._tensor import Tensor
from .creation import as_tensor


def getitem(self: Tensor, key: Any) -> Tensor:
    """Reads: views for integers, slices, None and Ellipsis; a gathered copy for tensors, lists and masks."""
    if SPACE["_overridden"] or SPACE["_mode"] & SPECIAL:
        answer = answer_of(getitem, (self, key))
        if answer is not UNASKED:
            return answer
    if key.__class__ is int:
        return select(self, 0, key)
    if key.__class__ is slice:
        if not self._array.ndim:
            raise IndexError("slice() cannot be applied to a 0-dim tensor.")
        view = _slice(self, 0, key)
        return view if view is not self else aten.alias(self)
    if key.__class__ is Tensor and _is_only_index(self, key):
        return aten.index(self, [key])
    view, indices, changed = _apply_basic(self, _as_tuple(key))
    if indices:
        return aten.index(view, indices)
    return view if changed else aten.alias(self)


def setitem(self: Tensor, key: Any, value: Any) -> None:
    """Writes into the part of the tensor that the key names; the value, a tensor or a number, is broadcast to it."""
    if (SPACE["_overridden"] or SPACE["_mode"] & SPECIAL) and answer_of(setitem, (self, key, value)) is not UNASKED:
        return
    if not isinstance(value, Tensor):
        value = _number(self, value)
    if key is False:
        return
    # True alone is a new dimension; in a tuple it is a mask
    items = _as_tuple(None if key is True else key)
    view, indices, _ = _apply_basic(self, items)
    if indices:
        casts = not any(item.__class__ is bool for item in items)
        aten.index_put_(view, indices, _source(value, self, indices, casts), False)
    elif isinstance(value, Tensor):
        aten.copy_(view, _expand_value(value, view))
    else:
        aten.fill_(view, value)


for _method, _name in ((getitem, "__getitem__"), (setitem, "__setitem__")):
    _method.__name__, _method.__qualname__, _method.__module__ = _name, f"Tensor.{_name}", "mindtorch_v2"


def _number(target: Tensor, value: Any) -> Any:
    """The value as a Python number; TypeError for what is neither a number nor a tensor."""
    if isinstance(value, np.integer):
        value = int(value)
    if not isinstance(value, (int, float, complex)):
        kind = type(value)
        name = kind.__name__ if kind.__module__ == "builtins" else f"{kind.__module__}.{kind.__name__}"
        raise TypeError(f"can't assign a {name} to a {target.type()}")
    if isinstance(value, int) and not -1 << 63 <= value < 1 << 63:
        raise ValueError("Overflow when unpacking long long")
    return value


def _source(value: Any, target: Tensor, indices: list[Any], casts: bool) -> Tensor:
    """What is to be written, as a tensor of the target's type; `casts`: one element, for a single mask, is cast."""
    if not isinstance(value, Tensor):
        return aten.fill_(aten.new_empty(target, ()), value)
    single_mask = (
        casts
        and sum(i is not None for i in indices) == 1
        and any(i is not None and i.dtype.category == 0 for i in indices)
    )
    if value.dtype is target.dtype:
        return value
    if value.numel() == 1 and single_mask:
        return value.to(target.dtype)
    raise RuntimeError(
        f"Index put requires the source and destination dtypes match, got {_word(target)} for the destination and "
        f"{_word(value)} for the source."
    )


def _word(t: Tensor) -> str:
    from .._dispatch.checks import type_word

    return type_word(t.dtype)


def _expand_value(value: Tensor, view: Tensor) -> Tensor:
    """The value without leading dimensions of size 1 that the view does not have; RuntimeError if it cannot be
    expanded.
    """
    shape, wanted = value._array.shape, view._array.shape
    if shape == wanted:
        return value
    start = next((i for i, n in enumerate(shape) if n != 1), len(shape))
    if start and len(shape) > len(wanted):
        value = value.reshape(shape[start:])
    return value if value._array.shape == wanted else aten.expand(value, wanted)


def select(t: Tensor, dim: int, position: int) -> Tensor:
    """One slice along a dimension; IndexError as PyTorch words it."""
    shape = t._array.shape
    if not shape:
        raise IndexError(
            "invalid index of a 0-dim tensor. Use `tensor.item()` in Python or `tensor.item<T>()` in C++ to convert a "
            "0-dim tensor to a number"
        )
    n = shape[dim]
    if not -n <= position < n:
        raise IndexError(f"index {position} is out of bounds for dimension {dim} with size {n}")
    return aten.select(t, dim, position)


def _as_tuple(key: Any) -> tuple[Any, ...]:
    if key.__class__ is tuple or isinstance(key, tuple):
        return key
    if (
        key.__class__ is list
        and len(key) < 32
        and any(x is None or x is Ellipsis or isinstance(x, (Tensor, slice, Sequence, np.ndarray)) for x in key)
    ):
        warnings.warn(
            "Using a non-tuple sequence for multidimensional indexing is deprecated and will be changed in pytorch "
            "2.9; use x[tuple(seq)] instead of x[seq]. In pytorch 2.9 this will be interpreted as tensor index, "
            "x[torch.tensor(seq)], which will result either in an error or a different result",
            stacklevel=3,
        )
        return tuple(key)
    return (key,)


def _as_index(item: Any) -> Any:
    """An int, bool, slice, None or Ellipsis as it is; anything else as an index tensor."""
    kind = item.__class__
    if kind is slice or kind is int or item is None or item is Ellipsis or kind is bool:
        return item
    if isinstance(item, np.integer):
        return int(item)
    found = _index_tensor(item)
    if found._array.ndim == 0 and found.dtype.name != "uint8" and found._takes_ops is None:
        return found.item() if not _is_mask(found) else bool(found)
    return found


def _is_mask(t: Tensor) -> bool:
    return t.dtype.category == 0 or t.dtype.name == "uint8"


def _consumes(item: Any) -> int:
    """How many dimensions of the tensor a prepared index item uses up."""
    if item.__class__ is slice or item.__class__ is int:
        return 1
    if item is None or item is Ellipsis or item.__class__ is bool:
        return 0
    return item.dim() if isinstance(item, Tensor) and _is_mask(item) else 1


def _apply_basic(self: Tensor, key: tuple[Any, ...]) -> tuple[Tensor, list[Any], bool]:
    """Applies the parts that are views; returns the view, the list of index tensors (empty if none) and whether it
    changed.
    """
    for item in key:
        if item.__class__ is not int and item.__class__ is not slice:
            break
    else:
        if len(key) <= self._array.ndim:
            view = _narrowed(self, key)
            return view, [], view is not self
    items = [_as_index(item) for item in key]
    used = sum(map(_consumes, items))
    if used > self.dim():
        raise IndexError(f"too many indices for tensor of dimension {self.dim()}")
    view, dim, changed = self, 0, False
    tensors: dict[int, Any] = {}
    for item in items:
        if item.__class__ is slice:
            made = _slice(view, dim, item)
            changed = changed or made is not view
            view = made
            dim += 1
        elif item is Ellipsis:
            dim += self.dim() - used
        elif item is None:
            view, changed = aten.unsqueeze(view, dim), True
            dim += 1
        elif item.__class__ is bool:
            view, changed = aten.unsqueeze(view, dim), True
            tensors[dim] = as_tensor([item])
            dim += 1
        elif isinstance(item, int):
            view, changed = select(view, dim, item), True
        else:
            tensors[dim] = item
            dim += _consumes(item)
    return view, _index_list(tensors), changed


def _narrowed(view: Tensor, key: tuple[Any, ...]) -> Tensor:
    """What numbers and slices alone, one for each of the first dimensions, leave of a tensor; itself if all of it."""
    dim = 0
    for item in key:
        if item.__class__ is int:
            view = select(view, dim, item)
        else:
            view = _slice(view, dim, item)
            dim += 1
    return view


def _is_only_index(self: Tensor, key: Tensor) -> bool:
    """Whether a key is a mask or a tensor of positions that fits, and no number in disguise."""
    ndim = key._array.ndim
    return ndim > 0 and key.dtype.category < 2 and self._array.ndim >= (ndim if _is_mask(key) else 1)


def _whole(value: Any) -> int:
    """A limit of a slice as a number."""
    if not hasattr(value, "__index__"):
        raise TypeError("slice indices must be integers or None or have an __index__ method")
    return index(value)


def _slice(view: Tensor, dim: int, item: slice) -> Tensor:
    start, stop, step = item.start, item.stop, item.step
    n = view._array.shape[dim]
    if step is not None and (step.__class__ is not int or step < 1):
        step = _whole(step)
        if step <= 0:
            raise ValueError("slice step cannot be zero" if step == 0 else "step must be greater than zero")
    start = 0 if start is None else start if start.__class__ is int else _whole(start)
    stop = maxsize if stop is None else stop if stop.__class__ is int else _whole(stop)
    if start == 0 and stop >= n and step in (None, 1):
        return view
    return aten.slice(view, dim, start, stop, 1 if step is None else step)


def _index_tensor(item: Any) -> Tensor:
    """An index tensor from a tensor, an array or a list of numbers or truth values."""
    if not isinstance(item, (Tensor, Sequence, np.ndarray)):
        kind = type(item)
        name = kind.__name__ if kind.__module__ == "builtins" else f"{kind.__module__}.{kind.__name__}"
        raise IndexError(
            "only integers, slices (`:`), ellipsis (`...`), None and long or byte Variables are valid indices (got "
            f"{name})"
        )
    if isinstance(item, Tensor):
        found = item
    elif isinstance(item, np.ndarray):
        found = as_tensor(item)
    else:
        found = as_tensor(item if isinstance(item, str) else list(item))
        if found.dtype.category > 1:  # a list says nothing of its type; PyTorch takes it for positions
            found = found.to(int64)
    if found.dtype.category > 1:
        raise IndexError("tensors used as indices must be long, int, byte or bool tensors")
    return found


def _index_list(tensors: dict[int, Any]) -> list[Any]:
    """Index tensors at their dimensions, None between; a mask stands at its first dimension."""
    out: list[Any] = []
    for dim in sorted(tensors):
        width = sum(_span(t) for t in out)
        out.extend([None] * (dim - width))
        out.append(tensors[dim])
    return out


def _span(t: Any) -> int:
    return t.dim() if t is not None and _is_mask(t) else 1
