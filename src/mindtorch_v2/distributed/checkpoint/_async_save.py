"""Writing a checkpoint while the program goes on.

A thread of each process writes what was copied. Threads do not communicate: each leaves a note of what it wrote in the
folder, the first process's thread reads them all and makes the checkpoint complete, or says why it cannot.
"""

from __future__ import annotations

import json
import os
import secrets
import time
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Any, NamedTuple

from ..._files import atomic_file
from ..._tensor import Tensor
from .._shards import local, mark, shard_of
from ..objects import broadcast_object_list
from ..process_groups import get_rank, get_world_size, is_initialized, resolve
from ._entries import CheckpointException, Entry, as_json, from_json
from ._files import read_entries
from ._save import finish, folder_of, named_leaves, not_written, try_write
from .default_planner import DefaultSavePlanner, checked_planner
from .filesystem import FileSystemWriter
from .hf_storage import HuggingFaceStorageWriter
from .state_dict import whole

_LOOK = 0.01  # seconds between looks for what other processes have written
_ALONE = 1800.0  # seconds to wait at most, where no group says it


class _Part(NamedTuple):
    """What one process writes, and for whom it waits."""

    folder: str
    token: str
    rank: int
    size: int
    timeout: float

    def note(self, rank: int) -> str:
        return os.path.join(self.folder, f"__{rank}_{self.token}.part")

    @property
    def failure(self) -> str:
        return os.path.join(self.folder, f"__{self.token}.failed")


_thread = ThreadPoolExecutor(1, thread_name_prefix="checkpoint")  # checkpoints are written in the order of their calls


def async_save(
    state_dict: dict[str, Any],
    *,
    checkpoint_id: str | os.PathLike[str] | None = None,
    storage_writer: FileSystemWriter | None = None,
    planner: Any = None,
    process_group: Any = None,
    no_dist: bool = False,
) -> Future[None]:
    """As `save`, but returns when everything is copied; a thread writes. The future is done when the checkpoint is
    complete, and has the CheckpointException if it is not. Every process of the group calls it."""
    checked_planner(planner, DefaultSavePlanner)
    if isinstance(storage_writer, HuggingFaceStorageWriter):
        raise NotImplementedError("async_save: safetensors files are written by save alone")
    folder = folder_of(checkpoint_id, storage_writer)
    alone = no_dist or not is_initialized()
    token = [secrets.token_hex(4)]
    if not alone:
        broadcast_object_list(token, group_src=0, group=process_group)
    found = None if alone else resolve(process_group)
    seconds = _ALONE if found is None else found.timeout.total_seconds()
    rank, size = (0, 1) if alone else (get_rank(process_group), get_world_size(process_group))
    flat = {name: (path, _copied(value)) for name, path, value in sorted(named_leaves(state_dict), key=lambda e: e[0])}
    return _thread.submit(_write, _Part(folder, token[0], rank, size, seconds), flat)


def _copied(value: Any) -> Any:
    """What stays as it is while the program goes on."""
    if not isinstance(value, Tensor):
        return value
    shard = shard_of(value)
    held = local(value if shard is not None else whole(value)).detach()
    return mark(held.cpu() if held.device.type != "cpu" else held.clone(), shard)


def _write(part: _Part, flat: dict[str, Any]) -> None:
    written, problem = try_write(part.folder, f"__{part.rank}_{part.token}.distcp", flat, part.rank, part.size)
    if part.rank == 0:
        problem = _complete(part, written, problem)
    else:
        with atomic_file(part.note(part.rank)) as out:
            out.write(json.dumps([as_json(written), problem]).encode())
        problem = _outcome(part)
    if problem:
        raise not_written(part.folder, problem)


def _complete(part: _Part, written: dict[str, Entry], problem: str) -> str:
    """Waits for the notes of all processes and makes the checkpoint complete; '' or what is wrong."""
    everyone, end = [(written, problem)], time.monotonic() + part.timeout
    for rank in range(1, part.size):
        while not os.path.exists(part.note(rank)):
            if time.monotonic() > end:
                everyone.append(({}, f"nothing came within {part.timeout:g} s"))
                break
            time.sleep(_LOOK)
        else:
            with open(part.note(rank), "rb") as file:
                entries, told = json.loads(file.read())
            os.remove(part.note(rank))
            everyone.append((from_json(entries), told))
    problem = finish(part.folder, everyone, part.token)
    if problem and part.size > 1:
        with atomic_file(part.failure) as out:
            out.write(problem.encode())
    return problem


def _outcome(part: _Part) -> str:
    """Waits for the first process to make the checkpoint complete; '' or what is wrong."""
    end = time.monotonic() + 2 * part.timeout
    while time.monotonic() < end:
        if os.path.exists(part.failure):
            with open(part.failure, encoding="utf-8") as file:
                return file.read()
        try:
            entries = read_entries(part.folder)
        except CheckpointException:
            entries = {}
        if any(part.token in piece.file for entry in entries.values() for piece in entry.pieces):
            return ""
        time.sleep(_LOOK)
    return f"rank 0 did not complete it within {2 * part.timeout:g} s"
