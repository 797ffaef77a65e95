"""Reading: an unpickler that knows only what a checkpoint of tensors needs. Nothing else is imported or called."""

from __future__ import annotations

import functools
import io
import pickle
from collections import Counter, OrderedDict, defaultdict
from collections.abc import Callable
from typing import Any

import numpy as np

from .. import _device
from .. import _dtype as dt
from .._keys import DEVICES
from .._shape import Size
from .._storage import taken
from .._tensor import Parameter, Tensor, sparse_coo, sparse_csc, sparse_csr, strided, wrap
from .archive import ArchiveReader
from .legacy import LegacyReader
from .names import FOREIGN_TYPES, STORAGE_DTYPES, StorageType, foreign_module, own_module
from .restricted import RestrictedMachine, bytes_like, short_text
from .skipping import SKIPPING

_MAX_DIMENSIONS = 64  # of numpy
_WIDEST = 16  # bytes of the widest type: a storage that is seen in several types may have so many left over
Archive = ArchiveReader | LegacyReader
user_safe_globals: dict[str, Any] = {}


def _encode_latin1(text: str, encoding: str = "latin1") -> bytes:
    """How protocol 2 spells bytes."""
    return text.encode(encoding if encoding in ("latin1", "latin-1", "utf-8", "ascii") else "latin1")


class LoadedStorage:
    """The bytes of a storage, in the type that its reference names. `on_device` holds copies on devices, one per
    storage and device, so that tensors which shared memory share it again.
    """

    def __init__(
        self,
        array: np.ndarray,
        dtype: dt.dtype,
        location: Any,
        key: str,
        on_device: dict[Any, Tensor],
        typed: bool = True,
    ) -> None:
        self.array, self.dtype, self.location = array, dtype, location
        self._key, self._on_device, self._typed = key, on_device, typed

    def public(self) -> Any:
        """The storage as programs know it, with memory of its own."""
        from ..storage import TypedStorage, UntypedStorage

        elements = wrap(self.array.view(np.uint8).copy(), dt.uint8)
        storage = UntypedStorage(elements if self.location.type == "cpu" else elements.to(self.location))
        return TypedStorage(wrap_storage=storage, dtype=self.dtype) if self._typed else storage

    def on_device(self) -> Tensor:
        """All elements as a tensor on the device that the storage belongs to."""
        found = self._on_device.get((self._key, self.location))
        if found is None:
            raw = wrap(self.array.view(np.uint8), dt.uint8)
            found = self._on_device[self._key, self.location] = raw.to(self.location)
        return found


def rebuild_tensor(
    storage: Any,
    storage_offset: Any,
    size: Any,
    stride: Any,
    requires_grad: Any = False,
    backward_hooks: Any = None,
    metadata: Any = None,
) -> Tensor:
    """A tensor over a loaded storage; RuntimeError if its shape reaches outside it."""
    if not isinstance(storage, LoadedStorage):
        raise pickle.UnpicklingError("a tensor refers to something that is not a storage")
    if not isinstance(size, tuple) or not isinstance(stride, tuple) or len(size) > _MAX_DIMENSIONS:
        raise pickle.UnpicklingError(
            f"a tensor has the impossible geometry size={short_text(size)}, stride={short_text(stride)}"
        )
    numbers = (storage_offset, *size, *stride)
    if len(size) != len(stride) or not all(isinstance(n, int) and not isinstance(n, bool) and n >= 0 for n in numbers):
        raise pickle.UnpicklingError(
            f"a tensor has the impossible geometry size={short_text(size)}, stride={short_text(stride)}, "
            f"offset={short_text(storage_offset)}"
        )
    flat = storage.array
    last = storage_offset + sum((n - 1) * s for n, s in zip(size, stride)) if 0 not in size else storage_offset - 1
    if last >= flat.size:
        raise pickle.UnpicklingError(
            f"a tensor of size {list(size)} needs element {last} of a storage with {flat.size}"
        )
    item = flat.itemsize
    if 0 in size:
        array = np.empty(size, flat.dtype)
    else:
        array = np.ndarray(
            tuple(size), flat.dtype, flat.view(np.uint8).data, storage_offset * item, tuple(s * item for s in stride)
        )
    made = taken(wrap(array, storage.dtype))
    if isinstance(storage.location, _device.device) and storage.location.type != "cpu":
        made = _on_device(storage, storage_offset * item, size, tuple(s * item for s in stride), made)
    return made.requires_grad_() if requires_grad is True and made.dtype.inexact else made


def _on_device(storage: LoadedStorage, offset: int, size: Any, strides: Any, host: Tensor) -> Tensor:
    """A tensor over the device's copy of a storage; devices without memory (meta) get a tensor of their own."""
    if storage.location.type == "meta" or not host.numel():
        return host.to(storage.location)
    whole = storage.on_device()
    array = np.ndarray(tuple(size), storage.dtype.np, whole._array, offset, strides)
    return wrap(array, storage.dtype, whole._keys & DEVICES, whole.device)


