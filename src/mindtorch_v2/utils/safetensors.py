"""`.safetensors` files, through the format's own library (`pip install mindtorch-v2[safetensors]`)."""
from __future__ import annotations

import os
from collections.abc import Mapping
from typing import Any

from .._creation import from_numpy
from .._tensor import Tensor

__all__ = ["load_file", "save_file"]


def _library() -> Any:
    try:
        import safetensors.numpy as library
    except ImportError:
        raise ImportError("reading and writing .safetensors files needs the package safetensors: "
                          "pip install 'mindtorch-v2[safetensors]'") from None
    return library


def load_file(filename: str | os.PathLike[str], device: Any = "cpu") -> dict[str, Tensor]:
    """The tensors of a file, by name."""
    loaded = {name: from_numpy(array) for name, array in _library().load_file(filename).items()}
    return loaded if str(device) == "cpu" else {name: t.to(device) for name, t in loaded.items()}


def save_file(tensors: Mapping[str, Tensor], filename: str | os.PathLike[str], metadata: dict[str, str] | None = None) -> None:
    """Writes tensors by name; they must be contiguous, as the format demands."""
    arrays = {}
    for name, t in tensors.items():
        if not isinstance(t, Tensor):
            raise ValueError(f"Key `{name}` is invalid, expected torch.Tensor but received {type(t)}")
        if not t.is_contiguous():
            raise ValueError(f"You are trying to save a non contiguous tensor: `{name}` which is not allowed. Call .contiguous() first.")
        arrays[name] = t.detach().cpu().numpy()
    _library().save_file(arrays, filename, metadata)
