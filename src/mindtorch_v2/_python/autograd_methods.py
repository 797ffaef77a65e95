"""The members of Tensor that belong to autograd: `requires_grad`, `grad`, `backward`, hooks, `data`."""

from __future__ import annotations

import warnings
import weakref
from typing import Any

import numpy as np

from .. import _dtype as dt
from .. import _observer
from .._autograd.engine import run_backward
from .._autograd.hooks import RemovableHandle
from .._autograd.node import edge_of, node_and_nr
from .._dispatch import modes
from .._dispatch.checks import type_word
from .._dispatch.namespace import public
from .._dispatch.overrides import become
from .._keys import CPU, DEVICES, GRAD, SPECIAL, SUBCLASS
from .._storage import Storage
from .._tensor import Tensor, shallow_alias, wrap
from .members import getter, method

_NON_LEAF_GRAD = (
    "The .grad attribute of a Tensor that is not a leaf Tensor is being accessed. Its .grad attribute won't be "
    "populated during autograd.backward(). If you indeed want the .grad field to be populated for a non-leaf Tensor, "
    "use .retain_grad() on the non-leaf Tensor. If you access the non-leaf Tensor by mistake, make sure you access the "
    "leaf Tensor instead. See github.com/pytorch/pytorch/pull/30531 for more informations."
)


def _get_requires_grad(self: Tensor) -> bool:
    """Whether gradients are computed for this tensor; may be set on leaves.

    >>> torch.ones(1, requires_grad=True).requires_grad
    True
    """
    return bool(self._keys & GRAD)


def _set_requires_grad(self: Tensor, value: bool) -> None:
    if value and not self.dtype.inexact:
        raise RuntimeError("only Tensors of floating point and complex dtype can require gradients")
    if not value and self._edge is not None:
        raise RuntimeError(
            "you can only change requires_grad flags of leaf variables. If you want to use a computed variable in a "
            "subgraph that doesn't require differentiation use var_no_grad = var.detach()."
        )
    self._keys = self._keys | GRAD if value else self._keys & ~GRAD


Tensor.requires_grad = property(_get_requires_grad, _set_requires_grad)  # type: ignore[assignment, attr-defined, unused-ignore]


@method
def requires_grad_(self: Tensor, requires_grad: bool = True) -> Tensor:
    """Marks a leaf as one whose gradient is wanted; returns it.

    >>> torch.ones(1).requires_grad_().requires_grad
    True
    """
    if requires_grad and not self.dtype.inexact:
        raise RuntimeError("only Tensors of floating point dtype can require gradients")
    _set_requires_grad(self, requires_grad)
    return self


@getter
def is_leaf(self: Tensor) -> bool:
    """Whether the tensor was made by the program and not by a differentiable operation.

    >>> x = torch.ones(1, requires_grad=True)
    >>> x.is_leaf, (x * 2).is_leaf
    (True, False)
    """
    return not self._keys & GRAD or self._edge is None


@getter
def grad_fn(self: Tensor) -> Any:
    """The node of the graph that computes this tensor's gradient further; None for leaves.

    >>> (torch.ones(1, requires_grad=True) * 2).grad_fn.name()
    'MulBackward0'
    """
    edge = edge_of(self)
    if edge is None or isinstance(edge, Tensor):
        return None
    return node_and_nr(self)[0]


@getter
def output_nr(self: Tensor) -> int:
    """Which output of its node the tensor is.

    >>> torch.ones(1).output_nr
    0
    """
    return 0 if self._edge is None else node_and_nr(self)[1]


@getter
def retains_grad(self: Tensor) -> bool:
    """Whether `retain_grad` was called on this tensor, which is not a leaf.

    >>> torch.ones(1, requires_grad=True).retains_grad
    False
    """
    return self._retain


def _get_grad(self: Tensor) -> Tensor | None:
    """The gradient that backward passes have added up so far, or None; of leaves and of tensors that retain it.

    >>> x = torch.tensor([3.], requires_grad=True)
    >>> (x * x).backward()
    >>> x.grad
    tensor([6.])
    """
    if self._edge is not None and self._grad is None and not self._retain:
        warnings.warn(_NON_LEAF_GRAD, UserWarning, stacklevel=2)
    return self._grad


def _set_grad(self: Tensor, value: Tensor | None) -> None:
    if value is None:
        self._grad = None
        return
    if not isinstance(value, Tensor):
        raise TypeError(f"assigned grad expected to be a Tensor or None but got grad of type {type(value).__name__}")
    if value._array.shape != self._array.shape:
        raise RuntimeError(
            f"attempting to assign a gradient of size '{list(value.shape)}' to a tensor of size '{list(self.shape)}'. "
            "Please ensure that the gradient and the tensor are the same size"
        )
    if value.dtype is not self.dtype:
        raise RuntimeError(
            f"attempting to assign a gradient with dtype '{value.dtype.cpp_name}' to a tensor with grad_dtype "
            f"'{type_word(self.dtype)}'. The gradient must match the tensor's grad_dtype (defaults to the tensor's "
            "dtype)."
        )
    self._grad = value