def rebuild_tensor_of_type(
    storage: Any,
    storage_offset: Any,
    size: Any,
    stride: Any,
    requires_grad: Any,
    backward_hooks: Any,
    dtype: Any,
    metadata: Any = None,
) -> Tensor:
    """A tensor over the bytes of a loaded storage: PyTorch writes types so that have no storage class of their own."""
    if (
        not isinstance(storage, LoadedStorage)
        or not isinstance(dtype, dt.dtype)
        or storage.array.nbytes % dtype.itemsize
    ):
        raise pickle.UnpicklingError("a tensor refers to something that is not a storage of its type")
    typed = LoadedStorage(storage.array.view(dtype.np), dtype, storage.location, storage._key, storage._on_device)
    return rebuild_tensor(typed, storage_offset, size, stride, requires_grad)


def rebuild_parameter(data: Any, requires_grad: Any, backward_hooks: Any = None) -> Any:
    if not isinstance(data, Tensor):
        raise pickle.UnpicklingError("a parameter holds something that is not a tensor")
    return Parameter(data, bool(requires_grad))


def get_layout(name: Any) -> Any:
    """The layout of a name such as "torch.sparse_coo"."""
    if name not in _LAYOUTS:
        raise pickle.UnpicklingError(f"unknown layout {short_text(name)}")
    return _LAYOUTS[name]


def rebuild_sparse_tensor(kind: Any, data: Any) -> Tensor:
    """A sparse tensor of (indices, values, size[, is_coalesced]), or of (compressed indices, plain indices, values,
    size). Indices must lie within the size.
    """
    from .. import sparse

    count = 2 if kind is sparse_coo else 3
    if not isinstance(data, tuple) or not count < len(data) < count + 3:
        raise pickle.UnpicklingError("a sparse tensor is not made of indices, values and a size")
    parts, size, coalesced = data[:count], data[count], data[count + 1 :]
    if not all(isinstance(part, Tensor) for part in parts) or not isinstance(size, tuple):
        raise pickle.UnpicklingError("a sparse tensor is not made of indices, values and a size")
    if kind is sparse_coo:
        indices, values = parts
        made: Any = sparse.sparse_coo_tensor(indices, values, size, check_invariants=True)
        return made._coalesced_(True) if coalesced and coalesced[0] is True else made
    compressed, plain, values = parts
    return sparse.sparse_compressed_tensor(compressed, plain, values, size, layout=kind, check_invariants=True)


_LAYOUTS = {f"torch.{kind.name}": kind for kind in (strided, sparse_coo, sparse_csr, sparse_csc)}


def _allowed_globals() -> dict[str, Any]:
    known: dict[str, Any] = {
        "collections.OrderedDict": OrderedDict,
        "collections.Counter": Counter,
        "collections.defaultdict": defaultdict,
        "builtins.set": set,
        "builtins.frozenset": frozenset,
        "builtins.complex": complex,
        "builtins.bytearray": bytes_like,
        "builtins.slice": slice,
        "_codecs.encode": _encode_latin1,
        "torch._utils._rebuild_tensor": rebuild_tensor,
        "torch._utils._rebuild_tensor_v2": rebuild_tensor,
        "torch._utils._rebuild_tensor_v3": rebuild_tensor_of_type,
        "torch._utils._rebuild_parameter": rebuild_parameter,
        "torch.Size": Size,
        "torch.device": _device.device,
        "torch.serialization._get_layout": get_layout,
        "torch._utils._rebuild_sparse_tensor": rebuild_sparse_tensor,
        "torch.nn.parameter.Parameter": Parameter,
    }
    known.update(
        {
            name.replace("builtins", "__builtin__"): value
            for name, value in known.items()
            if name.startswith("builtins.")
        }
    )
    known.update({f"torch.{d.name}": d for d in dt.ALL})
    known.update({f"torch.{name}": StorageType(name) for name in STORAGE_DTYPES})
    known["torch.storage.UntypedStorage"] = known["torch.UntypedStorage"]
    return known


ALLOWED = _allowed_globals()


def foreign_type(name: str, file: str, key: str) -> NotImplementedError:
    """The error for one of PyTorch's types that do not exist here; `key` is its entry in the checkpoint, or ""."""
    return NotImplementedError(
        f"{file}: {short_text(key) if key else 'a value'} has the type torch.{FOREIGN_TYPES[name]}, which does not "
        f"exist here (those that do: {', '.join(sorted(d.name for d in dt.ALL))}). Convert the checkpoint with PyTorch "
        "first, for instance its tensors by .dequantize() or .to(torch.float32)."
    )


