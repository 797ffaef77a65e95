"""Writing a checkpoint: every process writes what it holds, the first one says that it is complete."""

from __future__ import annotations

import io
import os
import secrets
from typing import Any

from ..._files import atomic_file
from ..._tensor import PART_NAME, Tensor
from .._shards import local, shard_of
from ..objects import all_gather_object, broadcast_object_list
from ..process_groups import get_rank, get_world_size, is_initialized
from ._entries import CheckpointException, Entry, Piece, name_of
from ._files import write_metadata
from ._tree import Index, is_stateful, leaves, state_of
from .default_planner import DefaultSavePlanner, checked_planner
from .filesystem import FileSystemReader, FileSystemWriter
from .hf_storage import HuggingFaceStorageWriter
from .state_dict import whole


def save(
    state_dict: dict[str, Any],
    *,
    checkpoint_id: str | os.PathLike[str] | None = None,
    storage_writer: FileSystemWriter | None = None,
    planner: Any = None,
    process_group: Any = None,
    no_dist: bool = False,
    use_collectives: bool = True,
) -> None:
    """Writes the tensors and values of all processes into one folder. Every process of the group calls it.

    Rows of a spread parameter (`fully_shard`) are written by the process that holds them; what all processes hold is
    written once. A checkpoint that was in the folder stays the one that loads until the new one is complete.
    PyTorch can load it.
    """
    checked_planner(planner, DefaultSavePlanner)
    alone = no_dist or not is_initialized()
    if isinstance(storage_writer, HuggingFaceStorageWriter):
        _save_whole(state_dict, storage_writer, alone, process_group)
        return
    folder = folder_of(checkpoint_id, storage_writer)
    rank, size = (0, 1) if alone else (get_rank(process_group), get_world_size(process_group))
    flat = {name: (path, value) for name, path, value in named_leaves(state_dict)}
    token = [secrets.token_hex(4)]
    if not alone:
        broadcast_object_list(token, group_src=0, group=process_group)
    written, problem = try_write(folder, f"__{rank}_{token[0]}.distcp", flat, rank, size)
    everyone: list[Any] = [(written, problem)]
    if not alone:
        everyone = [None] * size
        all_gather_object(everyone, (written, problem), process_group)
    problem = finish(folder, everyone, token[0]) if rank == 0 else ""
    if not alone:
        told = [problem]
        broadcast_object_list(told, group_src=0, group=process_group)
        problem = told[0]
    if problem:
        raise not_written(folder, problem)


def _save_whole(state_dict: dict[str, Any], writer: HuggingFaceStorageWriter, alone: bool, group: Any) -> None:
    """Whole tensors, written by the first process."""
    tensors = {name: whole(value) for name, _, value in named_leaves(state_dict)}
    problem = [""]
    if alone or get_rank(group) == 0:
        try:
            writer.write(tensors)
        except (OSError, TypeError) as error:
            problem = [f"{type(error).__name__}: {error}"]
    if not alone:
        broadcast_object_list(problem, group_src=0, group=group)
    if problem[0]:
        raise not_written(writer.path, problem[0])


def not_written(folder: str, problem: str) -> CheckpointException:
    """What to raise for a checkpoint that is not complete."""
    return CheckpointException(f"the checkpoint {folder!r} was not written: {problem}")


def finish(folder: str, everyone: list[tuple[dict[str, Entry], str]], token: str) -> str:
    """Makes what all processes wrote the checkpoint of the folder; '' or what is wrong."""
    problem = "; ".join(f"rank {rank}: {told}" for rank, (_, told) in enumerate(everyone) if told)
    return problem or _complete(folder, [entries for entries, _ in everyone], token)


def folder_of(checkpoint_id: Any, storage: FileSystemWriter | FileSystemReader | None) -> str:
    if checkpoint_id is None and storage is None:
        raise ValueError("give checkpoint_id, the folder of the checkpoint")
    return os.fspath(checkpoint_id) if checkpoint_id is not None else storage.path  # type: ignore[union-attr]


def named_leaves(state_dict: dict[str, Any]) -> list[tuple[str, list[str | int], Any]]:
    """(name, path, value) of everything in a state dict, also in the modules and optimizers that it holds."""
    plain = {key: state_of(value) if is_stateful(value) else value for key, value in state_dict.items()}
    return [(name_of(path), path, value) for path, value in leaves(plain)]


def try_write(
    folder: str, file: str, flat: dict[str, tuple[list[str | int], Any]], rank: int, size: int
) -> tuple[dict[str, Entry], str]:
    """What this process wrote, or why it could not: the others are told, so that nobody waits for it."""
    try:
        os.makedirs(folder, exist_ok=True)
        return _write(folder, file, flat, rank, size), ""
    except (OSError, TypeError, AttributeError, RuntimeError) as error:
        return {}, f"{type(error).__name__}: {error}"


def _write(
    folder: str, file: str, flat: dict[str, tuple[list[str | int], Any]], rank: int, size: int
) -> dict[str, Entry]:
    entries: dict[str, Entry] = {}
    with atomic_file(os.path.join(folder, file), sync=True) as out:
        at = 0
        for index, (name, (path, value)) in enumerate(sorted(flat.items())):
            value = value if hasattr(value, PART_NAME) else whole(value)
            shard = shard_of(value) if isinstance(value, Tensor) else None
            indices = [at for at, part in enumerate(path) if isinstance(part, Index)]
            entry = Entry(path, spread=shard is not None, lists=indices)
            if isinstance(value, Tensor):
                entry.dtype = str(value.dtype).removeprefix("torch.")
                entry.shape = list(shard.shape if shard is not None else value.shape)
            mine = shard is not None or index % size == rank if isinstance(value, Tensor) else rank == 0
            if mine and not (shard is not None and shard.rows == 0):
                offsets, sizes = [0] * len(entry.shape), list(entry.shape)
                if shard is not None and entry.shape:
                    offsets[0], sizes[0] = shard.first, shard.rows
                held = local(value)
                data = _bytes_of(held if shard is None else held.reshape(sizes))
                entry.pieces.append(Piece(file, at, len(data), offsets, sizes))
                out.write(data)
                at += len(data)
            entries[name] = entry
    return entries


def _bytes_of(value: Any) -> memoryview:
    """A file of `torch.save` with a value."""
    from ... import save as save_value

    if isinstance(value, Tensor):
        value = value.detach().cpu().contiguous()
        if value.untyped_storage().nbytes() != value.nbytes:
            value = value.clone()  # a view would bring all the memory that it lies in
    buffer = io.BytesIO()
    save_value(value, buffer)
    return buffer.getbuffer()


def _complete(folder: str, parts: list[dict[str, Entry]], token: str) -> str:
    """Joins what the processes wrote and makes it the checkpoint of the folder; '' or what is wrong."""
    joined: dict[str, Entry] = {}
    for rank, entries in enumerate(parts):
        for name, entry in entries.items():
            known = joined.setdefault(name, Entry(entry.path, entry.dtype, entry.shape, entry.spread, entry.lists))
            if (known.dtype, known.shape) != (entry.dtype, entry.shape):
                return f"{name!r} is {entry.dtype} {entry.shape} on rank {rank}, and {known.dtype} {known.shape} before"
            known.pieces += entry.pieces
    for name, entry in joined.items():
        entry.pieces.sort(key=lambda piece: piece.offsets)
        if not entry.pieces:
            return f"no process wrote {name!r}: its processes hold different keys"
    try:
        write_metadata(folder, joined, token)
    except OSError as error:
        return f"rank 0: {error}"
    return ""
