"""What PyTorch's plain pickles call (`pickle.dumps(tensor)`): tensors over storages that are pickled as checkpoints of
their own. `torch._utils`, `torch.storage` and `torch.serialization` give these functions PyTorch's names.
"""

from __future__ import annotations

import io
from typing import Any

from .. import _dtype as dt
from .._dispatch import aten
from .._python.memory_methods import UntypedStorage
from .._tensor import Tensor
from ..storage import TypedStorage
from .unpickler import LoadedStorage, get_layout, rebuild_sparse_tensor, rebuild_tensor, rebuild_tensor_of_type

__all__ = [
    "get_layout",
    "load_storage",
    "rebuild_meta_tensor",
    "rebuild_sparse_tensor",
    "rebuild_tensor_over",
    "rebuild_typed_tensor_over",
]


def load_storage(b: bytes) -> Any:
    """A storage from the bytes that PyTorch's storages are pickled as. No code in them is run."""
    from ..serialization import load

    return load(io.BytesIO(b), weights_only=True)


def _loaded(storage: Any) -> LoadedStorage:
    if isinstance(storage, TypedStorage):
        untyped, kind = storage.untyped(), storage.dtype
    elif isinstance(storage, UntypedStorage):
        untyped, kind = storage, dt.uint8
    else:
        raise TypeError(f"expected a storage, got {type(storage).__name__}")
    return LoadedStorage(untyped.cpu().bytes_array().view(kind.np), kind, untyped.device, "", {})


def rebuild_tensor_over(
    storage: Any,
    storage_offset: int,
    size: Any,
    stride: Any,
    requires_grad: bool = False,
    backward_hooks: Any = None,
    metadata: Any = None,
) -> Tensor:
    """A tensor over a storage, in the storage's type."""
    return rebuild_tensor(_loaded(storage), storage_offset, tuple(size), tuple(stride), requires_grad)


def rebuild_typed_tensor_over(
    storage: Any,
    storage_offset: int,
    size: Any,
    stride: Any,
    requires_grad: bool,
    backward_hooks: Any,
    dtype: dt.dtype,
    metadata: Any = None,
) -> Tensor:
    """A tensor of a type that has no storage class of its own, over bytes."""
    return rebuild_tensor_of_type(
        _loaded(storage), storage_offset, tuple(size), tuple(stride), requires_grad, backward_hooks, dtype
    )


def rebuild_meta_tensor(dtype: dt.dtype, size: Any, stride: Any, requires_grad: bool) -> Tensor:
    """A tensor without data."""
    made = aten.empty_strided(tuple(size), tuple(stride), dtype=dtype, device="meta")
    return made.requires_grad_(requires_grad)
