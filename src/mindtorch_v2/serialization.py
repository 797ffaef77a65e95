"""Saving and loading in PyTorch's checkpoint formats: `torch.save`, `torch.load`."""

from __future__ import annotations

import contextlib
import hashlib
import io
import os
import pickle
import struct
from collections.abc import Iterator
from typing import Any

import numpy as np

from . import _accelerators, _device
from ._files import atomic_file
from ._python.memory_methods import UntypedStorage
from ._serialization import legacy
from ._serialization.archive import ArchiveReader, ArchiveWriter, folder_name
from ._serialization.globals_of_files import unsafe_globals as _unsafe_globals
from ._serialization.pickler import CheckpointPickler, LegacyPickler
from ._serialization.skipping import SKIPPING, skip_data
from ._serialization.unpickler import FullUnpickler, LoadedStorage, RestrictedUnpickler, user_safe_globals
from ._serialization.unpickler import get_layout as _get_layout  # noqa: F401 - PyTorch's pickles of layouts call it
from ._tensor import wrap

MAP_LOCATION = Any  # in annotations of `map_location`
DEFAULT_PROTOCOL = 2
__all__ = [
    "add_safe_globals",
    "clear_safe_globals",
    "default_restore_location",
    "get_safe_globals",
    "get_unsafe_globals_in_checkpoint",
    "load",
    "safe_globals",
    "save",
    "skip_data",
]

# What a damaged or hostile pickle makes the unpickler raise.
_PICKLE_FAULTS = (
    EOFError,
    IndexError,
    KeyError,
    ValueError,
    TypeError,
    AttributeError,
    AssertionError,
    struct.error,
    OverflowError,
    MemoryError,
    RecursionError,
)


def save(
    obj: Any,
    f: Any,
    pickle_module: Any = pickle,
    pickle_protocol: int = 2,
    _use_new_zipfile_serialization: bool = True,
    _disable_byteorder_record: bool = False,
) -> None:
    """Writes an object (typically a state dict) to a path or a binary file. PyTorch 2.13 can load the file.

    A path gets the file when it is complete: an error leaves what was there, and several may save to one path at once.

    >>> import io
    >>> file = io.BytesIO()
    >>> torch.save({"w": torch.tensor([1, 2])}, file)
    >>> _ = file.seek(0)
    >>> torch.load(file)
    {'w': tensor([1, 2])}
    """
    if pickle_module is not pickle:
        raise ValueError("only the standard pickle module is supported")
    write = _write if _use_new_zipfile_serialization else _write_legacy
    if isinstance(f, (str, os.PathLike)):
        path = os.fsdecode(f)
        folder = os.path.dirname(path)
        if folder and not os.path.isdir(folder):
            raise RuntimeError(f"Parent directory {folder} does not exist.")
        with atomic_file(path, sync=True, seekable=True) as out:
            write(obj, out, folder_name(path), pickle_protocol)
    else:
        write(obj, f, "archive", pickle_protocol)


def _write(obj: Any, out: Any, folder: str, protocol: int) -> None:
    buffer = io.BytesIO()
    pickler = CheckpointPickler(buffer, protocol)
    pickler.dump(obj)
    archive = ArchiveWriter(out, folder)
    archive.write("data.pkl", buffer.getvalue())
    archive.write(".format_version", b"1")
    archive.write(".storage_alignment", b"64")
    archive.write("byteorder", b"little")
    digest = hashlib.blake2b(buffer.getvalue(), digest_size=20)
    for key, array in pickler.storages.items():
        data = bytes(array.nbytes) if SKIPPING else np.ascontiguousarray(array).reshape(-1).view(np.uint8).data
        digest.update(data)
        archive.write(f"data/{key}", data)
    archive.write("version", b"3\n")
    archive.write(".data/serialization_id", str(int.from_bytes(digest.digest(), "little") % 10**40).zfill(40).encode())
    archive.close()


def _write_legacy(obj: Any, out: Any, folder: str, protocol: int) -> None:
    """The format before PyTorch 1.6."""
    buffer = io.BytesIO()
    pickler = LegacyPickler(buffer, protocol)
    pickler.dump(obj)
    storages = {
        key: (pickler.counts[key], np.ascontiguousarray(array).reshape(-1).view(np.uint8).data)
        for key, array in pickler.storages.items()
    }
    legacy.write(out, buffer.getvalue(), storages, protocol)


def _open(f: Any, name: str, mmap: bool) -> ArchiveReader | legacy.LegacyReader:
    """The reader for a file's format."""
    is_path = isinstance(f, (str, os.PathLike))
    if mmap and not is_path:
        raise ValueError("f must be a string filename in order to use mmap argument")
    if is_path:
        with open(f, "rb") as file:
            head = file.read(len(legacy.MAGIC))
    else:
        start = f.tell()
        head = f.read(len(legacy.MAGIC))
        f.seek(start)
    if legacy.is_legacy(head):
        if mmap:
            raise RuntimeError(
                "mmap can only be used with files saved with `torch.save(_use_new_zipfile_serialization=True), please "
                "torch.save your checkpoint with this option in order to use mmap."
            )
        return legacy.LegacyReader(f, name)
    archive = ArchiveReader(f, name)
    if mmap:
        archive.map_file()
    return archive


