"""Ready-made `on_trace_ready` functions."""

from __future__ import annotations

import os
import socket
import time
from collections.abc import Callable
from typing import Any


def tensorboard_trace_handler(
    dir_name: str | os.PathLike[str],
    worker_name: str | None = None,
    use_gzip: bool = False,
    use_python_export: bool = False,
) -> Callable[[Any], None]:
    """Writes each trace to `<dir_name>/<worker_name>.<time in ns>.pt.trace.json`, where TensorBoard looks for it. Give
    each process of a job its own `worker_name`; it defaults to the host's name and the process's id.

    >>> import os, tempfile
    >>> folder = tempfile.mkdtemp()
    >>> with torch.profiler.profile(on_trace_ready=torch.profiler.tensorboard_trace_handler(folder, "me")):
    ...     y = torch.ones(2) + 1
    >>> len(os.listdir(folder))
    1
    """
    if worker_name is not None and (worker_name in (".", "..") or any(c in worker_name for c in ("/", "\\", "\0"))):
        raise ValueError(
            f"worker_name is {worker_name!r}: it becomes a part of a file's name in dir_name, and cannot have "
            "separators of folders. Give the folder as dir_name."
        )
    worker = worker_name

    def write_trace(prof: Any) -> None:
        nonlocal worker
        if not os.path.isdir(dir_name):
            try:
                os.makedirs(dir_name, exist_ok=True)
            except OSError as error:
                raise RuntimeError(f"Can't create directory: {dir_name}") from error
        if not worker:
            worker = f"{socket.gethostname()}_{os.getpid()}"
        name = f"{worker}.{time.time_ns()}.pt.trace.json{'.gz' if use_gzip else ''}"
        prof.export_chrome_trace(os.path.join(dir_name, name), use_python_export)

    return write_trace
