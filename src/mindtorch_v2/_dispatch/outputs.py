"""What happens to the outputs of a call: their memory is reported, or they are marked."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from .. import _storage
from .._keys import GRAD, INFERENCE
from .._ops.table import Op
from .._tensor import Tensor


def flat_tensors(values: Sequence[Any]) -> list[Tensor]:
    """The tensors among arguments or outputs, lists opened."""
    found: list[Tensor] = []
    for v in values:
        if isinstance(v, Tensor):
            found.append(v)
        elif v.__class__ is list or v.__class__ is tuple:
            found.extend(x for x in v if isinstance(x, Tensor))
    return found


def watch_outputs(op: Op, observer: Any, out: Any) -> None:
    """Reports the memory of fresh outputs."""
    if op.is_view or op.writes:
        return
    if isinstance(out, Tensor):
        _storage.watch(out, observer)
    elif out is not None:
        for t in flat_tensors((out,) if out.__class__ is list else tuple(out) if isinstance(out, tuple) else ()):
            _storage.watch(t, observer)


def counting_from_zero(kernel: Callable[..., Any], hides_views: bool) -> Callable[..., Any]:
    """A composite whose new result has version 0, whatever ops filled it: nobody saw the tensor before. With
    `hides_views` it is nobody's view either, whatever it was cut from, as views below autograd are not PyTorch's.

    A result that shares memory with an argument, or whose making was recorded for autograd, stays as it is.
    """

    def run(*args: Any) -> Any:
        out = kernel(*args)
        storage = out._storage if isinstance(out, Tensor) and not out._keys & GRAD else None
        if (
            storage is not None
            and (storage.version or (hides_views and out._base is not None))
            and all(t._storage is not storage for t in flat_tensors(args))
        ):
            storage.version = 0
            if hides_views:
                out._base = None
        return out

    return run


def mark_inference(op: Op, out: Any) -> None:
    """Outputs made in inference mode are marked, so that autograd refuses to save them."""
    if op.writes:
        return
    for t in flat_tensors((out,) if not isinstance(out, tuple) else tuple(out)):
        t._keys |= INFERENCE
