"""Ops that the device computes in several steps, for want of an operator of their own. The steps open no events."""

from __future__ import annotations

from math import pi
from typing import Any

from ... import _device
from ... import _dtype as dt
from ..._dispatch.checks import check_writable
from ..._dispatch.return_types import return_type
from ..._ops.table import find
from ..._shape import broadcast_shapes
from ..._tensor import bump_version, wrap
from . import row_helpers
from .boxing import launch_named, program, run, whole_factors
from .copies import NPU, cast, copy_, dense, new_tensor, to_host
from .launcher import Rejected


@program("lerp.Scalar", "lerp.Tensor")
def lerp(self: Any, end: Any, weight: Any) -> Any:
    difference = run("sub.Tensor", end, self, 1)
    if hasattr(weight, "_array"):
        return run("addcmul", self, difference, weight, 1)
    return run("add.Tensor", self, difference, weight)


@program("square")
def square(self: Any) -> Any:
    return run("mul.Tensor", self, self)


@program("addmv")
def addmv(self: Any, mat: Any, vec: Any, beta: Any, alpha: Any) -> Any:
    whole_factors(self, beta, alpha)
    product = run("mv", mat, vec)
    if alpha != 1:
        product = run("mul.Tensor", product, alpha)
    return product if beta == 0 else run("add.Tensor", product, self, beta)


@program("addr")
def addr(self: Any, vec1: Any, vec2: Any, beta: Any, alpha: Any) -> Any:
    whole_factors(self, beta, alpha)
    if self.dtype is dt.bool_:
        raise Rejected("the operator has no such type")
    product = run("mul.Tensor", view(vec1, vec1._array[:, None]), vec2)
    return _scaled_sum(product, alpha, self, beta)


@program("addbmm")
def addbmm(self: Any, batch1: Any, batch2: Any, beta: Any, alpha: Any) -> Any:
    whole_factors(self, beta, alpha)
    return _scaled_sum(run("sum.dim_IntList", run("bmm", batch1, batch2), (0,), False, None), alpha, self, beta)


def _scaled_sum(product: Any, alpha: Any, self: Any, beta: Any) -> Any:
    if alpha != 1:
        product = run("mul.Tensor", product, alpha)
    return product if beta == 0 else run("add.Tensor", product, self, beta)


def view(t: Any, array: Any) -> Any:
    """A tensor over a part of another one's memory."""
    return wrap(array, t.dtype, NPU, t.device)


@program("div.Tensor_mode")
def div_mode(self: Any, other: Any, rounding_mode: str | None) -> Any:
    if rounding_mode is None:
        return run("div.Tensor", self, other)
    if rounding_mode == "floor":
        return run("floor_divide", self, other)
    if rounding_mode != "trunc":
        raise RuntimeError(
            f"div expected rounding_mode to be one of None, 'trunc', or 'floor' but found '{rounding_mode}'"
        )
    return run("trunc", run("div.Tensor", self, other)) if _real(self, other) else _whole_quotient(self, other)


def _real(*operands: Any) -> bool:
    return any(x.dtype.is_floating_point if hasattr(x, "_array") else isinstance(x, float) for x in operands)


def _whole_quotient(self: Any, other: Any) -> Any:
    """Integers, divided towards zero."""
    out = run("floor_divide", self, other)  # for its type and shape
    operands = [x if not hasattr(x, "_array") or x.dtype is out.dtype else cast(x, out.dtype) for x in (self, other)]
    if hasattr(operands[1], "_array"):
        launch_named("DivMod", (*operands, 1, out), out.device.index)
    else:
        launch_named("DivMods", (*operands, 1, out), out.device.index)
    return out


# --- elementwise
@program("log_sigmoid_forward")
def log_sigmoid_forward(self: Any) -> Any:
    away = run("exp", run("neg", run("abs", self)))
    out = run("sub.Tensor", run("clamp_max", self, 0), run("log", run("add.Tensor", away, 1, 1)), 1)
    return out, new_tensor((0,), self.dtype, self.device)


@program("log_sigmoid_backward")
def log_sigmoid_backward(grad_output: Any, self: Any, buffer: Any) -> Any:
    return run("mul.Tensor", grad_output, run("sigmoid", run("neg", self)))


@program("nan_to_num")
def nan_to_num(self: Any, nan: Any, posinf: Any, neginf: Any) -> Any:
    if not self.dtype.is_floating_point:
        return dense(self)
    limits = dt.finfo(self.dtype)
    out = run("where.ScalarSelf", run("ne.Tensor", self, self), nan or 0.0, self)
    for infinity, value, bound in ((float("inf"), posinf, limits.max), (float("-inf"), neginf, limits.min)):
        out = run("where.ScalarSelf", run("eq.Scalar", out, infinity), bound if value is None else value, out)
    return out


