"""Helpers that libraries import from `torch._utils`."""

from __future__ import annotations

import functools
import importlib
import sys
import traceback
from collections import OrderedDict, defaultdict
from collections.abc import Iterable, Sequence
from typing import Any

from ._lazy_parts import lazy_parts as _lazy_parts
from ._tensor import Tensor


def _flatten_dense_tensors(tensors: Iterable[Tensor]) -> Any:
    """One vector of the elements of all tensors."""
    from ._dispatch import aten

    parts = [t.reshape(-1) for t in tensors]
    return parts[0] if len(parts) == 1 else aten.cat(parts)


def _unflatten_dense_tensors(flat: Any, tensors: Iterable[Tensor]) -> tuple[Any, ...]:
    """Views of a vector in the shapes of the tensors, one after the other."""
    made, start = [], 0
    for t in tensors:
        made.append(flat[start : start + t.numel()].view(t.shape))
        start += t.numel()
    return tuple(made)


def _take_tensors(tensors: Iterable[Tensor], size_limit: int) -> Iterable[list[Tensor]]:
    """Groups of tensors of one type, of at most so many bytes each."""
    groups: dict[Any, list[Tensor]] = defaultdict(list)
    sizes: dict[Any, int] = defaultdict(int)
    for t in tensors:
        key = t.type()
        if groups[key] and sizes[key] + t.nbytes > size_limit:
            yield groups.pop(key)
            sizes[key] = 0
        groups[key].append(t)
        sizes[key] += t.nbytes
    yield from (group for group in groups.values() if group)


def _reorder_tensors_as(tensors: Iterable[Tensor], ordered_tensors: Iterable[Tensor]) -> tuple[Tensor, ...]:
    """The tensors, their types in the order of other tensors' types."""
    by_type: dict[str, list[Tensor]] = defaultdict(list)
    for t in tensors:
        by_type[t.type()].append(t)
    each = {key: iter(group) for key, group in by_type.items()}
    return tuple(next(each[t.type()]) for t in ordered_tensors)


def _get_all_device_indices() -> list[int]:
    """The indices of all devices of the accelerator that is here."""
    from . import accelerator

    return list(range(accelerator.device_count()))


def _get_available_device_type() -> str | None:
    """The accelerator that is here, or None."""
    from . import accelerator

    found = accelerator.current_accelerator()
    return None if found is None else found.type


def _get_device_module(device_type: str) -> Any:
    """The module that speaks for a type of device."""
    found = getattr(importlib.import_module(__name__.partition(".")[0]), device_type, None)
    if found is None:
        raise RuntimeError(
            f"Device '{device_type}' does not have a corresponding module registered as 'torch.{device_type}'."
        )
    return found


def _get_device_index(device: Any, optional: bool = False, allow_cpu: bool = False) -> int:
    """The index that an argument names: an int, "name:1", a torch.device."""
    from ._device import device as make

    if isinstance(device, str):
        device = make(device)
    if isinstance(device, make):
        if device.type == "cpu" and not allow_cpu:
            raise ValueError(f"Expected a non cpu device, but got: {device}")
        found = -1 if device.type == "cpu" else device.index
    else:
        found = device if isinstance(device, int) else None
    if found is None and optional:
        from . import accelerator

        found = accelerator.current_device_index()
    if found is None:
        raise ValueError(f"Expected a torch.device with a specified index or an integer, but got:{device}")
    return found


class ExceptionWrapper:
    """An error as it is handed from one process or thread to another: its class, and its traceback as text."""

    def __init__(self, exc_info: Any = None, where: str = "in background") -> None:
        kind, error, tb = sys.exc_info() if exc_info is None else exc_info
        self.exc_type: Any = kind
        self.exc_msg = "".join(traceback.format_exception(kind, error, tb))
        self.where = where

    def reraise(self) -> None:
        """Raises the error here, its first traceback in the message."""
        text = f"Caught {self.exc_type.__name__} {self.where}.\nOriginal {self.exc_msg}"
        if self.exc_type is KeyError:
            text = KeyErrorMessage(text)
        elif getattr(self.exc_type, "message", None):
            raise self.exc_type(message=text)
        try:
            error = self.exc_type(text)
        except Exception:  # noqa: BLE001 - a class whose constructor wants something else
            raise RuntimeError(text) from None
        raise error


class KeyErrorMessage(str):
    """A text that a KeyError prints as it is."""

    def __repr__(self) -> str:
        return str(self)


def _import_dotted_name(name: str) -> Any:
    """The object that a dotted name leads to."""
    first, *rest = name.split(".")
    return functools.reduce(getattr, rest, importlib.import_module(first))


def _rebuild_parameter(data: Tensor, requires_grad: bool, backward_hooks: Any) -> Any:
    """A parameter from a checkpoint."""
    from ._tensor import Parameter

    made = Parameter(data, requires_grad)
    for hook in (backward_hooks or {}).values():
        made.register_hook(hook)
    return made


def _rebuild_parameter_with_state(data: Tensor, requires_grad: bool, backward_hooks: Any, state: Any) -> Any:
    """A parameter with the attributes that a program put on it: a dict, or that and a dict of slots."""
    made = _rebuild_parameter(data, requires_grad, backward_hooks)
    for attributes in state if isinstance(state, tuple) else (state,):
        for name, value in (attributes or {}).items():
            setattr(made, name, value)
    return made


def _element_size(dtype: Any) -> int:
    """Bytes of one element."""
    return dtype.itemsize


def _to(self: Any, device: Any, non_blocking: bool = False) -> Any:
    return self.to(device, non_blocking=non_blocking)


def classproperty(func: Any) -> Any:
    """A property of a class."""
    return _ClassProperty(func)


class _ClassProperty:
    def __init__(self, func: Any) -> None:
        self.func = func

    def __get__(self, instance: Any, owner: Any) -> Any:
        return self.func(owner)


def render_call(fn: Any, args: Sequence[Any], kwargs: dict[str, Any]) -> str:
    """A call as text."""
    given = [repr(a) for a in args] + [f"{k}={v!r}" for k, v in kwargs.items()]
    return f"{getattr(fn, '__name__', fn)}({', '.join(given)})"


torch = sys.modules[__name__.partition(".")[0]]  # where PyTorch's pickles find memory formats: `torch._utils.torch`
# What those pickles call.
__getattr__, __dir__ = _lazy_parts(
    __name__,
    (),
    {
        "_rebuild_meta_tensor_no_storage": "_serialization.plain_pickles:rebuild_meta_tensor",
        "_rebuild_sparse_tensor": "_serialization.plain_pickles:rebuild_sparse_tensor",
        "_rebuild_tensor": "_serialization.plain_pickles:rebuild_tensor_over",
        "_rebuild_tensor_v2": "_serialization.plain_pickles:rebuild_tensor_over",
        "_rebuild_tensor_v3": "_serialization.plain_pickles:rebuild_typed_tensor_over",
    },
)
__all__ = ["ExceptionWrapper", "OrderedDict", "_flatten_dense_tensors", "_unflatten_dense_tensors"]
