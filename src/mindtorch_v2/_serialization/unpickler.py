"""Reading: an unpickler that knows only what a checkpoint of tensors needs. Nothing else is imported or called."""
from __future__ import annotations

import io
import pickle
from collections import Counter, OrderedDict, defaultdict
from typing import Any

import numpy as np

from .. import _device
from .. import _dtype as dt
from .._dispatch.keys import NPU
from .._shape import Size
from .._tensor import Parameter, Tensor, wrap
from .archive import ArchiveReader
from .names import STORAGE_DTYPES, StorageType, foreign_module, own_module

user_safe_globals: dict[str, Any] = {}


def _encode_latin1(text: str, encoding: str = "latin1") -> bytes:
    """How protocol 2 spells bytes."""
    return text.encode(encoding if encoding in ("latin1", "latin-1", "utf-8", "ascii") else "latin1")


class LoadedStorage:
    """The bytes of a storage, in the type that its reference names. `on_device` holds copies on devices, one per storage and
    device, so that tensors which shared memory share it again."""

    def __init__(self, array: np.ndarray, dtype: dt.dtype, location: Any, key: str, on_device: dict[Any, Tensor]) -> None:
        self.array, self.dtype, self.location = array, dtype, location
        self._key, self._on_device = key, on_device

    def placed(self) -> Tensor:
        """All elements as a tensor on the device that the storage belongs to."""
        found = self._on_device.get((self._key, self.location))
        if found is None:
            raw = wrap(self.array.view(np.uint8), dt.uint8)
            found = self._on_device[self._key, self.location] = raw.to(self.location)
        return found


def rebuild_tensor(storage: Any, storage_offset: Any, size: Any, stride: Any, requires_grad: Any = False, backward_hooks: Any = None,
                   metadata: Any = None) -> Tensor:
    """A tensor over a loaded storage; RuntimeError if its shape reaches outside it."""
    if not isinstance(storage, LoadedStorage):
        raise pickle.UnpicklingError("a tensor refers to something that is no storage")
    numbers = (storage_offset, *size, *stride)
    if len(size) != len(stride) or not all(isinstance(n, int) and not isinstance(n, bool) and n >= 0 for n in numbers):
        raise pickle.UnpicklingError(f"a tensor has the impossible geometry size={size!r}, stride={stride!r}, offset={storage_offset!r}")
    flat = storage.array
    last = storage_offset + sum((n - 1) * s for n, s in zip(size, stride)) if 0 not in size else storage_offset - 1
    if last >= flat.size:
        raise pickle.UnpicklingError(f"a tensor of size {list(size)} needs element {last} of a storage with {flat.size}")
    item = flat.itemsize
    if 0 in size:
        array = np.empty(size, flat.dtype)
    else:
        array = np.ndarray(tuple(size), flat.dtype, flat.data, storage_offset * item, tuple(s * item for s in stride))
    made = wrap(array, storage.dtype)
    if isinstance(storage.location, _device.device) and storage.location.type != "cpu":
        made = _on_device(storage, storage_offset * item, size, tuple(s * item for s in stride), made)
    return made.requires_grad_() if requires_grad is True and made.dtype.inexact else made


def _on_device(storage: LoadedStorage, offset: int, size: Any, strides: Any, host: Tensor) -> Tensor:
    """A tensor over the device's copy of a storage; devices without memory (meta) get a tensor of their own."""
    if storage.location.type != "npu" or not host.numel():
        return host.to(storage.location)
    whole = storage.placed()
    array = np.ndarray(tuple(size), storage.dtype.np, whole._a, offset, strides)
    return wrap(array, storage.dtype, NPU, whole.device)


def rebuild_parameter(data: Any, requires_grad: Any, backward_hooks: Any = None) -> Any:
    if not isinstance(data, Tensor):
        raise pickle.UnpicklingError("a parameter holds something that is no tensor")
    return Parameter(data, bool(requires_grad))


