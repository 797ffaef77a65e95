"""`torch.autograd.variable`: the old name of tensors, and the engine under the name that programs know it by."""

from __future__ import annotations

from collections.abc import Callable

from .._autograd.engine import queue_callback
from .._tensor import Tensor

__all__ = ["Variable"]

Variable = Tensor


class ImperativeEngine:
    """The engine of backward passes, as `Variable._execution_engine`."""

    def queue_callback(self, callback: Callable[[], object]) -> None:
        """Has `callback()` called when the running backward pass ends.

        >>> ended = []
        >>> x = torch.ones(1, requires_grad=True)
        >>> engine = torch.autograd.Variable._execution_engine
        >>> handle = x.register_hook(lambda grad: engine.queue_callback(lambda: ended.append(x.grad.item())))
        >>> (x * 3).backward()
        >>> ended
        [3.0]
        """
        queue_callback(callback)


Tensor._execution_engine = ImperativeEngine()  # type: ignore[attr-defined]
