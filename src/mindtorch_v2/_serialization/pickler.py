"""Writing: a pickle in which tensors, types and modules bear PyTorch's names."""

from __future__ import annotations

import io
import pickle
from collections import OrderedDict
from typing import Any

import numpy as np

from .. import _accelerators
from .. import _dtype as dt
from .._device import device
from .._keys import ACCELERATORS, CPU, DEVICES
from .._shape import Size
from .._storage import root_array
from .._tensor import Parameter, Tensor, layout, sparse_coo, strided, wrap
from .names import STORAGE_NAMES, Name, foreign_module, home

_REBUILD_TENSOR = Name("torch._utils", "_rebuild_tensor_v2")
_REBUILD_TENSOR_OF_TYPE = Name("torch._utils", "_rebuild_tensor_v3")  # for types that have no storage class
_REBUILD_SPARSE = Name("torch._utils", "_rebuild_sparse_tensor")
_REBUILD_PARAMETER = Name("torch._utils", "_rebuild_parameter")


_PythonPickler: Any = pickle._Pickler  # type: ignore[attr-defined]  # the one whose steps can be overridden


class CheckpointPickler(_PythonPickler):
    """Collects the storages that tensors refer to; `storages` maps a key to the array that owns the memory."""

    def __init__(self, file: io.BytesIO, protocol: int) -> None:
        super().__init__(file, protocol)
        self.storages: dict[str, np.ndarray] = {}
        self._keys: dict[int, str] = {}
        self._tensors_alive: list[Any] = []
        self._copies: dict[int, np.ndarray] = {}  # of device memory, by the identity of its owner

    # --- names --------------------------------------------------------------------------------------------------------
    def save(self, obj: Any, save_persistent_id: bool = True) -> None:
        if isinstance(obj, Name):
            self._write_global(obj.module, obj.name)
        elif isinstance(obj, dt.dtype):
            self._write_global("torch", obj.name)
        else:
            super().save(obj, save_persistent_id)

    def _write_global(self, module: str, name: str) -> None:
        self.write(pickle.GLOBAL + f"{module}\n{name}\n".encode())

    def save_global(self, obj: Any, name: str | None = None) -> None:
        module = getattr(obj, "__module__", None) or ""
        if foreign_module(module) != module:
            name = str(getattr(obj, "__qualname__", name))
            self._write_global(home(module, name), name)
            self.memoize(obj)
        else:
            super().save_global(obj, name)

    dispatch = dict(_PythonPickler.dispatch)
    dispatch[type(lambda: None)] = save_global

    # --- values -------------------------------------------------------------------------------------------------------
    def reducer_override(self, obj: Any) -> Any:
        if isinstance(obj, Tensor):  # a DTensor says itself what it is made of
            return NotImplemented if hasattr(obj, "to_local") else self._reduce_tensor(obj)
        if type(obj) is layout:
            return Name("torch.serialization", "_get_layout"), (f"torch.{obj.name}",)
        if isinstance(obj, Size):
            return Name("torch", "Size"), (tuple(obj),)
        if isinstance(obj, device):
            return Name("torch", "device"), (obj.type,) if obj.index is None else (obj.type, obj.index)
        return NotImplemented

    def save_reduce(self, func: Any, args: Any, *rest: Any, obj: Any = None, **options: Any) -> None:
        if not isinstance(func, Name):
            super().save_reduce(func, args, *rest, obj=obj, **options)
            return
        self.save(func)
        self.save(args)
        self.write(pickle.REDUCE)
        if obj is not None:
            self.memoize(obj)

    def _reduce_tensor(self, t: Tensor) -> Any:
        if t._edge is not None:
            t = t.detach()
        self._tensors_alive.append(t)  # ids of arrays are keys: the arrays must not be freed meanwhile
        if isinstance(t, Parameter):
            data = t.detach()
            self._tensors_alive.append(data)
            return _REBUILD_PARAMETER, (data, t.requires_grad, OrderedDict())
        if t.layout is not strided:
            return _REBUILD_SPARSE, self._describe_sparse(t)
        if not t._keys & (CPU | ACCELERATORS):
            t = t.cpu()  # says why that cannot be
        root, offset = self._on_host(t) if t._keys & ACCELERATORS else (root_array(t._array), t.storage_offset())
        stored = t.dtype in STORAGE_NAMES
        storage = _StorageRef(root, t.dtype if stored else dt.uint8, str(t.device), stored)
        described: tuple[Any, ...] = (storage, offset, tuple(t.shape), t.stride(), t.requires_grad, OrderedDict())
        return (_REBUILD_TENSOR, described) if stored else (_REBUILD_TENSOR_OF_TYPE, (*described, t.dtype))

    def _describe_sparse(self, t: Any) -> tuple[Any, ...]:
        """(layout, (indices..., values, size[, is_coalesced])), as PyTorch writes sparse tensors."""
        parts = tuple(part.detach() for part in t._parts)
        self._tensors_alive.append(parts)
        coalesced = (t.is_coalesced(),) if t.layout is sparse_coo else ()
        return t.layout, (*parts, Size(t.shape), *coalesced)

    def _on_host(self, t: Tensor) -> tuple[np.ndarray, int]:
        """A copy of all the device memory that a tensor shares with others, made once, and where in it the tensor
        begins.
        """
        backend = _accelerators.of_keys(t._keys)
        assert backend is not None
        memory = backend.memory_of(t._array)
        if memory is None:
            return self._alive(np.empty(0, t.dtype.np)), 0
        if id(memory) not in self._copies:
            whole = wrap(np.ndarray((memory.nbytes,), np.uint8, memory), dt.uint8, t._keys & DEVICES, t.device)
            self._copies[id(memory)] = whole.cpu()._array
        return self._copies[id(memory)], (
            t.data_ptr() - np.ndarray((1,), np.uint8, memory).ctypes.data
        ) // t.element_size()

    def _alive(self, array: np.ndarray) -> np.ndarray:
        self._tensors_alive.append(array)
        return array

    def persistent_id(self, obj: Any) -> Any:
        if not isinstance(obj, _StorageRef):
            return None
        root = obj.root
        key = self._keys.get(id(root))
        if key is None:
            key = self._keys[id(root)] = str(len(self._keys))
            self.storages[key] = root
        numel = root.nbytes // obj.dtype.itemsize
        kind = Name("torch", STORAGE_NAMES[obj.dtype]) if obj.is_typed else Name("torch.storage", "UntypedStorage")
        return "storage", kind, key, obj.location, numel


class LegacyPickler(CheckpointPickler):
    """The same for the format before PyTorch 1.6: references say that they are not views, and `counts` has the number
    of elements of each storage, which has one type there."""

    def __init__(self, file: io.BytesIO, protocol: int) -> None:
        super().__init__(file, protocol)
        self.counts: dict[str, int] = {}
        self._types: dict[str, dt.dtype] = {}

    def persistent_id(self, obj: Any) -> Any:
        found = super().persistent_id(obj)
        if found is None:
            return None
        _, _, key, _, numel = found
        if self._types.setdefault(key, obj.dtype) != obj.dtype:
            raise RuntimeError(
                "Cannot save multiple tensors or storages that view the same data as different types in the format "
                "before PyTorch 1.6"
            )
        self.counts[key] = numel
        return (*found, None)


class _StorageRef:
    """A storage as a tensor refers to it: the array that owns the memory on the host, a type (uint8 where it is
    written as bare bytes, not `is_typed`), and the device it belongs to.
    """

    def __init__(self, root: np.ndarray, dtype: dt.dtype, location: str, is_typed: bool = True) -> None:
        self.root, self.dtype, self.location, self.is_typed = root, dtype, location, is_typed
