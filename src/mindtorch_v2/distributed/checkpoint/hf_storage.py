"""`torch.distributed.checkpoint.hf_storage`: checkpoints as safetensors files, as Hugging Face's libraries keep them.

A safetensors file is the length of its header (8 bytes), the header (JSON: dtype, shape and bytes of each tensor), and
the tensors' memory.
"""

from __future__ import annotations

import json
import math
import os
from pathlib import Path
from typing import Any

from ..._dtype import complex32, complex128, float8_e4m3fn, float8_e8m0fnu
from ..._files import atomic_file
from ..._tensor import Tensor
from ...utils.safetensors import NAMES
from ._entries import CheckpointException, Entry, Piece
from .filesystem import FileSystemReader, FileSystemWriter

__all__ = ["HuggingFaceStorageReader", "HuggingFaceStorageWriter"]
_INDEX = "model.safetensors.index.json"
_LONGEST_HEADER = 100_000_000  # bytes, as safetensors itself allows
_KINDS = {name: kind for kind, name in NAMES.items()}
# as earlier versions of this package wrote them
_KINDS.update({"F8_E4M3FN": float8_e4m3fn, "F8_E8M0FNU": float8_e8m0fnu, "C32": complex32, "C128": complex128})


class HuggingFaceStorageReader(FileSystemReader):
    """All safetensors files of a folder."""

    def __init__(self, path: str | os.PathLike[str], thread_count: int = 1) -> None:
        super().__init__(path)

    def entries(self) -> dict[str, Entry]:
        """The tensors of the files, by name."""
        files = sorted(Path(self.path).glob("*.safetensors"))
        if not files:
            raise CheckpointException(f"{self.path!r} holds no checkpoint (no safetensors files)")
        made: dict[str, Entry] = {}
        for file in files:
            try:
                made.update(_entries_of(file))
            except (OSError, ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
                raise CheckpointException(f"{str(file)!r} is no safetensors file, or is damaged ({error})") from error
        return made


def _entries_of(file: Path) -> dict[str, Entry]:
    with open(file, "rb") as opened:
        length = int.from_bytes(opened.read(8), "little")
        if length > min(_LONGEST_HEADER, os.fstat(opened.fileno()).st_size):
            raise ValueError("its header is longer than the file")
        header = json.loads(opened.read(length))
    made = {}
    for name, told in header.items():
        if name != "__metadata__":
            begin, end = told["data_offsets"]
            shape, kind = told["shape"], _KINDS[told["dtype"]]
            if any(type(number) is not int or number < 0 for number in (begin, end, *shape)):
                raise ValueError(f"{name!r} has a shape or place that is no whole number")
            if math.prod(shape) * kind.itemsize != end - begin:
                raise ValueError(f"{name!r} has {end - begin} bytes, which its shape {shape} does not take")
            piece = Piece(file.name, 8 + length + begin, end - begin, [0] * len(shape), shape, raw=True)
            made[name] = Entry([name], str(kind).removeprefix("torch."), shape, pieces=[piece])
    return made


class HuggingFaceStorageWriter(FileSystemWriter):
    """Safetensors files of whole tensors, written by the first process: the files that `fqn_to_index_mapping` says
    (names to numbers from 1; one file without it) and the index of what is where."""

    def __init__(
        self,
        path: str | os.PathLike[str],
        fqn_to_index_mapping: dict[str, int] | None = None,
        thread_count: int = 1,
        save_distributed: bool = False,
        enable_consolidation: bool = False,
        thread_count_consolidation: int = 1,
    ) -> None:
        super().__init__(path)
        if save_distributed and not enable_consolidation:
            raise NotImplementedError(
                "HuggingFaceStorageWriter: files of whole tensors are written (enable_consolidation=True); for files "
                "of each process's part use FileSystemWriter"
            )
        self.numbers = fqn_to_index_mapping or {}

    def write(self, tensors: dict[str, Any]) -> None:
        """Writes whole tensors; the index appears last."""
        for name, value in tensors.items():
            if not isinstance(value, Tensor):
                raise TypeError(f"{name!r}: safetensors files hold tensors only, got {type(value).__name__}")
            if value.dtype not in NAMES:
                raise TypeError(f"{name!r} has type {value.dtype}, which safetensors files do not have")
        os.makedirs(self.path, exist_ok=True)
        count = max(self.numbers.values(), default=1)
        by_file: dict[str, dict[str, Any]] = {}
        for name, value in tensors.items():
            file = f"model-{self.numbers.get(name, 1):05d}-of-{count:05d}.safetensors"
            by_file.setdefault(file, {})[name] = value
        for file, part in by_file.items():
            _write_file(os.path.join(self.path, file), part)
        index = {
            "metadata": {"total_size": sum(value.nbytes for value in tensors.values())},
            "weight_map": {name: file for file, part in by_file.items() for name in part},
        }
        with atomic_file(os.path.join(self.path, _INDEX), sync=True) as out:
            out.write(json.dumps(index, indent=2).encode())


def _write_file(path: str, tensors: dict[str, Any]) -> None:
    header: dict[str, Any] = {"__metadata__": {"format": "pt"}}
    at = 0
    for name, value in tensors.items():
        header[name] = {
            "dtype": NAMES[value.dtype],
            "shape": list(value.shape),
            "data_offsets": [at, at + value.nbytes],
        }
        at += value.nbytes
    text = json.dumps(header).encode()
    text += b" " * (-len(text) % 8)
    with atomic_file(path, sync=True) as out:
        out.write(len(text).to_bytes(8, "little") + text)
        for value in tensors.values():
            out.write(value.detach().cpu().contiguous()._array.tobytes())
