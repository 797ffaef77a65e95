"""Several modules at once, one thread each."""

from __future__ import annotations

import threading
from collections.abc import Sequence
from typing import Any

from ..._autograd.grad_mode import is_grad_enabled, set_grad_enabled
from ..._utils import ExceptionWrapper
from ..modules.module import Module


def parallel_apply(
    modules: Sequence[Module],
    inputs: Sequence[Any],
    kwargs_tup: Sequence[dict[str, Any]] | None = None,
    devices: Sequence[Any] | None = None,
) -> list[Any]:
    """The result of every module for its own arguments; an error in one is raised here with its traceback."""
    if len(modules) != len(inputs):
        raise AssertionError(f"The number of modules {len(modules)} is not equal to the number of inputs {len(inputs)}")
    keywords = [{}] * len(modules) if kwargs_tup is None else kwargs_tup
    results: list[Any] = [None] * len(modules)
    grad = is_grad_enabled()

    def work(i: int) -> None:
        given = inputs[i] if isinstance(inputs[i], (list, tuple)) else (inputs[i],)
        try:
            with set_grad_enabled(grad):
                results[i] = modules[i](*given, **keywords[i])
        except Exception:  # noqa: BLE001 - handed to the calling thread
            results[i] = ExceptionWrapper(where=f"in replica {i}")

    if len(modules) == 1:
        work(0)
    else:
        threads = [threading.Thread(target=work, args=(i,)) for i in range(len(modules))]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    for result in results:
        if isinstance(result, ExceptionWrapper):
            result.reraise()
    return results
