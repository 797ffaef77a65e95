"""Ops that the device computes in several steps, for want of an operator of their own. The steps open no events."""
from __future__ import annotations

from typing import Any

import numpy as np

from ... import _device
from ... import _dtype as dt
from ..._dispatch.resolve import return_type
from ..._ops.table import find
from ..._tensor import wrap
from . import ops
from .boxing import program, run
from .copies import NPU, cast, copy_, dense, new_tensor, to_host
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


# --- elementwise ------------------------------------------------------------------------------------------------------------
@program("leaky_relu")
def leaky_relu(self: Any, negative_slope: Any) -> Any:
    return run("where.self", run("gt.Scalar", self, 0), self, run("mul.Tensor", self, negative_slope))


@program("leaky_relu_backward")
def leaky_relu_backward(grad_output: Any, self: Any, negative_slope: Any, self_is_result: bool) -> Any:
    return run("where.self", run("gt.Scalar", self, 0), grad_output, run("mul.Tensor", grad_output, negative_slope))


@program("sign", "sgn")
def sign(self: Any) -> Any:
    _only_floating(self)
    above, below = (cast(run(f"{name}.Tensor", self, 0), self.dtype) for name in ("gt", "lt"))
    return run("add.Tensor", run("sub.Tensor", above, below, 1), run("mul.Tensor", self, 0), 1)   # the last for NaN


@program("log_sigmoid_forward")
def log_sigmoid_forward(self: Any) -> Any:
    away = run("exp", run("neg", run("abs", self)))
    out = run("sub.Tensor", run("clamp_max", self, 0), run("log", run("add.Tensor", away, 1, 1)), 1)
    return out, new_tensor((0,), self.dtype, self.device)


@program("log_sigmoid_backward")
def log_sigmoid_backward(grad_output: Any, self: Any, buffer: Any) -> Any:
    return run("mul.Tensor", grad_output, run("sigmoid", run("neg", self)))


def _only_floating(t: Any) -> None:
    if not t.dtype.is_floating_point:
        raise Rejected(f"not for {t.dtype}")


# --- reductions -------------------------------------------------------------------------------------------------------------
@program("min", "amin")
def amin(self: Any, dim: Any = (), keepdim: bool = False) -> Any:
    _only_floating(self)
    return run("neg", run("amax", run("neg", self), dim, keepdim))


@program("min.dim")
def min_dim(self: Any, dim: int, keepdim: bool) -> Any:
    _only_floating(self)
    values, places = run("max.dim", run("neg", self), dim, keepdim)
    return return_type(find("min.dim"))(run("neg", values), places)


@program("argmin")
def argmin(self: Any, dim: int | None, keepdim: bool) -> Any:
    _only_floating(self)
    return run("argmax", run("neg", self), dim, keepdim)


@program("linalg_vector_norm")
def vector_norm(self: Any, order: Any, dim: Any, keepdim: bool, dtype: Any) -> Any:
    _only_floating(self)
    if dtype not in (None, self.dtype) or not self._a.size:
        raise Rejected("another type, or no elements")
    dims = () if dim is None else (dim,) if isinstance(dim, int) else tuple(dim)
    if order == 2:
        return run("sqrt", run("sum.dim_IntList", run("mul.Tensor", self, self), dims, keepdim, None))
    if order == 1:
        return run("sum.dim_IntList", run("abs", self), dims, keepdim, None)
    if order == float("inf"):
        return run("amax", run("abs", self), dims, keepdim)
    raise Rejected(f"norms of order {order} have no device form")


# --- indexing ---------------------------------------------------------------------------------------------------------------
def _single_index(self: Any, indices: Any) -> tuple[int, Any]:
    """Where the only index stands, and the index in one dimension with negative places counted from the end."""
    given = [(d, i) for d, i in enumerate(indices) if i is not None]
    if len(given) != 1 or given[0][1].dtype is not dt.int64 or not given[0][1]._ks & NPU or not given[0][1]._a.size:
        raise Rejected("several indices, masks or indices on the CPU have no device form")
    dim, index = given[0]
    flat = ops.flat(index)
    size = self._a.shape[dim]
    return dim, run("where.self", run("lt.Scalar", flat, 0), run("add.Tensor", flat, size, 1), flat)


@program("index.Tensor")
def index(self: Any, indices: Any) -> Any:
    dim, flat = _single_index(self, indices)
    picked = run("index_select", self, dim, flat)
    shape = self._a.shape
    return wrap(picked._a.reshape(shape[:dim] + indices[dim]._a.shape + shape[dim + 1:]), self.dtype, NPU, self.device)


@program("_index_put_impl_")
def index_put(self: Any, indices: Any, values: Any, accumulate: bool, unsafe: bool) -> Any:
    if not accumulate or not values._ks & NPU or values.dtype is not self.dtype:
        raise Rejected("only sums of values on the device have a device form")
    dim, flat = _single_index(self, indices)
    shape = self._a.shape
    full = shape[:dim] + indices[dim]._a.shape + shape[dim + 1:]
    if values._a.shape != full:
        raise Rejected("values that are spread have no device form")
    whole = values if values._a.flags.c_contiguous else dense(values)
    joined = shape[:dim] + flat._a.shape + shape[dim + 1:]
    places = np.broadcast_to(flat._a.reshape((-1,) + (1,) * (len(shape) - dim - 1)), joined)
    added = wrap(whole._a.reshape(joined), self.dtype, NPU, self.device)
    return copy_(self, run("scatter_add", self, dim, wrap(places, dt.int64, NPU, self.device), added), False)


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