@program("deg2rad")
def deg2rad(self: Any) -> Any:
    return run("mul.Tensor", self, pi / 180)


@program("rad2deg")
def rad2deg(self: Any) -> Any:
    return run("mul.Tensor", self, 180 / pi)


@program("logit")
def logit(self: Any, eps: float | None) -> Any:
    x = self if eps is None else run("clamp", self, eps, 1 - eps)
    return run("log", run("div.Tensor", x, run("rsub.Scalar", x, 1, 1)))


@program("logit_backward")
def logit_backward(grad_output: Any, self: Any, eps: float | None) -> Any:
    """grad / (x (1 - x)); outside the bounds 0 where they were given, NaN where not."""
    low, high = (0.0, 1.0) if eps is None else (eps, 1.0 - eps)
    slope = run("div.Tensor", grad_output, run("mul.Tensor", self, run("rsub.Scalar", self, 1, 1)))
    outside = run("logical_or", run("lt.Scalar", self, low), run("gt.Scalar", self, high))
    return run("where.ScalarSelf", outside, 0.0 if eps is not None else float("nan"), slope)


@program("fmax")
def fmax(self: Any, other: Any) -> Any:
    return _ignoring_nan("maximum", self, other)


@program("fmin")
def fmin(self: Any, other: Any) -> Any:
    return _ignoring_nan("minimum", self, other)


def _ignoring_nan(name: str, self: Any, other: Any) -> Any:
    found = run(name, self, other)
    if not found.dtype.is_floating_point:
        return found
    found = run("where.self", run("ne.Tensor", self, self), other, found)
    return run("where.self", run("ne.Tensor", other, other), self, found)


@program("clamp.Tensor")
def clamp(self: Any, min: Any, max: Any) -> Any:
    out = self if min is None else run("clamp_min.Tensor", self, min)
    return out if max is None else run("clamp_max.Tensor", out, max)


# --- reductions and movement
@program("linalg_vector_norm")
def vector_norm(self: Any, order: Any, dim: Any, keepdim: bool, dtype: Any) -> Any:
    if not self.dtype.is_floating_point or dtype not in (None, self.dtype) or not self._array.size:
        raise Rejected("another type, or no elements")
    dims = (
        (row_helpers.numbers(dim) or row_helpers.every(self)) if self._array.ndim else ()
    )  # a number has no dimension to name
    if order in (float("inf"), float("-inf")):
        return run("amax" if order > 0 else "amin", run("abs", self), dims, keepdim)
    out = new_tensor(reduced_shape(self._array.shape, dims, keepdim), self.dtype, self.device)
    launch_named("LinalgVectorNorm", (self, float(order), dims, keepdim, self.dtype, out), self.device.index)
    return out


def reduced_shape(shape: tuple[int, ...], dims: tuple[int, ...], keepdim: bool) -> tuple[int, ...]:
    """What is left of a shape when dimensions are reduced."""
    reduced_dims = {d % max(len(shape), 1) for d in dims}
    return tuple(1 if d in reduced_dims else n for d, n in enumerate(shape) if keepdim or d not in reduced_dims)


@program("aminmax")
def aminmax(self: Any, dim: int | None, keepdim: bool) -> Any:
    dims = () if dim is None else (dim,)
    if not self._array.size:
        raise Rejected("no elements")
    return return_type(find("aminmax"))(run("amin", self, dims, keepdim), run("amax", self, dims, keepdim))


@program("count_nonzero")
def count_nonzero(self: Any, dim: int | None) -> Any:
    return run("sum.dim_IntList", run("ne.Scalar", self, 0), row_helpers.numbers(dim), False, None)


@program("nansum")
def nansum(self: Any, dim: Any, keepdim: bool, dtype: Any) -> Any:
    clean = run("where.ScalarSelf", run("ne.Tensor", self, self), 0.0, self) if self.dtype.is_floating_point else self
    return run("sum.dim_IntList", clean, row_helpers.numbers(dim), keepdim, dtype)


@program("trace")
def trace(self: Any) -> Any:
    return run("sum", view(self, self._array.diagonal()), None)


