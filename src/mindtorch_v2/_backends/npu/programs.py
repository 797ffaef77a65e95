"""Ops that the device computes in several steps, for want of an operator of their own. The steps open no events."""
from __future__ import annotations

from typing import Any

from ... import _device
from ... import _dtype as dt
from .boxing import program, run
from .copies import cast, copy_, new_tensor, to_host
from .launcher import Rejected


@program("lerp.Scalar", "lerp.Tensor")
def lerp(self: Any, end: Any, weight: Any) -> Any:
    difference = run("sub.Tensor", end, self, 1)
    if hasattr(weight, "_a"):
        return run("addcmul", self, difference, weight, 1)
    return run("add.Tensor", self, difference, weight)


@program("square")
def square(self: Any) -> Any:
    return run("mul.Tensor", self, self)


@program("le.Tensor", "le.Scalar")
def le(self: Any, other: Any) -> Any:
    return _either(run("lt.Tensor", self, other), run("eq.Tensor", self, other))


@program("ge.Tensor", "ge.Scalar")
def ge(self: Any, other: Any) -> Any:
    return _either(run("gt.Tensor", self, other), run("eq.Tensor", self, other))


@program("logical_and")
def logical_and(self: Any, other: Any) -> Any:
    return run("mul.Tensor", _truth(self), _truth(other))


@program("logical_or")
def logical_or(self: Any, other: Any) -> Any:
    return _either(_truth(self), _truth(other))


@program("any", "any.dim", "any.dims")
def any_(self: Any, dim: Any = None, keepdim: bool = False) -> Any:
    if not self._a.size:
        raise Rejected("an input has no elements")
    return run("amax", _truth(self), () if dim is None else (dim,) if isinstance(dim, int) else dim, keepdim)


@program("all", "all.dim", "all.dims")
def all_(self: Any, dim: Any = None, keepdim: bool = False) -> Any:
    return run("logical_not", any_(run("logical_not", self), dim, keepdim))


def _truth(t: Any) -> Any:
    return t if t.dtype is dt.bool_ else cast(t, dt.bool_)


def _either(a: Any, b: Any) -> Any:
    return run("where.self", a, a, b)


@program("addmv")
def addmv(self: Any, mat: Any, vec: Any, beta: Any, alpha: Any) -> Any:
    product = run("mv", mat, vec)
    if alpha != 1:
        product = run("mul.Tensor", product, alpha)
    return product if beta == 0 else run("add.Tensor", product, self, beta)


# --- losses -------------------------------------------------------------------------------------------------------------
def _reduced(values: Any, reduction: int) -> Any:
    if reduction == 0:
        return values
    total = run("sum", values, None)
    return run("div.Tensor", total, values._a.size) if reduction == 1 else total


@program("mse_loss")
def mse_loss(self: Any, target: Any, reduction: int) -> Any:
    difference = run("sub.Tensor", self, target, 1)
    return _reduced(run("mul.Tensor", difference, difference), reduction)


@program("mse_loss_backward")
def mse_loss_backward(grad_output: Any, self: Any, target: Any, reduction: int) -> Any:
    difference = run("sub.Tensor", self, target, 1)
    factor = 2.0 / difference._a.size if reduction == 1 else 2.0
    return run("mul.Tensor", run("mul.Tensor", difference, factor), grad_output)


# --- pooling: the operator's indices are int32 ----------------------------------------------------------------------------
@program("max_pool2d_with_indices")
def max_pool2d(self: Any, kernel_size: Any, stride: Any, padding: Any, dilation: Any, ceil_mode: bool) -> Any:
    from .boxing import empty_like_specs, launch_named
    out, indices = empty_like_specs("max_pool2d_with_indices", self, kernel_size, stride, padding, dilation, ceil_mode)
    narrow = new_tensor(indices._a.shape, dt.int32, self.device)
    launch_named("MaxPool2dWithIndices", (self, kernel_size, stride or kernel_size, padding, dilation, ceil_mode, out, narrow),
                 self.device.index)
    return out, cast(narrow, dt.int64)


@program("max_pool2d_with_indices_backward")
def max_pool2d_backward(grad_output: Any, self: Any, kernel_size: Any, stride: Any, padding: Any, dilation: Any, ceil_mode: bool,
                        indices: Any) -> Any:
    from .boxing import launch_named
    out = new_tensor(self._a.shape, self.dtype, self.device)
    launch_named("MaxPool2dWithIndicesBackward", (grad_output, self, cast(indices, dt.int32), kernel_size, stride or kernel_size,
                                                  padding, dilation, ceil_mode, out), self.device.index)
    return out


# --- random numbers -------------------------------------------------------------------------------------------------------
@program("bernoulli_.float")
def bernoulli_(self: Any, p: float, generator: Any) -> Any:
    if not 0 <= p <= 1:
        raise RuntimeError(f"bernoulli_ expects p to be in [0, 1], but got p={p}")
    drawn = run("uniform_", new_tensor(self._a.shape, dt.float32, self.device), 0.0, 1.0, generator)
    return copy_(self, run("lt.Tensor", drawn, float(p)), False)


# --- creation ---------------------------------------------------------------------------------------------------------------
@program("scalar_tensor")
def scalar_tensor(s: Any, dtype: Any, layout: Any, device: Any, pin_memory: Any) -> Any:
    return run("fill_.Scalar", new_tensor((), dtype or dt.get_default_dtype(), _device.resolve(device)), s)


# --- numbers --------------------------------------------------------------------------------------------------------------
@program("_local_scalar_dense")
def local_scalar_dense(self: Any) -> Any:
    return to_host(self)._a.item()


@program("equal")
def equal(self: Any, other: Any) -> bool:
    return self._a.shape == other._a.shape and bool(to_host(run("eq.Tensor", self, other))._a.all())


@program("is_same_size")
def is_same_size(self: Any, other: Any) -> bool:
    return self._a.shape == other._a.shape
