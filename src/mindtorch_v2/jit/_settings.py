"""Switches of TorchScript's executor, which does not exist here; files of scripts; futures."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Callable, Iterator
from typing import Any, NoReturn

from ..futures import Future

_fusion: list[tuple[str, int]] = [("STATIC", 2), ("DYNAMIC", 10)]
_onednn = False
_WHY = (
    "TorchScript files hold compiled programs, and nothing is compiled to TorchScript here: torch.jit.script and trace "
    "give the Python objects themselves. "
)


def save(m: Any, f: Any, _extra_files: Any = None) -> NoReturn:
    """Refused: there is no script to write."""
    raise NotImplementedError(_WHY + "Save the parameters with torch.save(module.state_dict(), f) instead.")


def load(f: Any, map_location: Any = None, _extra_files: Any = None, _restore_shapes: bool = False) -> NoReturn:
    """Refused: scripts cannot be run. ValueError where the file does not exist."""
    if isinstance(f, (str, os.PathLike)):
        if not os.path.exists(f):
            raise ValueError(f"The provided filename {f} does not exist")
        if os.path.isdir(f):
            raise ValueError(f"The provided filename {f} is a directory")
    raise NotImplementedError(_WHY + "Rebuild the module in Python and load its parameters with load_state_dict.")


def is_tracing() -> bool:
    """False: nothing is traced."""
    return False


def fork(func: Callable[..., Any], *args: Any, **kwargs: Any) -> Future[Any]:
    """Calls the function at once; the future has its result."""
    made: Future[Any] = Future()
    made.set_result(func(*args, **kwargs))
    return made


def wait(future: Future[Any]) -> Any:
    """The future's result."""
    return future.wait()


@contextlib.contextmanager
def optimized_execution(should_optimize: bool) -> Iterator[None]:
    """A block in which scripts are optimised or not: there are none."""
    yield


@contextlib.contextmanager
def fuser(name: str) -> Iterator[None]:
    """A block in which scripts are fused by "fuser0", "fuser1" or "fuser2": there are none."""
    if name not in ("fuser0", "fuser1", "fuser2", "fuser3"):
        raise Exception(f"unrecognized fuser option (name: {name})")
    yield


class strict_fusion:
    """A block that scripts should fuse wholly; outside of scripts it means nothing."""

    def __enter__(self) -> None:
        return None

    def __exit__(self, *exc: object) -> None:
        return None


def set_fusion_strategy(strategy: list[tuple[str, int]]) -> list[tuple[str, int]]:
    """Keeps the setting; returns the one before."""
    global _fusion
    before, _fusion = _fusion, list(strategy)
    return before


def enable_onednn_fusion(enabled: bool) -> None:
    """Keeps the setting."""
    global _onednn
    _onednn = enabled


def onednn_fusion_enabled() -> bool:
    """What `enable_onednn_fusion` was told, False at first."""
    return _onednn


def last_executed_optimized_graph() -> None:
    """None: no graph was executed."""


def set_module(obj: Any, mod: str) -> None:
    """Sets an object's `__module__`."""
    if not isinstance(mod, str):
        raise TypeError("The mod argument should be a string")
    obj.__module__ = mod