@program("pixel_shuffle")
def pixel_shuffle(self: Any, upscale_factor: int) -> Any:
    *batch, channels, height, width = self._array.shape
    r, n = upscale_factor, len(batch)
    wide = contiguous(self)._array.reshape(*batch, channels // (r * r), r, r, height, width)
    turned = wide.transpose(*range(n), n, n + 3, n + 1, n + 4, n + 2)
    return _reshape(dense(view(self, turned)), (*batch, channels // (r * r), height * r, width * r))


@program("pixel_unshuffle")
def pixel_unshuffle(self: Any, downscale_factor: int) -> Any:
    *batch, channels, height, width = self._array.shape
    r, n = downscale_factor, len(batch)
    wide = contiguous(self)._array.reshape(*batch, channels, height // r, r, width // r, r)
    turned = wide.transpose(*range(n), n, n + 2, n + 4, n + 1, n + 3)
    return _reshape(dense(view(self, turned)), (*batch, channels * r * r, height // r, width // r))


@program("native_channel_shuffle")
def channel_shuffle(self: Any, groups: int) -> Any:
    batch, channels, *rest = self._array.shape
    turned = contiguous(self)._array.reshape(batch, groups, channels // groups, *rest).swapaxes(1, 2)
    return _reshape(dense(view(self, turned)), self._array.shape)


def contiguous(t: Any) -> Any:
    return t if t._array.flags.c_contiguous else dense(t)


def _reshape(t: Any, shape: Any) -> Any:
    return view(t, t._array.reshape(tuple(shape)))


@program("unfold_backward")
def unfold_backward(grad_in: Any, input_sizes: Any, dim: int, size: int, step: int) -> Any:
    out = run("zero_", new_tensor(tuple(input_sizes), grad_in.dtype, grad_in.device))
    axis = dim % max(len(input_sizes), 1)
    windows = grad_in._array.shape[axis]
    for k in range(size):  # the k-th elements of all windows are distinct, so that each is one addition into a view
        part = [slice(None)] * len(input_sizes)
        part[axis] = slice(k, k + (windows - 1) * step + 1, step)
        run("add_.Tensor", view(out, out._array[tuple(part)]), view(grad_in, grad_in._array[..., k]), 1)
    return out


# --- random numbers
@program("bernoulli_.float")
def bernoulli_(self: Any, p: float, generator: Any) -> Any:
    if not 0 <= p <= 1:
        raise RuntimeError(f"bernoulli_ expects p to be in [0, 1], but got p={p}")
    drawn = run("uniform_", new_tensor(self._array.shape, dt.float32, self.device), 0.0, 1.0, generator)
    return copy_(self, run("lt.Tensor", drawn, float(p)), False)


@program("bernoulli_.Tensor")
def bernoulli_each_(self: Any, p: Any, generator: Any) -> Any:
    drawn = run("uniform_", new_tensor(self._array.shape, dt.float32, self.device), 0.0, 1.0, generator)
    return copy_(self, run("lt.Tensor", drawn, p), False)


@program("random_.from")
def random_from(self: Any, start: int, to: int | None, generator: Any) -> Any:
    if to is None:
        raise Rejected("there is no upper bound")
    if start >= to:
        raise RuntimeError(f"random_ expects 'from' to be less than 'to', but got from={start} >= to={to}")
    check_writable(self)
    if self._array.size:
        launch_named("InplaceRandom", (self, start, to, *row_helpers.draw(self, generator)), self.device.index)
    bump_version(self)
    return self


@program("random_.to")
def random_to(self: Any, to: int, generator: Any) -> Any:
    return random_from(self, 0, to, generator)


@program("exponential_")
def exponential_(self: Any, lambd: float, generator: Any) -> Any:
    if lambd <= 0:
        raise RuntimeError(f"exponential_ expects lambda > 0.0, but found lambda={lambd}")
    drawn = run("uniform_", new_tensor(self._array.shape, dt.float32, self.device), 0.0, 1.0, generator)
    return copy_(self, run("div.Tensor", run("log", run("rsub.Scalar", drawn, 1, 1)), -lambd), False)


@program("normal.Tensor_Tensor", "normal.Tensor_float", "normal.float_Tensor")
def normal(mean: Any, std: Any, generator: Any) -> Any:
    lead = mean if hasattr(mean, "_array") else std
    shape = broadcast_shapes(*[t._array.shape for t in (mean, std) if hasattr(t, "_array")])
    drawn = run("normal_", new_tensor(shape, lead.dtype, lead.device), 0.0, 1.0, generator)
    return run("add.Tensor", run("mul.Tensor", drawn, std), mean, 1)


# --- creation
@program("scalar_tensor")
def scalar_tensor(s: Any, dtype: Any, layout: Any, device: Any, pin_memory: Any) -> Any:
    return run("fill_.Scalar", new_tensor((), dtype or dt.get_default_dtype(), _device.resolve(device)), s)


# --- numbers
@program("_local_scalar_dense")
def local_scalar_dense(self: Any) -> Any:
    return to_host(self)._array.item()


@program("equal")
def equal(self: Any, other: Any) -> bool:
    return self._array.shape == other._array.shape and bool(to_host(run("eq.Tensor", self, other))._array.all())


@program("is_same_size")
def is_same_size(self: Any, other: Any) -> bool:
    return self._array.shape == other._array.shape
