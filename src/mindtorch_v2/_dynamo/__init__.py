"""`torch._dynamo`: the compiler of `torch.compile`. Programs run eagerly here, so marks are accepted and do
nothing; what would need a graph raises.
"""

from __future__ import annotations

from typing import Any, NoReturn

from .._lazy_parts import lazy_parts as _lazy_parts
from . import config, eval_frame, exc
from .eval_frame import BACKENDS, OptimizedModule, check_backend, innermost_fn, wrap_target

__all__ = [
    "OptimizedModule",
    "allow_in_graph",
    "assume_constant_result",
    "config",
    "disable",
    "disallow_in_graph",
    "eval_frame",
    "exc",
    "explain",
    "export",
    "forbid_in_graph",
    "graph_break",
    "innermost_fn",
    "is_compiling",
    "is_dynamo_supported",
    "list_backends",
    "lookup_backend",
    "mark_dynamic",
    "mark_static",
    "mark_static_address",
    "maybe_mark_dynamic",
    "optimize",
    "reset",
    "run",
]
_NO_GRAPHS = "programs run eagerly here: no graph is made of them"


def is_compiling() -> bool:
    """False: nothing is compiled."""
    return False


def is_dynamo_supported() -> bool:
    """False: there is no compiler here; `torch.compile` runs programs eagerly."""
    return False


def is_inductor_supported() -> bool:
    """False."""
    return False


def list_backends(exclude_tags: Any = ("debug", "experimental")) -> list[str]:
    """["eager"]: how every program runs. Other names are accepted by `torch.compile` and mean the same."""
    return ["eager"]


def lookup_backend(compiler_fn: Any) -> Any:
    """Refused: backends compile graphs."""
    if isinstance(compiler_fn, str) and compiler_fn not in BACKENDS:
        check_backend(compiler_fn)
    raise NotImplementedError(_NO_GRAPHS)


def reset() -> None:
    """Nothing is cached."""


reset_code_caches = reset


def disable(fn: Any = None, recursive: bool = True, *, reason: str | None = None, wrapping: bool = True) -> Any:
    """The function itself; as a decorator without one. It is not compiled in any case."""
    return (lambda target: target) if fn is None else fn


def run(fn: Any = None) -> Any:
    """The function itself."""
    return (lambda target: target) if fn is None else fn


def optimize(backend: Any = "inductor", **options: Any) -> Any:
    """A decorator: what `torch.compile` makes of a function or module."""
    check_backend(backend)
    return wrap_target


def _same(fn: Any) -> Any:
    """The function itself: it is not compiled."""
    return fn


allow_in_graph = disallow_in_graph = forbid_in_graph = assume_constant_result = nonstrict_trace = dont_skip_tracing = (
    _same
)


def graph_break(msg: str = "") -> None:
    """Nothing: there is no graph to end."""


def mark_dynamic(
    t: Any, index: Any, *, hint_override: int | None = None, min: int | None = None, max: int | None = None
) -> None:
    """Nothing: sizes are never fixed."""


maybe_mark_dynamic = mark_static = mark_dynamic


def mark_static_address(t: Any, guard: bool = False) -> None:
    """Nothing: addresses are not recorded."""


def explain(f: Any, *args: Any, **kwargs: Any) -> NoReturn:
    """Refused: it tells about graphs."""
    raise NotImplementedError(f"torch._dynamo.explain tells which graphs a program becomes, but {_NO_GRAPHS}")


def export(f: Any, *args: Any, **kwargs: Any) -> NoReturn:
    """Refused: it gives a graph."""
    raise NotImplementedError(f"torch._dynamo.export gives a program's graph, but {_NO_GRAPHS}")


__getattr__, __dir__ = _lazy_parts(__name__, ("utils", "external_utils", "decorators"))