class _LocationMap:
    """Decides the device of a storage that is read: by the location in the file and `map_location`, a device, a dict of
    locations, or a function of (storage, location) that returns a storage, or None for what would happen without it.
    """

    def __init__(self, map_location: Any) -> None:
        self._map = map_location
        self.raised: BaseException | None = None  # by the user's function

    def __call__(self, location: Any, raw: np.ndarray) -> tuple[Any, np.ndarray]:
        """The device, and the bytes themselves."""
        if not callable(self._map) or isinstance(self._map, _device.device):
            return self._device(
                self._map.get(location, location)
                if isinstance(self._map, dict)
                else location
                if self._map is None
                else self._map
            ), raw
        storage = UntypedStorage(wrap(raw))
        try:
            chosen = self._map(storage, location)
        except BaseException as error:
            self.raised = error
            raise
        if chosen is None:
            return self._device(location), raw
        if not isinstance(chosen, UntypedStorage) or chosen.nbytes() != storage.nbytes():
            got = f"one of {chosen.nbytes()} bytes" if isinstance(chosen, UntypedStorage) else type(chosen).__name__
            self.raised = TypeError(
                f"map_location must return a storage of {storage.nbytes()} bytes, or None, but returned {got}"
            )
            raise self.raised
        same = chosen == storage or chosen.device.type != "cpu"
        return chosen.device, raw if same else np.frombuffer(bytearray(bytes(chosen.tolist())), np.uint8)

    @staticmethod
    def _device(wanted: Any) -> Any:
        kind = str(wanted).partition(":")[0]
        backend = _accelerators.find(kind)
        if kind not in _device.BUILT_IN and (backend is None or not backend.is_available()):
            raise RuntimeError(
                f"Attempting to deserialize object on a {kind.upper()} device but torch.{kind}.is_available() is "
                "False. If you are running on a CPU-only machine, please use torch.load with "
                "map_location=torch.device('cpu') to map your storages to the CPU."
            )
        return _device.device(wanted)


def default_restore_location(storage: Any, location: str) -> Any:
    """What `load` does with a storage that was saved on a device, without `map_location`: it is moved there.
    RuntimeError if there is no such device."""
    target = _LocationMap._device(location)
    return storage if target == storage.device else storage.to(device=target)


def load(
    f: Any,
    map_location: Any = None,
    pickle_module: Any = None,
    *,
    weights_only: bool | None = None,
    mmap: bool | None = None,
    **pickle_load_args: Any,
) -> Any:
    """Reads what `save` wrote, here or in PyTorch. A file that is not a checkpoint or is damaged is a RuntimeError (the
    archive) or an UnpicklingError (what it describes); one with a type that does not exist here (bfloat16) is a
    NotImplementedError.

    weights_only (the default) builds tensors and plain containers only: a file that asks for anything else gets an
    UnpicklingError, and none of its code runs. With weights_only=False the file may run arbitrary code.

    mmap=True, for a path: tensors are windows of the file, whose pages are read when they are touched; what is written
    to them stays in memory. Files of the format before PyTorch 1.6 are read too, but not mapped.

    >>> import io
    >>> file = io.BytesIO()
    >>> torch.save({"w": torch.tensor([1, 2])}, file)
    >>> _ = file.seek(0)
    >>> torch.load(file)
    {'w': tensor([1, 2])}
    """
    restricted = weights_only is None or weights_only
    if pickle_module is not None and pickle_module is not pickle:
        raise RuntimeError(
            "Can not safely load weights when explicit pickle_module is specified"
            if weights_only
            else "only the standard pickle module is supported"
        )
    file_name = os.fspath(f) if isinstance(f, (str, os.PathLike)) else getattr(f, "name", "the file")
    archive = _open(f, str(file_name), bool(mmap))
    try:
        locations = _LocationMap(map_location)
        reader = (RestrictedUnpickler if restricted else FullUnpickler)(archive, locations)
        try:
            found = reader.load()
            return found.public() if isinstance(found, LoadedStorage) else found
        except pickle.UnpicklingError:
            raise
        except _PICKLE_FAULTS as error:
            if not restricted or error is locations.raised:
                raise
            raise pickle.UnpicklingError(
                f"{file_name} is damaged or not a checkpoint of tensors: {type(error).__name__}: {error}"
            ) from None
    finally:
        archive.close()


def _full_name(item: Any) -> tuple[str, Any]:
    if isinstance(item, tuple):
        value, name = item
        return name, value
    from ._serialization.names import foreign_module

    return f"{foreign_module(item.__module__)}.{item.__qualname__}", item


def add_safe_globals(safe_globals: list[Any]) -> None:
    """Lets the restricted loader build these classes and call these functions."""
    user_safe_globals.update(map(_full_name, safe_globals))


def get_safe_globals() -> list[Any]:
    """The classes and functions that `add_safe_globals` allowed."""
    return list(user_safe_globals.values())


def get_unsafe_globals_in_checkpoint(f: Any) -> list[str]:
    """What a checkpoint names that `load` refuses by default: classes and functions, as "module.name". No code of the
    file runs.

    >>> import io
    >>> file = io.BytesIO()
    >>> torch.save(nn.Identity(), file)
    >>> _ = file.seek(0)
    >>> torch.serialization.get_unsafe_globals_in_checkpoint(file)
    ['torch.nn.modules.linear.Identity']
    """
    archive = _open(f, str(getattr(f, "name", f)), False)
    try:
        return _unsafe_globals(archive.read("data.pkl"))
    finally:
        archive.close()


def clear_safe_globals() -> None:
    """Forgets all classes and functions that `add_safe_globals` allowed."""
    user_safe_globals.clear()


@contextlib.contextmanager
def safe_globals(items: list[Any]) -> Iterator[None]:
    """Allows these classes and functions within a block."""
    before = dict(user_safe_globals)
    add_safe_globals(items)
    try:
        yield
    finally:
        user_safe_globals.clear()
        user_safe_globals.update(before)