class _Storages:
    """The storages of an archive, each read once and never beyond what its first reference needs."""

    def __init__(self, archive: Archive, map_location: Any) -> None:
        self._archive, self._map_location = archive, map_location
        self._storages: dict[str, np.ndarray] = {}
        self._devices: dict[str, Any] = {}  # key -> the device of the storage
        self._on_device: dict[Any, Tensor] = {}

    def load(self, saved_id: Any) -> LoadedStorage:
        view = None
        if isinstance(saved_id, tuple) and len(saved_id) == 6:  # of the format before 1.6
            *first, view = saved_id
            saved_id = tuple(first)
        if (
            not isinstance(saved_id, tuple)
            or len(saved_id) != 5
            or saved_id[0] != "storage"
            or not isinstance(saved_id[1], StorageType)
        ):
            raise pickle.UnpicklingError(f"unknown reference {short_text(saved_id)} in the checkpoint")
        whole = self._whole(saved_id)
        return whole if view is None else self._part(whole, view)

    def _part(self, whole: LoadedStorage, view: Any) -> LoadedStorage:
        """A storage that is a part of another: (its key, first element, number of elements)."""
        if not isinstance(view, tuple) or len(view) != 3 or not all(isinstance(n, int) and n >= 0 for n in view[1:]):
            raise pickle.UnpicklingError(f"unknown view {short_text(view)} of a storage in the checkpoint")
        key, start, count = view
        if start + count > whole.array.size:
            raise pickle.UnpicklingError(f"a storage of {count} elements at {start} lies outside {whole.array.size}")
        part = whole.array[start : start + count]
        return LoadedStorage(part, whole.dtype, whole.location, f"{whole._key}/{key}", self._on_device)

    def _whole(self, saved_id: tuple[Any, ...]) -> LoadedStorage:
        _, kind, key, location, numel = saved_id
        if not isinstance(key, str) or not isinstance(numel, int) or numel < 0:
            raise pickle.UnpicklingError(f"unknown reference {short_text(saved_id)} in the checkpoint")
        itemsize = kind.dtype.itemsize
        needed = numel * itemsize
        raw = self._storages.get(key)
        size = self._archive.size(f"data/{key}") if raw is None else raw.size
        if not needed <= size < needed + (_WIDEST if raw is None else size + 1):
            raise RuntimeError(
                f"{self._archive.name} is damaged: storage {short_text(key)} holds {size} bytes, {needed} are needed"
            )
        if raw is None:
            mapped = self._archive.mapped(f"data/{key}") if isinstance(self._archive, ArchiveReader) else None
            if SKIPPING:
                raw = np.empty(size, np.uint8)
            elif mapped is None:
                raw = np.frombuffer(bytearray(self._archive.read(f"data/{key}")), np.uint8)
            else:
                raw = mapped
            self._devices[key], raw = self._map_location(location, raw)
            self._storages[key] = raw
        array = raw[:needed].view(kind.dtype.np)
        if self._archive.byteorder == "big" and itemsize > 1:
            array = (
                array.byteswap()
                if kind.dtype in dt.OF_NUMPY
                else array.view(f"u{itemsize}").byteswap().view(kind.dtype.np)
            )
        typed = kind.name != "UntypedStorage"
        return LoadedStorage(array, kind.dtype, self._devices[key], key, self._on_device, typed)


def _is_allowed(kind: Any) -> bool:
    return any(kind is allowed for allowed in user_safe_globals.values())


class RestrictedUnpickler(RestrictedMachine):
    """Builds containers, numbers and tensors only."""

    def __init__(self, archive: Archive, map_location: Any) -> None:
        super().__init__(archive.read("data.pkl"), _is_allowed)
        self._archive = archive
        self.persistent_load: Callable[[Any], Any] = _Storages(archive, map_location).load

    def find_class(self, module: str, name: str) -> Any:
        return self.remember_global(self._found(module, name))

    def _found(self, module: str, name: str) -> Any:
        full = f"{module}.{name}"
        if full in FOREIGN_TYPES:
            raise foreign_type(full, self._archive.name, self.key())
        for candidate in (full, f"{foreign_module(module)}.{name}"):
            if candidate in ALLOWED:
                return ALLOWED[candidate]
            if candidate in user_safe_globals:
                return user_safe_globals[candidate]
        raise pickle.UnpicklingError(
            f"Weights only load failed. WeightsUnpickler error: Unsupported global: GLOBAL {full} was not an allowed "
            f"global by default. Please use `torch.serialization.add_safe_globals([{name}])` or the "
            f"`torch.serialization.safe_globals([{name}])` context manager to allowlist this global if you trust this "
            "class/function. Loading with weights_only=False runs code from the file: do it only if you trust its "
            "source."
        )


class FullUnpickler(pickle.Unpickler):
    """Imports whatever the file names, PyTorch's modules as this package's. It can run arbitrary code."""

    def __init__(self, archive: Archive, map_location: Any) -> None:
        super().__init__(io.BytesIO(archive.read("data.pkl")), encoding="utf-8")
        self._archive = archive
        self._storages = _Storages(archive, map_location)

    def persistent_load(self, saved_id: Any) -> Any:
        if isinstance(saved_id, tuple) and len(saved_id) == 4 and saved_id[0] == "module":
            return saved_id[1]  # a class, which files of the format before 1.6 keep with its source
        return self._storages.load(saved_id)

    def find_class(self, module: str, name: str) -> Any:
        full = f"{foreign_module(module)}.{name}"
        if full in FOREIGN_TYPES:
            raise foreign_type(full, self._archive.name, "")
        if full in ALLOWED and name != "bytearray":
            return ALLOWED[full]
        first, *rest = name.split(".")  # "Tensor.add"
        return functools.reduce(getattr, rest, super().find_class(own_module(module), first))
