"""Element types that are computed in a wider one.

float16, bfloat16 and complex32 are types to store numbers in. As in PyTorch, a kernel computes with them in single
precision, accumulates there, and rounds its results once, to nearest even. So a kernel never sees such arrays:
`Widened` stands beside it and is called instead where one of its arguments is of such a type (`quiet` tells).
Kernels that only move elements, and those that draw numbers or refuse narrow types, take every type as it is; they
are named in `AS_STORED`. Of arithmetic float8 types have what PyTorch has: equality, `abs`, `mul` and few more.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from .. import _dtype as dt
from .._ops.table import OPS
from .._quiet import convert_into, converted
from .._tensor import Tensor, wrap
from . import modes
from .steps import STEPWISE

_FLOAT32 = np.dtype(np.float32)
_WIDER = (np.dtype(np.float32), np.dtype(np.float64), np.dtype(np.complex64), np.dtype(np.complex128))


def _names(text: str) -> frozenset[str]:
    return frozenset(text.split())


# Operators whose kernels take arrays of every type as they are: nothing is computed.
AS_STORED = _names("""
    _local_scalar_dense cat clone constant_pad_nd copy_ diag_embed embedding empty.memory_format empty_strided equal eye
    eye.m fill_.Scalar fill_.Tensor flip gather index.Tensor index_fill.int_Scalar index_fill.int_Tensor index_select
    masked_fill.Scalar masked_fill.Tensor masked_scatter masked_select nan_to_num nonzero pixel_shuffle pixel_unshuffle
    repeat repeat_interleave.self_int roll rot90 linalg_cholesky_ex linalg_cross linalg_det linalg_eig linalg_inv
    linalg_inv_ex linalg_lstsq linalg_lu_factor_ex linalg_lu_solve linalg_qr linalg_solve linalg_solve_triangular
    lu_unpack _linalg_det _linalg_eigh _linalg_eigvals _linalg_slogdet _linalg_solve_ex _linalg_svd cholesky_inverse
    cholesky_solve scatter.src set_ stack take tril triu where.self zero_ zeros bernoulli_.Tensor bernoulli_.float
    cauchy_ exponential_ geometric_ log_normal_ multinomial normal.Tensor_Tensor normal.Tensor_float normal.float_Tensor
    normal_ random_ random_.from random_.to randperm.generator uniform_ """)
# Operators that take parameters of a wider type beside a narrow input.
_MIXES = _names("""
    native_batch_norm native_batch_norm_backward native_layer_norm native_layer_norm_backward native_group_norm
    native_group_norm_backward batch_norm _native_batch_norm_legit rms_norm _fused_rms_norm
    _scaled_dot_product_flash_attention_for_cpu _scaled_dot_product_flash_attention_for_cpu_backward
    grid_sampler_2d_backward """)
# Operators that PyTorch has for wide types only, and what it calls them.
_REFUSES = {"_cdist_forward": "cdist", "_cdist_backward": "cdist_backward"}
# Operators that PyTorch has for the float8 types.
_FLOAT8 = _names("eq ne abs mul isnan isfinite isinf any index_put index_put_ _index_put_impl_")
# Operators that round after every step in float16, though not in bfloat16.
_HALF_IN_STEPS = _names("add.Tensor sub.Tensor add_.Tensor sub_.Tensor mse_loss logit index_reduce")
# Those of them that are one step where their third argument is 1; its rounding to float32 changes no result.
_ONE_STEP = _names("add.Tensor sub.Tensor add_.Tensor sub_.Tensor")
# Losses that are made of steps, each of which rounds, whether or not an observer sees them.
_IN_STEPS = _names("""
    mse_loss smooth_l1_loss huber_loss binary_cross_entropy binary_cross_entropy_with_logits soft_margin_loss """)
# Operators with outputs that keep the wide type: their positions.
_WIDE_OUTPUTS = {"_scaled_dot_product_flash_attention_for_cpu": (1,)}


def widened_array(array: np.ndarray) -> np.ndarray:
    """The values of an array in the type that kernels compute in."""
    kind = dt.BY_NUM[array.dtype.num]
    return array if kind.wide is None else converted(array, kind.wide.np)


def is_narrow(array: np.ndarray) -> bool:
    """Whether an array is of a type that is computed in a wider one."""
    num = array.dtype.num
    return num >= dt.FIRST_USER_NUM or num == _HALF


_HALF = np.dtype(np.float16).num


class _Call:
    """One call: its arguments as the kernel sees them, the narrow type it is about, and whether wider floating types
    take part.
    """

    __slots__ = ("kind", "dtype_argument", "is_mixed", "copies")

    def __init__(self) -> None:
        self.kind: dt.dtype | None = None
        self.dtype_argument: dt.dtype | None = None  # given as the argument dtype
        self.is_mixed = False
        self.copies: list[tuple[np.ndarray, np.ndarray]] = []  # (as given, as widened)

    def arguments(self, args: tuple[Any, ...]) -> list[Any]:
        """Narrow arrays and types replaced by wide ones. What is asked for in a narrow type is rounded to it first."""
        self.dtype_argument = next((x for x in args if x.__class__ is dt.dtype), None)
        if self.dtype_argument is None or self.dtype_argument.wide is None:
            return [self.widen(x) for x in args]
        rounded = args[0] if args[0].dtype == self.dtype_argument.np else args[0].astype(self.dtype_argument.np)
        return [self.widen(rounded), *(x.wide if x is self.dtype_argument else self.widen(x) for x in args[1:])]

    def widen(self, value: Any) -> Any:
        """An argument as the kernel sees it."""
        if value.__class__ is np.ndarray:
            if not is_narrow(value):
                self.is_mixed |= value.ndim > 0 and value.dtype in _WIDER
                return value
            if self.kind is None or self.kind.is_floating_point:
                self.kind = dt.BY_NUM[value.dtype.num]
            for given, wide in self.copies:
                if given is value:  # one array for both, so that what is written into it is what is written back
                    return wide
            wide = widened_array(value)
            self.copies.append((value, wide))
            return wide
        if value.__class__ is list or value.__class__ is tuple:
            return value.__class__([self.widen(v) for v in value])
        return value


class Widened:
    """Calls a kernel for narrow types: its arguments are widened, what it wrote is written back, its results are
    rounded.

    `kernel` takes arrays of wide types, `function` is its form in Python; `written` are the positions of arguments
    that it writes into.
    """

    __slots__ = ("name", "kernel", "function", "written_positions")

    def __init__(self, name: str, function: Callable[..., Any], written: Sequence[int] = ()) -> None:
        self.name, self.kernel, self.function, self.written_positions = name, function, function, tuple(written)

    def __call__(self, *args: Any, out: np.ndarray | None = None) -> Any:
        call = _Call()
        wide = call.arguments(args)
        if call.kind is None:
            return self.function(*args) if out is None else self.function(*args, out=out)
        if self.name in _IN_STEPS and out is None and not call.is_mixed:
            return self._in_steps(args)
        return self._rounded(call, wide, args, out)

    def _in_steps(self, args: tuple[Any, ...]) -> Any:
        """What the steps on tensors give that an observed call takes: the same numbers, whoever watches."""

        def kernel(*given: Any) -> Tensor:
            arrays = tuple([a._array if isinstance(a, Tensor) else a for a in given])
            call = _Call()
            return wrap(self._rounded(call, call.arguments(arrays), arrays, None))

        tensors = [wrap(a) if isinstance(a, np.ndarray) else a for a in args]
        return modes.call_with_grad(False, STEPWISE[self.name], kernel, *tensors)._array

    def _rounded(self, call: _Call, wide: list[Any], args: Sequence[Any], out: np.ndarray | None) -> Any:
        assert call.kind is not None
        in_steps = call.kind is dt.float16 and self.name in _HALF_IN_STEPS and not self._is_one_step(args)
        if (call.is_mixed and self.name not in _MIXES) or in_steps:
            # which refuses operands of several types in its own words, or rounds every step
            return self.function(*args)
        result = self._run(wide, call.kind)
        if self.written_positions:
            self._write_back(args, call.copies)
        if out is not None:
            out[...] = result
            return out
        if (
            result is None
            or result.__class__ in (bool, int, float)
            or (call.dtype_argument is not None and call.dtype_argument.wide is None)
        ):
            return result
        return self._by_rule(result, args) if call.is_mixed else self._narrow_outputs(result, call.kind)

    def _is_one_step(self, args: Sequence[Any]) -> bool:
        """Whether nothing is rounded between the arguments and the result: a + b without a factor."""
        if self.name not in _ONE_STEP or args[0].__class__ is not np.ndarray or args[1].__class__ is not np.ndarray:
            return False
        return len(args) == 2 or (args[2].__class__ is int and args[2] == 1)

    def _run(self, wide: list[Any], kind: dt.dtype) -> Any:
        base = self.name.partition(".")[0]
        if (kind in dt.FLOAT8 and base not in _FLOAT8) or self.name in _REFUSES:
            raise NotImplementedError(f"\"{_REFUSES.get(self.name, base)}\" not implemented for '{kind.word}'")
        try:
            # of the quotient as it is stored, as in PyTorch
            if self.name == "div.Tensor_mode" and wide[2] == "trunc":
                return np.trunc(narrow_result(np.asarray(self.kernel(wide[0], wide[1], None)), kind).astype(_FLOAT32))
            return self.kernel(*wide)
        except (NotImplementedError, RuntimeError) as error:
            assert kind.wide is not None
            text = re.sub(rf"\b{kind.wide.word}\b", kind.word, str(error))
            raise type(error)(text).with_traceback(error.__traceback__) from None

    def _narrow_outputs(self, result: Any, kind: dt.dtype) -> Any:
        kept = _WIDE_OUTPUTS.get(self.name, ())
        if result.__class__ is tuple or result.__class__ is list:
            return result.__class__(
                [r if r is None or i in kept else narrow_result(r, kind) for i, r in enumerate(result)]
            )
        return narrow_result(result, kind)

    def _write_back(self, args: Sequence[Any], copies: list[tuple[np.ndarray, np.ndarray]]) -> None:
        targets = [
            id(a)
            for i in self.written_positions
            for a in (args[i] if isinstance(args[i], (list, tuple)) else (args[i],))
        ]
        for given, wide in copies:
            if id(given) in targets:
                convert_into(given, wide)

    def _by_rule(self, result: Any, args: Sequence[Any]) -> Any:
        """Results of operands of several types, in the types that the op's declaration gives them."""
        from .specs import output_specs

        tensors = [
            wrap(x) if x.__class__ is np.ndarray else [wrap(y) for y in x] if _is_list_of_arrays(x) else x for x in args
        ]
        specs = output_specs(OPS[self.name], tuple(tensors))
        if isinstance(result, (tuple, list)):
            return result.__class__([r if r is None else _as(r, s.dtype) for r, s in zip(result, specs)])
        return _as(result, specs.dtype)


def _is_list_of_arrays(value: Any) -> bool:
    return isinstance(value, (list, tuple)) and bool(value) and all(isinstance(v, np.ndarray) for v in value)


def _as(array: Any, kind: dt.dtype) -> Any:
    return array if array.dtype == kind.np or not kind.inexact else array.astype(kind.np)


def narrow_result(array: Any, kind: dt.dtype) -> Any:
    """A result that was computed in a wider type, in the narrow type or its complex or real counterpart; others as
    they are.
    """
    if isinstance(array, Tensor):
        return array
    letter = array.dtype.kind
    if letter == "f" and array.dtype.itemsize > 2:
        return converted(array, kind.to_real().np)
    if letter == "c" and kind.to_complex() is dt.complex32:
        return array.astype(dt.complex32.np)
    return array
