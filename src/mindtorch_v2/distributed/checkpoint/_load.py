"""Reading a checkpoint: every process takes the rows it holds, whatever number of processes wrote them."""

from __future__ import annotations

import io
import os
from typing import Any

from ... import empty, empty_like, frombuffer, no_grad
from ..._tensor import Tensor
from .._shards import local, mark, shard_of
from ..tensor import DTensor, distribute_tensor
from ._entries import CheckpointException, Entry, Piece, name_of
from ._files import read_entries
from ._save import folder_of
from ._tree import is_stateful, leaves, put, state_of
from .default_planner import DefaultLoadPlanner, checked_planner
from .filesystem import FileSystemReader


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
    checkpoint was spread. Processes do not wait for each other. Checkpoints of PyTorch are read, too. With
    `DefaultLoadPlanner(allow_partial_load=True)`, what the checkpoint does not have stays as it is.
    """
    partial = checked_planner(planner, DefaultLoadPlanner).allow_partial_load
    folder = folder_of(checkpoint_id if storage_reader is None else None, storage_reader)
    known = read_entries(folder) if storage_reader is None else storage_reader.entries()
    for key, value in list(state_dict.items()):
        if is_stateful(value):
            state = state_of(value)
            if hasattr(value, "param_groups"):
                _prepare_optimizer(state, value, [key, "state"], known)
            _fill(folder, known, state, [key], partial)
            value.load_state_dict(state)
        else:
            holder = {key: value}
            _fill(folder, known, holder, [], partial)
            state_dict[key] = holder[key]


def _fill(folder: str, known: dict[str, Entry], root: Any, prefix: list[str | int], partial: bool) -> None:
    for path, value in list(leaves(root)):
        name = name_of([*prefix, *path])
        entry = known.get(name)
        if entry is None:
            if partial or value == {}:  # PyTorch writes nothing for empty dicts
                continue
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
    offsets, sizes = [0] * len(shape), list(shape)
    if shard is not None and shape:
        offsets[0], sizes[0] = shard.first, shard.rows
    elif shard is not None and not shard.rows:
        return  # a single number, which another process holds
    made = empty(sizes, dtype=_dtype_of(entry.dtype))
    for piece in entry.pieces if made.numel() else ():
        begins = [max(a, b) for a, b in zip(offsets, piece.offsets)]
        ends = [min(a + n, b + m) for a, n, b, m in zip(offsets, sizes, piece.offsets, piece.sizes)]
        if all(begin < end for begin, end in zip(begins, ends)):
            data = _read_piece(folder, entry, piece)
            there = tuple(slice(a - o, b - o) for a, b, o in zip(begins, ends, piece.offsets))
            here = tuple(slice(a - o, b - o) for a, b, o in zip(begins, ends, offsets))
            made[here or ...].copy_(data[there or ...])
    with no_grad():
        if shard is None and isinstance(target, DTensor):
            made = local(distribute_tensor(made, target.device_mesh, target.placements, src_data_rank=None))
        held = local(target)
        held.copy_(made.reshape(held.shape))


def _read_piece(folder: str, entry: Entry, piece: Piece) -> Tensor:
    """A box of a tensor."""
    data = _read(folder, piece)
    if piece.raw:
        return frombuffer(bytearray(data), dtype=_dtype_of(entry.dtype)).reshape(piece.sizes)
    found = _unpacked(folder, piece, data)
    if not isinstance(found, Tensor) or list(found.shape) != piece.sizes:
        raise CheckpointException(f"{piece.file!r} of {folder!r} does not hold what the checkpoint says")
    return found


def _dtype_of(name: str) -> Any:
    import mindtorch_v2

    return getattr(mindtorch_v2, name)


def _read(folder: str, piece: Piece) -> bytes:
    path = os.path.join(folder, piece.file)
    try:
        with open(path, "rb") as file:
            file.seek(piece.at)
            data = file.read(piece.nbytes)
    except OSError as error:
        raise CheckpointException(f"{path!r} of the checkpoint cannot be read: {error}") from error
    if len(data) != piece.nbytes:
        raise CheckpointException(f"{path!r} of the checkpoint is cut off")
    return data


def _unpacked(folder: str, piece: Piece, data: bytes) -> Any:
    """What a file of `torch.save` inside a file of the checkpoint holds."""
    from ... import load as load_value

    try:
        return load_value(io.BytesIO(data), map_location="cpu", weights_only=True)
    except (RuntimeError, EOFError) as error:
        path = os.path.join(folder, piece.file)
        raise CheckpointException(f"{path!r} of the checkpoint is damaged: {error}") from error


def read_entry(folder: str, name: str, entry: Entry) -> Any:
    """A whole value of a checkpoint."""
    if not entry.dtype:
        return _read_value(folder, name, entry)
    made = empty(entry.shape, dtype=_dtype_of(entry.dtype))
    _read_tensor(folder, name, entry, made)
    return made


def _read_value(folder: str, name: str, entry: Entry) -> Any:
    if entry.dtype:
        raise CheckpointException(f"{name} is a tensor in the checkpoint, and none here")
    (piece,) = entry.pieces
    return _unpacked(folder, piece, _read(folder, piece))


def _prepare_optimizer(state: dict[str, Any], optimizer: Any, prefix: list[str | int], known: dict[str, Entry]) -> None:
    """An optimizer that has not stepped yet gets the state that the checkpoint has, to be filled."""
    parameters = [p for group in optimizer.param_groups for p in group["params"]]
    for entry in known.values():
        if entry.path[:2] != prefix or len(entry.path) != 4 or not str(entry.path[2]).isdecimal():
            continue
        index, name = int(entry.path[2]), str(entry.path[3])
        held = state["state"].setdefault(index, {})
        if name in held or index >= len(parameters):
            continue
        parameter = parameters[index]
        shard = shard_of(parameter)
        if not entry.dtype:
            held[name] = None
        elif shard is not None and (entry.spread or (entry.shape and entry.shape == list(shard.shape))):
            held[name] = mark(empty_like(parameter.detach(), dtype=_dtype_of(entry.dtype)), shard)
        else:
            held[name] = empty(entry.shape, dtype=_dtype_of(entry.dtype))
