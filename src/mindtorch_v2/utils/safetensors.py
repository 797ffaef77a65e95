"""`.safetensors` files. Reading goes through the format's own library (`pip install mindtorch-v2[safetensors]`)."""

from __future__ import annotations

import json
import os
import struct
from collections.abc import Mapping
from typing import Any

import numpy as np

from .. import _dtype as dt
from .._files import atomic_file
from .._python.creation import from_numpy
from .._storage import taken
from .._tensor import Tensor, wrap

__all__ = ["load_file", "save_file"]

NAMES = {  # of dtypes in such files
    dt.bool_: "BOOL",
    dt.uint8: "U8",
    dt.int8: "I8",
    dt.int16: "I16",
    dt.int32: "I32",
    dt.int64: "I64",
    dt.float16: "F16",
    dt.float32: "F32",
    dt.float64: "F64",
    dt.complex64: "C64",
    dt.bfloat16: "BF16",
    dt.uint16: "U16",
    dt.uint32: "U32",
    dt.uint64: "U64",
    dt.float8_e4m3fn: "F8_E4M3",
    dt.float8_e5m2: "F8_E5M2",
    dt.float8_e8m0fnu: "F8_E8M0",
    dt.float8_e4m3fnuz: "F8_E4M3FNUZ",
    dt.float8_e5m2fnuz: "F8_E5M2FNUZ",
}
_READABLE = {name: d for d, name in NAMES.items()}


def _open_file(filename: str | os.PathLike[str]) -> Any:
    try:
        from safetensors import safe_open
    except ImportError:
        raise ImportError(
            "reading .safetensors files needs the package safetensors: pip install 'mindtorch-v2[safetensors]'"
        ) from None
    return safe_open(filename, framework="np")


def load_file(filename: str | os.PathLike[str], device: Any = "cpu") -> dict[str, Tensor]:
    """The tensors of a file, by name. NotImplementedError where one has a type that does not exist here; a damaged
    file is a
    `safetensors.SafetensorError`."""
    with _open_file(filename) as file:
        names = file.keys()
        kinds = {name: file.get_slice(name).get_dtype() for name in names}
        foreign = {name: kind for name, kind in kinds.items() if kind not in _READABLE}
        if foreign:
            name, kind = next(iter(foreign.items()))
            others = f" and {len(foreign) - 1} more like it" if len(foreign) > 1 else ""
            raise NotImplementedError(
                f"{os.fspath(filename)!r}: tensor {name!r}{others} has the type {kind}, which does not exist here "
                f"(those that do: {', '.join(sorted(_READABLE))}). Convert the file with PyTorch first, for instance "
                "each tensor by .to(torch.float32)."
            )
        bare = {name: _READABLE[kind] for name, kind in kinds.items() if _READABLE[kind] not in dt.OF_NUMPY}
        loaded = {name: from_numpy(file.get_tensor(name)) for name in kinds if name not in bare}
    loaded.update(_loaded_bytes(filename, bare))
    return loaded if str(device) == "cpu" else {name: t.to(device) for name, t in loaded.items()}


def _loaded_bytes(filename: str | os.PathLike[str], kinds: Mapping[str, dt.dtype]) -> dict[str, Tensor]:
    """Tensors of types that the library does not give to numpy, from a file whose header it has checked."""
    if not kinds:
        return {}
    made = {}
    with open(filename, "rb") as file:
        size = struct.unpack("<Q", file.read(8))[0]
        header = json.loads(file.read(size))
        for name, kind in kinds.items():
            begin, end = header[name]["data_offsets"]
            file.seek(8 + size + begin)
            array = (
                np.frombuffer(bytearray(file.read(end - begin)), np.uint8).view(kind.np).reshape(header[name]["shape"])
            )
            made[name] = taken(wrap(array, kind))
    return made


def save_file(
    tensors: Mapping[str, Tensor], filename: str | os.PathLike[str], metadata: dict[str, str] | None = None
) -> None:
    """Writes tensors by name; they must be contiguous, as the format demands. The file appears when it is complete."""
    for name, t in tensors.items():
        if not isinstance(t, Tensor):
            raise ValueError(f"Key `{name}` is invalid, expected torch.Tensor but received {type(t)}")
        if not t.is_contiguous():
            raise ValueError(
                f"You are trying to save a non contiguous tensor: `{name}` which is not allowed. Call .contiguous() "
                "first."
            )
        if t.dtype not in NAMES:
            raise ValueError(
                f"Key `{name}` has type {t.dtype}, which the format does not have. Convert the tensor first, for "
                "instance with torch.view_as_real."
            )
    header: dict[str, Any] = {"__metadata__": dict(metadata)} if metadata else {}
    # wide types first: all are aligned
    order = sorted(tensors.items(), key=lambda item: (-item[1].dtype.itemsize, item[0]))
    at = 0
    for name, t in order:
        end = at + t.numel() * t.dtype.itemsize
        header[name] = {"dtype": NAMES[t.dtype], "shape": list(t.shape), "data_offsets": [at, end]}
        at = end
    text = json.dumps(header, separators=(",", ":")).encode()
    text += b" " * (-len(text) % 8)
    with atomic_file(filename, sync=True) as out:
        out.write(struct.pack("<Q", len(text)) + text)
        for _, t in order:
            array = t.detach().cpu()._array
            little = np.ascontiguousarray(array, array.dtype.newbyteorder("<") if t.dtype in dt.OF_NUMPY else None)
            out.write(little.reshape(-1).view(np.uint8).data)
