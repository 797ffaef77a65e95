"""`torch.storage`: the memory of tensors, as bytes and as elements of one type."""

from __future__ import annotations

from typing import Any

from . import _dtype as _dt
from ._python.memory_methods import UntypedStorage
from ._tensor import Tensor

__all__ = ["TypedStorage", "UntypedStorage"]


class TypedStorage:
    """The memory of a tensor and its views, as elements of the tensor's type.

    >>> torch.FloatStorage([1., 2.]).tolist()
    [1.0, 2.0]
    """

    dtype: Any = None

    def __init__(
        self,
        *args: Any,
        wrap_storage: UntypedStorage | None = None,
        dtype: Any = None,
        device: Any = None,
        _internal: bool = False,
    ) -> None:
        from ._dispatch import aten

        if wrap_storage is not None:
            self._untyped_storage, self.dtype = wrap_storage, dtype or self.dtype
            return
        kind = dtype or self.dtype or _dt.get_default_dtype()
        given = args[0] if args else 0
        from ._python.creation import tensor

        made = aten.empty((given,), dtype=kind) if isinstance(given, int) else tensor(list(given), dtype=kind)
        self._untyped_storage, self.dtype = made.untyped_storage(), kind

    def untyped(self) -> UntypedStorage:
        """The same memory as bytes."""
        return self._untyped_storage

    def size(self) -> int:
        """How many elements there are."""
        return self._untyped_storage.nbytes() // self.dtype.itemsize

    __len__ = size

    def nbytes(self) -> int:
        return self._untyped_storage.nbytes()

    def data_ptr(self) -> int:
        return self._untyped_storage.data_ptr()

    def element_size(self) -> int:
        return self.dtype.itemsize

    @property
    def device(self) -> Any:
        return self._untyped_storage.device

    def tolist(self) -> list[Any]:
        return _flat(self).tolist()

    def __getitem__(self, index: Any) -> Any:
        found = _flat(self)[index]
        return (
            found.item()
            if isinstance(index, int)
            else TypedStorage(wrap_storage=found.clone().untyped_storage(), dtype=self.dtype)
        )

    def __setitem__(self, index: Any, value: Any) -> None:
        _flat(self)[index] = value

    def __iter__(self) -> Any:
        return iter(self.tolist())

    def is_shared(self) -> bool:
        return self._untyped_storage.is_shared()

    def pickle_storage_type(self) -> str:
        return f"{self.dtype.cpp_name}Storage"

    def __repr__(self) -> str:
        lines = "\n ".join(str(v) for v in self.tolist())
        return f" {lines}\n[torch.storage.TypedStorage(dtype={self.dtype}, device={self.device}) of size {self.size()}]"


def _flat(storage: TypedStorage) -> Tensor:
    """All elements of a storage in host memory, as a vector over the same memory."""
    from ._tensor import wrap

    return wrap(storage._untyped_storage.bytes_array().view(storage.dtype.np), storage.dtype)


def _storage_class(word: str, dtype: _dt.dtype) -> type:
    return type(
        f"{word}Storage",
        (TypedStorage,),
        {
            "dtype": dtype,
            "__module__": __name__,
            "__doc__": f"The memory of a tensor of {dtype} and its views, as elements.\n\n"
            f">>> torch.{word}Storage([1, 0]).dtype\n{dtype}",
        },
    )


FloatStorage, DoubleStorage, HalfStorage = (
    _storage_class(w, d) for w, d in (("Float", _dt.float32), ("Double", _dt.float64), ("Half", _dt.float16))
)
ByteStorage, CharStorage, ShortStorage, IntStorage, LongStorage, BoolStorage = (
    _storage_class(w, d)
    for w, d in (
        ("Byte", _dt.uint8),
        ("Char", _dt.int8),
        ("Short", _dt.int16),
        ("Int", _dt.int32),
        ("Long", _dt.int64),
        ("Bool", _dt.bool_),
    )
)
BFloat16Storage = _storage_class("BFloat16", _dt.bfloat16)


def _warn_typed_storage_removal(*args: Any, **kwargs: Any) -> None:
    """Nothing: typed storages stay here."""


def _load_from_bytes(b: bytes) -> Any:
    """A storage from the bytes that PyTorch pickles it as."""
    from ._serialization.plain_pickles import load_storage

    return load_storage(b)