def _del_grad(self: Tensor) -> None:
    self._grad = None


Tensor.grad = property(_get_grad, _set_grad, _del_grad)  # type: ignore[assignment, method-assign]


_SEEDS = {d: np.ones((), d.np) for d in (dt.float16, dt.float32, dt.float64)}  # the others are rarer
for _one in _SEEDS.values():
    _one.flags.writeable = False  # shared by all passes; what would be written in place is copied first


def _seed(t: Tensor) -> Tensor:
    """The gradient of a single number with respect to itself."""
    return wrap(
        _SEEDS[t.dtype] if t._array.ndim == 0 and t.dtype in _SEEDS else np.ones(t._array.shape, t._array.dtype),
        t.dtype,
    )


@method
def backward(
    self: Tensor, gradient: Any = None, retain_graph: bool | None = None, create_graph: bool = False, inputs: Any = None
) -> None:
    """Computes the gradients of the leaves that this tensor depends on, and adds them to their `grad`.

    >>> x = torch.tensor([3.], requires_grad=True)
    >>> (x * x).backward()
    >>> x.grad
    tensor([6.])
    """
    if (
        gradient is None
        and inputs is None
        and self._keys & (CPU | GRAD) == CPU | GRAD
        and self._array.size == 1
        and self.dtype.is_floating_point
        and not modes.SPACE["_mode"] & SPECIAL
    ):
        run_backward(
            (self,),
            [_seed(self) if _observer.active is None else public.ones_like(self)],
            create_graph if retain_graph is None else retain_graph,
            create_graph,
        )
        return
    from ..autograd import backward as run

    run((self,), gradient, retain_graph, create_graph, inputs=inputs)


@method
def register_hook(self: Tensor, hook: Any) -> RemovableHandle:
    """Calls `hook(grad)` whenever this tensor's gradient is computed; what it returns replaces the gradient.

    >>> x = torch.ones(1, requires_grad=True)
    >>> handle = x.register_hook(lambda grad: grad * 10)
    >>> (x * 2).backward()
    >>> x.grad
    tensor([20.])
    """
    if not self._keys & GRAD:
        raise RuntimeError("cannot register a hook on a tensor that doesn't require gradient")
    if self._edge is None:
        if self._hooks is None:
            self._hooks = {}
        return RemovableHandle.add(self._hooks, hook)
    node, nr = node_and_nr(self)
    node.hooked = True
    if node.pre_hooks is None:
        node.pre_hooks = {}
    return RemovableHandle.add(node.pre_hooks.setdefault(nr, {}), hook)


@method
def register_post_accumulate_grad_hook(self: Tensor, hook: Any) -> RemovableHandle:
    """Calls `hook(tensor)` after a gradient was added to this leaf.

    >>> x = torch.ones(1, requires_grad=True)
    >>> handle = x.register_post_accumulate_grad_hook(lambda leaf: print(leaf.grad))
    >>> (x * 2).backward()
    tensor([2.])
    """
    if self._edge is not None:
        raise RuntimeError("post accumulate grad hooks cannot be registered on non-leaf tensors")
    if self._post_hooks is None:
        self._post_hooks = {}
    return RemovableHandle.add(self._post_hooks, hook)


@method
def retain_grad(self: Tensor) -> None:
    """Keeps the gradient of a non-leaf in its `grad`.

    >>> x = torch.ones(1, requires_grad=True)
    >>> y = x * 2
    >>> y.retain_grad()
    >>> y.backward()
    >>> y.grad
    tensor([1.])
    """
    if not self._keys & GRAD:
        raise RuntimeError("can't retain_grad on Tensor that has requires_grad=False")
    if self._edge is None or self._retain:
        return
    node, nr = node_and_nr(self)
    node.hooked = True
    if node.retains is None:
        node.retains = {}
    node.retains[nr] = weakref.ref(self)
    self._retain = True


@getter
def _backward_hooks(self: Tensor) -> Any:
    return self._hooks


def _get_data(self: Tensor) -> Tensor:
    """The same data outside the graph, with a version counter of its own; assigning replaces the data.

    >>> torch.ones(2, requires_grad=True).data.requires_grad
    False
    """
    out = shallow_alias(self)
    out._storage = Storage()  # .data does not share the version counter
    return become(out, type(self)) if self._keys & SUBCLASS else out


def _set_data(self: Tensor, value: Tensor) -> None:
    if not isinstance(value, Tensor):
        raise TypeError(f"Variable data has to be a tensor, but got {type(value).__name__}")
    self._array, self.dtype = value._array, value.dtype
    self._keys = (self._keys & ~DEVICES) | (value._keys & DEVICES)
    self._device = value._device


Tensor.data = property(_get_data, _set_data)  # type: ignore[assignment, method-assign]
