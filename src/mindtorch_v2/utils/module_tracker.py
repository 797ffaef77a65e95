"""Which modules are under way, in forward and in backward."""

from __future__ import annotations

import weakref
from types import TracebackType
from typing import Any

from .._autograd.engine import queue_callback
from .._tensor import Tensor
from ..autograd.graph import register_multi_grad_hook
from ..nn.modules.module import Module, register_module_forward_hook, register_module_forward_pre_hook
from ._pytree import tree_flatten

__all__ = ["ModuleTracker"]


class ModuleTracker:
    """While it is entered, `parents` holds the paths of the modules that are under way, and "Global". A path begins
    with the class of the outermost module that was called. `is_bw` says whether the backward pass runs.

    A module's backward begins when the gradients of its outputs are there, and ends when those of its inputs are;
    inputs without gradients leave it open until the pass ends.

    >>> from mindtorch_v2.utils.module_tracker import ModuleTracker
    >>> class Telling(nn.Module):
    ...     def forward(self, x):
    ...         print(sorted(tracker.parents))
    ...         return x
    >>> with ModuleTracker() as tracker:
    ...     _ = nn.Sequential(Telling())(torch.ones(1))
    ['Global', 'Sequential', 'Sequential.0']
    """

    def __init__(self) -> None:
        self.parents: set[str] = {"Global"}
        self._active: dict[str, int] = {}  # how often a path is under way: modules may call themselves
        self._names: weakref.WeakKeyDictionary[Module, str] = weakref.WeakKeyDictionary()
        self._seen: weakref.WeakSet[Module] = weakref.WeakSet()
        self._handles: list[Any] = []
        self._backward = False

    @property
    def is_bw(self) -> bool:
        """Whether a backward pass is under way."""
        return self._backward

    def __enter__(self) -> ModuleTracker:
        self._handles = [
            register_module_forward_pre_hook(self._begins),
            register_module_forward_hook(self._ends, always_call=True),
        ]
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        for handle in self._handles:
            handle.remove()

    def _name_of(self, module: Module) -> str:
        name = self._names.setdefault(module, type(module).__name__)
        if module not in self._seen:
            self._seen.add(module)
            for child_name, child in module.named_children():
                self._names[child] = f"{name}.{child_name}"
        return name

    def _push(self, name: str) -> None:
        self._active[name] = self._active.get(name, 0) + 1
        self.parents.add(name)

    def _pop(self, name: str) -> None:
        left = self._active.get(name, 0) - 1
        self._active[name] = max(left, 0)
        if left <= 0:
            self.parents.discard(name)

    def _begins(self, module: Module, args: Any) -> None:
        name = self._name_of(module)
        self._push(name)
        inputs = _differentiable(args)
        if inputs:
            self._handles.append(register_multi_grad_hook(inputs, lambda grads: self._pop(name)))

    def _ends(self, module: Module, args: Any, output: Any) -> None:
        name = self._name_of(module)
        self._pop(name)
        outputs = _differentiable(output)
        if outputs:
            self._handles.append(register_multi_grad_hook(outputs, lambda grads: self._begin_backward(name)))

    def _begin_backward(self, name: str) -> None:
        if not self._backward:
            self._backward = True
            queue_callback(self._end_backward)
        self._push(name)

    def _end_backward(self) -> None:
        self._backward = False
        self._active.clear()
        self.parents = {"Global"}


def _differentiable(tree: Any) -> list[Tensor]:
    return [t for t in tree_flatten(tree)[0] if isinstance(t, Tensor) and t.requires_grad]
