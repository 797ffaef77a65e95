"""Where the socket of a process is, and who may use it: its owner, and root."""

from __future__ import annotations

import json
import os
import socket
import stat
import struct
import tempfile
from typing import Any

_CREDENTIALS = struct.Struct("3i")  # pid, uid, gid, as Linux has them
LONGEST = 1 << 16  # bytes of a request


class ControlError(Exception):
    """A process that cannot be reached, or says no; the message is for people."""


def private_folder() -> str:
    """The folder for sockets of this user, made where it is not there. ControlError where somebody else could reach
    into it."""
    runtime = os.environ.get("XDG_RUNTIME_DIR")
    folder = os.path.join(runtime, "mindprof") if runtime and _is_private(runtime) else _in_temporary(os.geteuid())
    try:
        os.mkdir(folder, 0o700)
    except FileExistsError:
        pass
    except OSError as error:
        raise ControlError(f"{folder!r} cannot be made: {error.strerror}") from error
    if not _is_private(folder):
        raise ControlError(f"{folder!r} is not a folder of this user alone (mode 0700); remove it, or give a path")
    return folder


def _in_temporary(uid: int) -> str:
    return os.path.join(tempfile.gettempdir(), f"mindprof-{uid}")


def _is_private(folder: str) -> bool:
    """Whether a folder, not a link to one, belongs to this user, and nobody else can look into it."""
    try:
        found = os.lstat(folder)
    except OSError:
        return False
    return stat.S_ISDIR(found.st_mode) and found.st_uid == os.geteuid() and not found.st_mode & 0o077


def find_socket(pid: int) -> str:
    """The socket of a process. ControlError where it has none."""
    try:
        owner = os.stat(f"/proc/{pid}").st_uid
    except OSError:  # gone, or a system without /proc
        owner = os.geteuid()
        if not _is_alive(pid):
            raise ControlError(f"there is no process {pid}") from None
    runtime = os.environ.get("XDG_RUNTIME_DIR")
    folders = [f"/run/user/{owner}/mindprof", _in_temporary(owner), f"/tmp/mindprof-{owner}"]
    for folder in [*([os.path.join(runtime, "mindprof")] if runtime else []), *folders]:
        path = os.path.join(folder, f"{pid}.sock")
        if os.path.exists(path):
            return path
    raise ControlError(
        f"process {pid} does not listen: start it with MINDPROF=listen, or have it call torch.profiler.listen()"
    )


def _is_alive(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except (PermissionError, OverflowError):
        return True
    return True


def peer(connection: socket.socket) -> int | None:
    """The user at the other end; None where the system does not tell."""
    if not hasattr(socket, "SO_PEERCRED"):
        return None
    told = connection.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, _CREDENTIALS.size)
    return int(_CREDENTIALS.unpack(told)[1])


def is_trusted(user: int | None) -> bool:
    """Whether a user may control processes of this one: the same, or root. Where the system does not tell, the
    permissions of the folder have to do."""
    return user is None or user in (0, os.geteuid())


def ask(path: str, request: dict[str, Any], timeout: float = 600.0) -> dict[str, Any]:
    """Sends a request to a process and gives its answer. ControlError where that fails, or the process says no."""
    try:
        with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as connection:
            connection.settimeout(timeout)
            connection.connect(path)
            owner = peer(connection)
            if not is_trusted(owner) and os.geteuid() != 0:
                raise ControlError(f"{path!r} belongs to another user ({owner})")
            connection.sendall(json.dumps(request).encode() + b"\n")
            answer = json.loads(connection.makefile("rb").readline() or b"null")
    except ConnectionRefusedError:
        raise ControlError(f"nobody listens at {path!r} any more: the process has ended") from None
    except (ConnectionResetError, BrokenPipeError):
        answer = None
    except (OSError, ValueError) as error:
        raise ControlError(f"{path!r}: {error}") from error
    if not isinstance(answer, dict):
        raise ControlError(f"{path!r}: the process hung up (it may be another user's)")
    if "error" in answer:
        raise ControlError(str(answer["error"]))
    return answer
