"""The recorded graph: nodes, and hooks on what they save."""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterable, Sequence
from typing import Any, NamedTuple

from .._autograd.engine import queue_callback
from .._autograd.hooks import RemovableHandle
from .._autograd.node import AccumulateGrad, edge_of, node_and_nr
from .._autograd.node import Node as Node
from .._dispatch import modes
from .._tensor import Tensor, bump_version

__all__ = [
    "GradientEdge",
    "Node",
    "allow_mutation_on_saved_tensors",
    "disable_saved_tensors_hooks",
    "get_gradient_edge",
    "increment_version",
    "register_multi_grad_hook",
    "save_on_cpu",
    "saved_tensors_hooks",
]


class GradientEdge(NamedTuple):
    """Where a tensor's gradient goes: a node, and which of its outputs the tensor is."""

    node: Node
    output_nr: int
    ownership_token: Any = None


def get_gradient_edge(tensor: Tensor) -> GradientEdge:
    """The edge of a tensor's gradient; of a leaf, the node that accumulates into it.

    >>> x = torch.ones(1, requires_grad=True)
    >>> torch.autograd.graph.get_gradient_edge(x * 2).node.name()
    'MulBackward0'
    """
    if not tensor.requires_grad:
        raise RuntimeError("It is not possible to get the gradient edge for a Tensor that does not require gradients")
    if isinstance(edge_of(tensor), Tensor):
        return GradientEdge(AccumulateGrad(tensor), 0)
    return GradientEdge(*node_and_nr(tensor))


def increment_version(tensor: Tensor | Iterable[Tensor]) -> None:
    """Counts a write to the memory of a tensor, or of several, that autograd could not see.

    >>> x = torch.ones(1)
    >>> torch.autograd.graph.increment_version(x)
    >>> x._version
    1
    """
    for t in (tensor,) if isinstance(tensor, Tensor) else tensor:
        bump_version(t)


class saved_tensors_hooks(modes.Switch):
    """While active, every tensor saved for the backward pass goes through `pack_hook`, and comes back through
    `unpack_hook`.
    """

    _special = True

    def __init__(self, pack_hook: Any, unpack_hook: Any) -> None:
        self.pack_hook, self.unpack_hook = pack_hook, unpack_hook
        self._changes = {"saved_hooks": ((pack_hook, unpack_hook),)}

    def __enter__(self) -> None:
        if modes.state.saved_hooks_error is not None:
            raise RuntimeError(modes.state.saved_hooks_error)
        super().__enter__()


class save_on_cpu(saved_tensors_hooks):
    """Saves tensors in host memory and brings them back to their device for the backward pass."""

    def __init__(self, pin_memory: bool = False, device_type: str = "cuda") -> None:
        def pack(t: Tensor) -> Any:
            return t.device, t.cpu()

        def unpack(packed: Any) -> Tensor:
            device, t = packed
            return t.to(device)

        super().__init__(pack, unpack)


class disable_saved_tensors_hooks(modes.Switch):
    """Within this block, setting hooks on saved tensors is an error with the given message, and so is beginning the
    block where such hooks are set.

    >>> with torch.autograd.graph.disable_saved_tensors_hooks("no hooks here"):
    ...     with torch.autograd.graph.save_on_cpu():
    ...         pass
    Traceback (most recent call last):
    RuntimeError: no hooks here
    """

    _special = False

    def __init__(self, error_message: str) -> None:
        self._changes = {"saved_hooks_error": error_message}

    def __enter__(self) -> None:
        if modes.state.saved_hooks:
            raise RuntimeError(self._changes["saved_hooks_error"])
        super().__enter__()


class allow_mutation_on_saved_tensors(saved_tensors_hooks):
    """Within this block, tensors that the backward pass needs may be written to: it gets the values that they had.

    They are copied when they are saved, so this takes memory for all of them.

    >>> with torch.autograd.graph.allow_mutation_on_saved_tensors():
    ...     x = torch.ones(2, requires_grad=True)
    ...     y = x.clone()
    ...     out = (y ** 2).sum()
    ...     _ = y.sin_()
    ...     out.backward()
    >>> x.grad
    tensor([2., 2.])
    """

    def __init__(self) -> None:
        super().__init__(lambda t: t.detach().clone(), lambda t: t)


class _Handles:
    """Removes several hooks at once."""

    def __init__(self, handles: Sequence[RemovableHandle]) -> None:
        self._handles = handles

    def remove(self) -> None:
        """Ends the hooks; may be called again."""
        for handle in self._handles:
            handle.remove()

    def __enter__(self) -> _Handles:
        return self

    def __exit__(self, *exc: object) -> None:
        self.remove()


def register_multi_grad_hook(tensors: Sequence[Tensor], fn: Callable[..., Any], *, mode: str = "all") -> _Handles:
    """Calls `fn` once in every backward pass that reaches some of `tensors`.

    With mode "all" it gets a list with one gradient for each, as soon as all are there, or at the end of the pass
    with None for tensors that it did not reach. With mode "any" it gets the first gradient, at once.

    >>> a, b = torch.ones(1, requires_grad=True), torch.ones(1, requires_grad=True)
    >>> handle = torch.autograd.graph.register_multi_grad_hook((a, b), lambda grads: print(grads))
    >>> (a * 2 + b * 3).backward()
    [tensor([2.]), tensor([3.])]
    """
    if mode not in ("all", "any"):
        raise ValueError(f"Expects mode to be one of ('all', 'any') but got {mode}")
    gathered = _Gathered(len(tensors), fn)
    arrive = gathered.arrive_any if mode == "any" else gathered.arrive
    return _Handles([t.register_hook(functools.partial(arrive, i)) for i, t in enumerate(tensors)])


class _Gathered:
    """The gradients of several tensors that have arrived in one backward pass."""

    def __init__(self, count: int, fn: Callable[..., Any]) -> None:
        self.count, self.fn = count, fn
        self.grads: list[Tensor | None] = []
        self.open_pass: Any = None  # the pass whose gradients these are, until `fn` was called

    def _begins(self) -> bool:
        """Whether this is the first gradient of a pass; one that failed half-way is forgotten."""
        if self.open_pass is modes.state.after_pass:
            return False
        self.open_pass, self.grads = modes.state.after_pass, [None] * self.count
        return True

    def arrive(self, index: int, grad: Tensor) -> None:
        if self._begins():
            queue_callback(self.finish)
        self.grads[index] = grad
        if all(g is not None for g in self.grads):
            self.finish()

    def finish(self) -> None:
        if self.grads:
            grads, self.grads = self.grads, []
            self.fn(grads)

    def arrive_any(self, index: int, grad: Tensor) -> None:
        if self._begins():
            self.fn(grad)
