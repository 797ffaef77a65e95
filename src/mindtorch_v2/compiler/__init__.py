"""`torch.compiler`: what programs tell the compiler, and ask it. There is none here; programs run eagerly."""

from __future__ import annotations

import contextlib
from collections.abc import Callable
from typing import Any, NoReturn

from .._dynamo import assume_constant_result, disable, list_backends, reset
from .._dynamo.eval_frame import check_backend, compile  # noqa: A004 - torch.compiler.compile

__all__ = [
    "allow_in_graph",
    "assume_constant_result",
    "compile",
    "cudagraph_mark_step_begin",
    "disable",
    "get_default_backend",
    "is_compiling",
    "is_dynamo_compiling",
    "is_exporting",
    "list_backends",
    "load_cache_artifacts",
    "nested_compile_region",
    "reset",
    "save_cache_artifacts",
    "set_default_backend",
    "set_stance",
    "substitute_in_graph",
    "wrap_numpy",
]
_default_backend: Any = "inductor"


def is_compiling() -> bool:
    """False: nothing is compiled."""
    return False


def is_dynamo_compiling() -> bool:
    """False."""
    return False


def is_exporting() -> bool:
    """False."""
    return False


def allow_in_graph(fn: Any) -> Any:
    """The function, or list of functions, itself."""
    return fn


def substitute_in_graph(
    original_fn: Any, *, can_constant_fold_through: bool = False, skip_signature_check: bool = False
) -> Any:
    """A decorator that gives the function itself: there is no graph in which it could stand for another."""
    return lambda traceable_fn: traceable_fn


def nested_compile_region(fn: Any = None, **options: Any) -> Any:
    """The function itself; as a decorator without one."""
    return (lambda target: target) if fn is None else fn


def cudagraph_mark_step_begin() -> None:
    """Nothing: there are no recorded launches to begin anew."""


def get_default_backend() -> Any:
    """The backend that `torch.compile` is given if it is given none. All of them run programs eagerly."""
    return _default_backend


def set_default_backend(backend: Any) -> None:
    """Sets it; None sets "inductor"."""
    global _default_backend
    check_backend(backend)
    _default_backend = "inductor" if backend is None else backend


class set_stance(contextlib.ContextDecorator):
    """How compiled functions run from now on, or in a block: always eagerly here, whatever is said."""

    def __init__(
        self, stance: str = "default", *, skip_guard_eval_unsafe: bool = False, force_backend: Any = None
    ) -> None:
        self.stance = stance

    def __enter__(self) -> None:
        return None

    def __exit__(self, *exc: object) -> None:
        return None


def save_cache_artifacts() -> None:
    """None: nothing is cached."""


def load_cache_artifacts(serialized_artifacts: bytes) -> None:
    """None: there is no cache to fill."""


def wrap_numpy(fn: Callable[..., Any]) -> Callable[..., Any]:
    """A function of tensors that calls a function of numpy arrays."""
    import functools

    from .._python.creation import as_tensor
    from .._tensor import Tensor
    from ..utils._pytree import tree_map

    @functools.wraps(fn)
    def call(*args: Any, **kwargs: Any) -> Any:
        import numpy as np

        given, keywords = tree_map(lambda x: x.numpy() if isinstance(x, Tensor) else x, (args, kwargs))
        return tree_map(
            lambda x: as_tensor(x) if isinstance(x, (np.ndarray, np.generic)) else x, fn(*given, **keywords)
        )

    return call


def _make_refusal(name: str) -> Callable[..., NoReturn]:
    def call(*args: Any, **kwargs: Any) -> NoReturn:
        raise NotImplementedError(f"torch.compiler.{name}: nothing is compiled here")

    call.__name__ = name
    return call


load_compiled_function = _make_refusal("load_compiled_function")
