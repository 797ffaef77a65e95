"""Files that appear whole or not at all: the one way in which anything is saved.

What is written goes to a file of its own in the target's directory, with a name that nobody can foresee, which then
replaces the target by a rename. So a reader sees the old contents or the new ones, any count of writers may
save to one path, and an error leaves what was there before.

The temporary file is locked (flock) while its writer lives. A later write to the same path removes temporary files
of that path that nobody holds: those of processes that were killed. Where the file system has no locks, such files
stay.

Nothing is flushed to the disk by default, as with any other file. With `sync`, a file that replaces another one is
on the disk before it does, so that a power failure leaves one of the two.
"""

from __future__ import annotations

import contextlib
import errno
import os
import re
import stat
from collections.abc import Iterator
from functools import partial
from typing import IO, Any

try:
    import fcntl
except ImportError:  # no locks: nothing is ever taken for a leftover
    fcntl = None  # type: ignore[assignment]

Path = str | os.PathLike[str]

_SUFFIX = ".mttmp"
_KEPT_OF_NAME = 40  # characters of the target's name in that of the temporary file: both must fit into 255 bytes
_LOOK_FLAGS = os.O_RDONLY | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_CLOEXEC", 0)


@contextlib.contextmanager
def atomic_file(path: Path, *, sync: bool = False, seekable: bool = False) -> Iterator[IO[bytes]]:
    """Opens `path` for bytes; what was written replaces it when the block ends without an error.

    When anything fails (the block, a full disk, a missing directory) an earlier file at `path` stays as it was, and
    an OSError has the name of `path`. A file that is replaced passes on its permissions, and its owner and group as
    far as the system lets us; a new one has those that any new file has. A symbolic link at `path` is followed.
    Devices, pipes and the files of /dev and /proc are written to directly; with `seekable` what goes there is
    collected first.
    """
    target = os.fspath(path)
    try:
        replaced = _file_at(target)
        if _is_direct(target, replaced):
            writing = _directly(target, seekable)
        else:
            writing = _replace_file(os.path.realpath(os.fsdecode(target)), replaced, sync)
        with writing as out:
            yield out
    except OSError as error:
        if error.errno is None:
            raise
        raise OSError(error.errno, error.strerror, target) from error


def _file_at(path: Any) -> os.stat_result | None:
    """What stands at a path, links followed; an error where a file cannot."""
    try:
        found = os.stat(path)
    except FileNotFoundError:
        found = None
    separators = tuple(os.fsencode(s) if isinstance(path, bytes) else s for s in (os.sep, os.altsep) if s)
    if (found and stat.S_ISDIR(found.st_mode)) or path.endswith(separators):
        raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR))
    if found and stat.S_ISREG(found.st_mode) and not os.access(path, os.W_OK):
        raise PermissionError(errno.EACCES, os.strerror(errno.EACCES))  # a rename would not ask
    return found


def _is_direct(path: Any, found: os.stat_result | None) -> bool:
    """Whether a path is not a name of a file: /dev/stdout is what is open there, even if that is a file."""
    full = os.path.abspath(os.fsdecode(path))
    return found is not None and (
        not stat.S_ISREG(found.st_mode) or (full.startswith(("/dev/", "/proc/")) and not full.startswith("/dev/shm/"))
    )


@contextlib.contextmanager
def _directly(path: Any, seekable: bool) -> Iterator[IO[bytes]]:
    with open(path, "wb") as out:
        if not seekable or out.seekable():
            yield out
            return
        import shutil
        import tempfile

        with tempfile.TemporaryFile() as collected:
            yield collected
            collected.seek(0)
            shutil.copyfileobj(collected, out, 1 << 20)


@contextlib.contextmanager
def _replace_file(target: str, replaced: os.stat_result | None, sync: bool) -> Iterator[IO[bytes]]:
    folder, name = os.path.split(target)
    _remove_leftovers(folder, name)
    with _create_file(folder, name, replaced) as out:
        try:
            if replaced is not None:
                _pass_on(out.fileno(), replaced)
            yield out
            out.flush()
            if sync and replaced is not None:
                os.fsync(out.fileno())
            if fcntl is None:
                out.close()
            os.replace(out.name, target)  # while the lock is held: until then it is not a leftover
        except BaseException:
            _forget(out.name)
            raise


# ---- temporary files
# --------------------------------------------------------------------------------------------------


def _token() -> str:
    """32 hexadecimal digits that nobody can foresee."""
    return os.urandom(16).hex()


def _prefix(name: str) -> str:
    return f".{name[:_KEPT_OF_NAME]}."


def _create_file(folder: str, name: str, replaced: os.stat_result | None) -> IO[bytes]:
    """A new locked file. The object owns the handle from the first, so that it is closed, and the file at the latest
    removed by the next write, wherever an interrupt comes.
    """
    mode = 0o666 if replaced is None else 0o600  # nobody else looks into a private file's successor
    while True:
        path = os.path.join(folder, _prefix(name) + _token() + _SUFFIX)
        try:
            made = open(path, "xb", opener=partial(os.open, mode=mode))  # noqa: SIM115 - the caller's `with` closes it
            if _is_held(made.fileno(), path):
                return made
            made.close()
        except FileExistsError:
            continue
        except BaseException:
            _forget(path)
            raise


def _forget(path: str) -> None:
    with contextlib.suppress(OSError):  # what is reported is why writing failed, not that cleaning up did
        os.unlink(path)


def _is_held(handle: int, path: str) -> bool:
    """Locks a new file.

    False where someone who looks for leftovers was faster: before the lock they could not know better.
    """
    if fcntl is None:
        return True
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        return os.stat(path, follow_symlinks=False).st_ino == os.fstat(handle).st_ino
    except (BlockingIOError, FileNotFoundError):
        return False
    except OSError:
        return True  # a file system without locks: nobody else gets one either


def _pass_on(handle: int, replaced: os.stat_result) -> None:
    """Gives a file the permissions of the one that it will replace."""
    mode, own = stat.S_IMODE(replaced.st_mode), os.fstat(handle)
    if hasattr(os, "fchown"):
        if own.st_uid != replaced.st_uid:
            with contextlib.suppress(OSError):
                os.fchown(handle, replaced.st_uid, -1)
        if own.st_gid != replaced.st_gid:
            try:
                os.fchown(handle, -1, replaced.st_gid)
            except OSError:
                mode = mode & ~0o070 | (mode & 0o007) << 3  # another group may do no more than everybody
    if hasattr(os, "fchmod"):
        with contextlib.suppress(OSError):
            os.fchmod(handle, mode)


def _remove_leftovers(folder: str, name: str) -> None:
    """Removes temporary files of a path whose writers are gone."""
    if fcntl is None:
        return
    pattern = re.compile(re.escape(_prefix(name)) + "[0-9a-f]{32}" + re.escape(_SUFFIX))
    with contextlib.suppress(OSError), os.scandir(folder) as entries:
        found = [
            entry.path for entry in entries if pattern.fullmatch(entry.name) and entry.is_file(follow_symlinks=False)
        ]
        for path in found:
            with contextlib.suppress(OSError):
                _remove_leftover(path)


def _remove_leftover(path: str) -> None:
    handle = os.open(path, _LOOK_FLAGS)
    try:
        if os.fstat(handle).st_uid == os.geteuid():
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)  # BlockingIOError: its writer lives
            os.unlink(path)
    finally:
        os.close(handle)