def _allowed() -> dict[str, Any]:
    known: dict[str, Any] = {
        "collections.OrderedDict": OrderedDict, "collections.Counter": Counter, "collections.defaultdict": defaultdict,
        "builtins.set": set, "builtins.frozenset": frozenset, "builtins.complex": complex, "builtins.bytearray": bytearray,
        "builtins.slice": slice, "__builtin__.set": set, "_codecs.encode": _encode_latin1,
        "torch._utils._rebuild_tensor_v2": rebuild_tensor, "torch._utils._rebuild_parameter": rebuild_parameter,
        "torch.Size": Size, "torch.device": _device.device, "torch.serialization._get_layout": lambda name: None,
        "torch.nn.parameter.Parameter": Parameter,
    }
    known.update({f"torch.{d.name}": d for d in dt.ALL})
    known.update({f"torch.{name}": StorageType(name) for name in STORAGE_DTYPES})
    known["torch.storage.UntypedStorage"] = known["torch.UntypedStorage"]
    return known


ALLOWED = _allowed()


class _Reader(pickle.Unpickler):
    """Shared by the restricted and the full reader: storages come from the archive."""

    def __init__(self, archive: ArchiveReader, place: Any) -> None:
        super().__init__(io.BytesIO(archive.read("data.pkl")), encoding="utf-8")
        self._archive, self._place = archive, place
        self._storages: dict[str, np.ndarray] = {}
        self._on_device: dict[Any, Tensor] = {}

    def persistent_load(self, saved_id: Any) -> Any:
        if not isinstance(saved_id, tuple) or len(saved_id) != 5 or saved_id[0] != "storage" or not isinstance(saved_id[1], StorageType):
            raise pickle.UnpicklingError(f"unknown reference {saved_id!r} in the checkpoint")
        _, kind, key, location, numel = saved_id
        if not isinstance(key, str) or not isinstance(numel, int) or numel < 0:
            raise pickle.UnpicklingError(f"unknown reference {saved_id!r} in the checkpoint")
        raw = self._storages.get(key)
        if raw is None:
            data = bytearray(self._archive.read(f"data/{key}"))
            raw = self._storages[key] = np.frombuffer(data, np.uint8)
        itemsize = kind.dtype.itemsize
        if raw.size < numel * itemsize:
            raise RuntimeError(f"{self._archive.shown} is damaged: storage {key} holds {raw.size} bytes, {numel * itemsize} are needed")
        array = raw[:numel * itemsize].view(kind.dtype.np)
        if self._archive.byteorder == "big" and itemsize > 1:
            array = array.byteswap()
        return LoadedStorage(array, kind.dtype, self._place(location), key, self._on_device)


class RestrictedUnpickler(_Reader):
    """Builds containers, numbers and tensors only."""

    def find_class(self, module: str, name: str) -> Any:
        full = f"{module}.{name}"
        for candidate in (full, f"{foreign_module(module)}.{name}"):
            if candidate in ALLOWED:
                return ALLOWED[candidate]
            if candidate in user_safe_globals:
                return user_safe_globals[candidate]
        raise pickle.UnpicklingError(
            f"Weights only load failed. WeightsUnpickler error: Unsupported global: GLOBAL {full} was not an allowed global by default. "
            f"Please use `torch.serialization.add_safe_globals([{name}])` or the `torch.serialization.safe_globals([{name}])` context "
            "manager to allowlist this global if you trust this class/function. Loading with weights_only=False runs code from the file: "
            "do it only if you trust its source.")


class FullUnpickler(_Reader):
    """Imports whatever the file names, PyTorch's modules as this package's. It can run arbitrary code."""

    def find_class(self, module: str, name: str) -> Any:
        full = f"{foreign_module(module)}.{name}"
        if full in ALLOWED:
            return ALLOWED[full]
        return super().find_class(own_module(module), name)
