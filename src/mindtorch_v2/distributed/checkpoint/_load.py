"""Reading a checkpoint: every process takes the rows it holds, whatever number of processes wrote them."""

from __future__ import annotations

import io
import os
from typing import Any

import numpy as np

from ... import empty, empty_like, no_grad
from ..._tensor import Tensor
from .._shards import local, mark, shard_of
from ..tensor import DTensor, distribute_tensor
from ._files import CheckpointException, Entry, FileSystemReader, Piece, name_of, read_metadata
from ._save import folder_of
from ._tree import is_stateful, leaves, put, state_of


def load(
    state_dict: dict[str, Any],
    *,
    checkpoint_id: str | os.PathLike[str] | None = None,
    storage_reader: FileSystemReader | None = None,
    planner: Any = None,
    process_group: Any = None,
    no_dist: bool = False,
) -> None:
    """Fills the tensors of a state dict from a checkpoint, in place, and replaces its other values.

    Modules and optimizers in it load what is theirs. A spread parameter takes the rows of this process, however the
    checkpoint was spread. Processes do not wait for each other.
    """
    folder = folder_of(checkpoint_id, storage_reader)
    known = read_metadata(folder)
    for key, value in list(state_dict.items()):
        if is_stateful(value):
            state = state_of(value)
            if hasattr(value, "param_groups"):
                _prepare_optimizer(state, value, [key, "state"], known)
            _fill(folder, known, state, [key])
            value.load_state_dict(state)
        else:
            holder = {key: value}
            _fill(folder, known, holder, [])
            state_dict[key] = holder[key]


def _fill(folder: str, known: dict[str, Entry], root: Any, prefix: list[str | int]) -> None:
    for path, value in list(leaves(root)):
        name = name_of([*prefix, *path])
        entry = known.get(name)
        if entry is None:
            raise CheckpointException(f"Missing key in checkpoint state_dict: {name}.")
        if isinstance(value, Tensor) and entry.dtype:
            _read_tensor(folder, name, entry, value)
        elif path:
            put(root, path, _read_value(folder, name, entry))


def _read_tensor(folder: str, name: str, entry: Entry, target: Tensor) -> None:
    """Fills a tensor with the rows of it that are this process's."""
    shard = shard_of(target)
    shape = list(shard.shape if shard is not None else target.shape)
    if shape != entry.shape:
        raise CheckpointException(f"Size mismatch of {name}: it is {entry.shape} in the checkpoint, and {shape} here")
    rows = entry.shape[0] if entry.shape else 1
    first, count = (shard.first, shard.rows) if shard is not None else (0, rows)
    made = empty([count, *entry.shape[1:]], dtype=_dtype_of(entry.dtype))
    row = made[:1].numel() * made.element_size()
    for piece in entry.pieces:
        begin, end = max(first, piece.first), min(first + count, piece.first + piece.rows)
        if begin < end:
            data = _read(folder, piece, (begin - piece.first) * row, (end - begin) * row)
            made._array[begin - first : end - first] = np.frombuffer(data, made._array.dtype).reshape(
                end - begin, *entry.shape[1:]
            )
    with no_grad():
        if shard is None and isinstance(target, DTensor):
            made = local(distribute_tensor(made, target.device_mesh, target.placements, src_data_rank=None))
        held = local(target)
        held.copy_(made.reshape(held.shape))


def _dtype_of(name: str) -> Any:
    import mindtorch_v2

    return getattr(mindtorch_v2, name)


def _read(folder: str, piece: Piece, at: int, nbytes: int) -> bytes:
    path = os.path.join(folder, piece.file)
    try:
        with open(path, "rb") as file:
            file.seek(piece.at + at)
            data = file.read(nbytes)
    except OSError as error:
        raise CheckpointException(f"{path!r} of the checkpoint cannot be read: {error}") from error
    if len(data) != nbytes:
        raise CheckpointException(f"{path!r} of the checkpoint is cut off")
    return data


def read_entry(folder: str, name: str, entry: Entry) -> Any:
    """A whole value of a checkpoint."""
    if not entry.dtype:
        return _read_value(folder, name, entry)
    made = empty(entry.shape, dtype=_dtype_of(entry.dtype))
    _read_tensor(folder, name, entry, made)
    return made


def _read_value(folder: str, name: str, entry: Entry) -> Any:
    from ... import load as load_value

    if entry.dtype:
        raise CheckpointException(f"{name} is a tensor in the checkpoint, and none here")
    piece = entry.pieces[0]
    return load_value(io.BytesIO(_read(folder, piece, 0, piece.nbytes)), weights_only=True)


def _prepare_optimizer(state: dict[str, Any], optimizer: Any, prefix: list[str | int], known: dict[str, Entry]) -> None:
    """An optimizer that has not stepped yet gets the state that the checkpoint has, to be filled."""
    parameters = [p for group in optimizer.param_groups for p in group["params"]]
    for entry in known.values():
        if entry.path[:2] != prefix or len(entry.path) != 4 or not isinstance(entry.path[2], int):
            continue
        index, name = entry.path[2], str(entry.path[3])
        held = state["state"].setdefault(index, {})
        if name in held or index >= len(parameters):
            continue
        parameter = parameters[index]
        shard = shard_of(parameter)
        if not entry.dtype:
            held[name] = None
        elif shard is not None and entry.spread:
            held[name] = mark(empty_like(parameter.detach(), dtype=_dtype_of(entry.dtype)), shard)
        else:
            held[name] = empty(entry.shape, dtype=_dtype_of(entry.dtype))
