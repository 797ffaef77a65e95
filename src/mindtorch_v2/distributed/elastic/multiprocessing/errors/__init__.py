"""`torch.distributed.elastic.multiprocessing.errors`: errors of processes, for the launcher."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import wraps
from typing import Any

__all__ = ["ChildFailedError", "ProcessFailure", "record"]


@dataclass
class ProcessFailure:
    """A process that failed: its rank, id, exit code (negative: the signal), and traceback."""

    local_rank: int
    pid: int
    exitcode: int
    error_file: str
    message: str = ""


class ChildFailedError(Exception):
    """Processes that were started have failed: `failures` by rank."""

    def __init__(self, name: str, failures: dict[int, ProcessFailure]) -> None:
        self.name, self.failures = name, failures
        texts = [f"rank {rank} (exit code {f.exitcode}): {f.message.strip()}" for rank, f in sorted(failures.items())]
        super().__init__("\n".join([f"{name} FAILED", *texts]))

    def get_first_failure(self) -> tuple[int, ProcessFailure]:
        """(rank, failure) of the one that failed first."""
        return next(iter(self.failures.items()))


def record(fn: Callable[..., Any], error_handler: Any = None) -> Callable[..., Any]:
    """The function. What it raises, the launcher prints with its traceback, as it does without `record`.

    >>> from mindtorch_v2.distributed.elastic.multiprocessing.errors import record
    >>> @record
    ... def main():
    ...     return 3
    >>> main()
    3
    """

    @wraps(fn)
    def run(*args: Any, **kwargs: Any) -> Any:
        return fn(*args, **kwargs)

    return run
