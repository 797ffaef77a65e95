"""`elastic_launch`: calls a function in several processes, which find `torchrun`'s variables in their environment."""

from __future__ import annotations

import os
import socket
import tempfile
import uuid
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from ...multiprocessing.spawn import ProcessException, ProcessExitedException, start_processes
from ...serialization import load, save
from ..elastic.multiprocessing.errors import ChildFailedError, ProcessFailure

__all__ = ["LaunchConfig", "elastic_launch", "launch_agent"]


@dataclass
class LaunchConfig:
    """How many processes, and how they start. They all run on this machine and are not started again after a failure;
    what concerns several machines is accepted where it has no effect."""

    min_nodes: int
    max_nodes: int
    nproc_per_node: int
    logs_specs: Any = None
    run_id: str = ""
    role: str = "default_role"
    rdzv_endpoint: str = ""
    rdzv_backend: str = "etcd"
    rdzv_configs: dict[str, Any] = field(default_factory=dict)
    rdzv_timeout: int = -1
    max_restarts: int = 3
    monitor_interval: float = 0.1
    start_method: str = "spawn"
    log_line_prefix_template: str | None = None
    metrics_cfg: dict[str, str] = field(default_factory=dict)
    local_addr: str | None = None
    event_log_handler: str = "null"
    numa_options: Any = None
    signals_to_handle: str = ""
    duplicate_stdout_filters: Any = None
    duplicate_stderr_filters: Any = None

    def __post_init__(self) -> None:
        if self.min_nodes != 1:
            raise NotImplementedError(
                f"LaunchConfig: processes on {self.min_nodes} machines; start them with "
                "`python -m mindtorch_v2.distributed.run --nnodes N --hostfile FILE`"
            )


class elastic_launch:
    """`elastic_launch(config, function)(*args)` calls the function in every process; what it returned, by rank.
    ChildFailedError, with the traceback, if one fails; the others are ended."""

    def __init__(self, config: LaunchConfig, entrypoint: Callable[..., Any] | str | None) -> None:
        if not callable(entrypoint):
            raise NotImplementedError(
                "elastic_launch calls functions; start programs with mindtorch_v2.distributed.run"
            )
        self._config, self._entrypoint = config, entrypoint

    def __call__(self, *args: Any) -> dict[int, Any]:
        return launch_agent(self._config, self._entrypoint, list(args))


def launch_agent(config: LaunchConfig, entrypoint: Callable[..., Any], args: list[Any]) -> dict[int, Any]:
    """What `elastic_launch` does."""
    count = config.nproc_per_node
    environment = {
        "MASTER_ADDR": "127.0.0.1",
        "MASTER_PORT": str(_free_port()),
        "WORLD_SIZE": str(count),
        "LOCAL_WORLD_SIZE": str(count),
        "GROUP_RANK": "0",
        "ROLE_WORLD_SIZE": str(count),
        "TORCHELASTIC_RUN_ID": config.run_id or uuid.uuid4().hex,
        "TORCHELASTIC_RESTART_COUNT": "0",
        "TORCHELASTIC_MAX_RESTARTS": "0",
    }
    with tempfile.TemporaryDirectory(prefix="mindtorch-launch-") as folder:
        try:
            start_processes(
                _run, (entrypoint, args, environment, folder), count, start_method=config.start_method or "spawn"
            )
        except ProcessException as error:
            code = error.exit_code if isinstance(error, ProcessExitedException) else 1
            failure = ProcessFailure(error.error_index, error.pid, code, "", error.msg)
            name = getattr(entrypoint, "__qualname__", str(entrypoint))
            raise ChildFailedError(name, {error.error_index: failure}) from error
        return {rank: load(os.path.join(folder, str(rank)), weights_only=False) for rank in range(count)}


def _free_port() -> int:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        return int(free.getsockname()[1])


def _run(rank: int, entrypoint: Callable[..., Any], args: list[Any], environment: dict[str, str], folder: str) -> None:
    """What a process does; the result goes to a file of its own."""
    os.environ.update(environment, RANK=str(rank), LOCAL_RANK=str(rank), ROLE_RANK=str(rank))
    save(entrypoint(*args), os.path.join(folder, str(rank)))
