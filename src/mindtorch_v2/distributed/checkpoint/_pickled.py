"""`.metadata` as PyTorch writes it: a pickled `Metadata`. It is read without running anything that it names."""

from __future__ import annotations

import pathlib
from typing import IO, Any

from ..._dtype import ALL
from ..._serialization.pickler import CheckpointPickler
from ..._serialization.restricted import RestrictedMachine, refuse
from ..._shape import Size
from ..._tensor import strided
from . import filesystem, metadata
from ._entries import CheckpointException, Entry, Piece

_PROTOCOL = 4
_DTYPES = {dtype.name: dtype for dtype in ALL}
# What PyTorch's metadata does not say, as attributes that PyTorch ignores:
_INTEGER_KEYS = "integer_keys"  # keys of dicts, which are written as text: their positions in paths, by name
_SPREAD = "spread"  # names of tensors of which processes hold parts, though one process may hold all of it


def _layout(name: str) -> Any:
    """Every layout: tensors are written as plain memory."""
    return strided


_CLASSES = (
    *(getattr(metadata, name) for name in metadata.__all__),
    metadata._MEM_FORMAT_ENCODING,
    filesystem._StorageInfo,
)
_KNOWN: dict[str, Any] = {
    **{f"torch.distributed.checkpoint.{c.__module__.rpartition('.')[2]}.{c.__name__}": c for c in _CLASSES},
    "torch.distributed._shard.sharded_tensor.metadata.TensorProperties": metadata.TensorProperties,
    "torch.distributed._shard.sharded_tensor.metadata.MEM_FORMAT_ENCODING": metadata._MEM_FORMAT_ENCODING,
    **{f"torch.{name}": dtype for name, dtype in _DTYPES.items()},
    **{
        f"{module}.{name}": pathlib.PurePosixPath if "Posix" in name else pathlib.PureWindowsPath
        for module in ("pathlib", "pathlib._local")
        for name in ("PosixPath", "PurePosixPath", "WindowsPath", "PureWindowsPath")
    },
    "torch.Size": Size,
    "torch.serialization._get_layout": _layout,
    "collections.OrderedDict": dict,
    "builtins.set": set,
}


class _Reader(RestrictedMachine):
    """Builds what a checkpoint's metadata consists of."""

    def __init__(self, data: bytes) -> None:
        super().__init__(data, lambda kind: kind in _CLASSES)

    def find_class(self, module: str, name: str) -> Any:
        if f"{module}.{name}" not in _KNOWN:
            refuse(f"{module}.{name} is no part of a checkpoint's metadata")
        return self.remember_global(_KNOWN[f"{module}.{name}"])


def read_pickle(data: bytes) -> metadata.Metadata:
    """The metadata in a pickle."""
    found = _Reader(data).load()
    if not isinstance(found, metadata.Metadata):
        raise ValueError(f"it holds a {type(found).__name__}")
    return found


def write_pickle(folder: str, entries: dict[str, Entry], token: str, out: IO[bytes]) -> None:
    """Writes the metadata of a checkpoint; PyTorch 2.13 can load it."""
    CheckpointPickler(out, _PROTOCOL).dump(metadata_of(folder, entries, token))  # type: ignore[arg-type]


def metadata_of(folder: str, entries: dict[str, Entry], token: str) -> metadata.Metadata:
    """Entries in PyTorch's classes."""
    made = metadata.Metadata({}, {}, {}, metadata.StorageMeta(folder, token or None), "1.0.0")
    integers: dict[str, list[int]] = {}
    for name, entry in entries.items():
        made.planner_data[name] = tuple(
            int(part) if at in entry.lists else str(part) for at, part in enumerate(entry.path)
        )
        keys = [at for at, part in enumerate(entry.path) if isinstance(part, int) and at not in entry.lists]
        if keys:
            integers[name] = keys
        made.state_dict_metadata[name] = _described(entry)
        for index, piece in enumerate(entry.pieces):
            at = metadata.MetadataIndex(name, Size(piece.offsets), index) if entry.dtype else None
            made.storage_data[at or metadata.MetadataIndex(name)] = filesystem._StorageInfo(
                piece.file, piece.at, piece.nbytes
            )
    setattr(made, _INTEGER_KEYS, integers)
    setattr(made, _SPREAD, [name for name, entry in entries.items() if entry.spread])
    return made


def _described(entry: Entry) -> metadata.TensorStorageMetadata | metadata.BytesStorageMetadata:
    if not entry.dtype:
        return metadata.BytesStorageMetadata()
    chunks = [metadata.ChunkStorageMetadata(Size(piece.offsets), Size(piece.sizes)) for piece in entry.pieces]
    return metadata.TensorStorageMetadata(metadata.TensorProperties(_DTYPES[entry.dtype]), Size(entry.shape), chunks)


def entries_of(folder: str, found: metadata.Metadata) -> dict[str, Entry]:
    """What the metadata of a checkpoint says, as entries."""
    integers: dict[str, list[int]] = getattr(found, _INTEGER_KEYS, {})
    spread = set(getattr(found, _SPREAD, ()))
    made: dict[str, Entry] = {}
    for name, described in found.state_dict_metadata.items():
        path: list[str | int] = list((found.planner_data or {}).get(name, (name,)))
        entry = Entry(path, lists=[at for at, part in enumerate(path) if isinstance(part, int)])
        for at in integers.get(name, []):
            path[at] = int(path[at])
        if isinstance(described, metadata.TensorStorageMetadata):
            entry.dtype, entry.shape = described.properties.dtype.name, list(described.size)
            entry.spread = name in spread
            for chunk in described.chunks:
                info = found.storage_data[metadata.MetadataIndex(name, chunk.offsets)]
                entry.pieces.append(_piece(folder, name, info, chunk))
        else:
            entry.pieces.append(_piece(folder, name, found.storage_data[metadata.MetadataIndex(name)], None))
        made[name] = entry
    return made


def _piece(folder: str, name: str, info: Any, chunk: metadata.ChunkStorageMetadata | None) -> Piece:
    if getattr(info, "transform_descriptors", None):
        raise CheckpointException(
            f"{folder!r}: {name} was written with {', '.join(info.transform_descriptors)}, which cannot be undone here"
        )
    box = ([], []) if chunk is None else (list(chunk.offsets), list(chunk.sizes))
    return Piece(info.relative_path, info.offset, info.length, *box)
