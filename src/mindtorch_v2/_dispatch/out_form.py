"""`out=`: the result is written into tensors that the caller gives."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

import numpy as np

from .. import _observer
from .._keys import ACCELERATORS, DEVICES, META
from .._ops.rules import Spec
from .._ops.table import OVERLOADS, Op, find
from .._quiet import copyto
from .._tensor import Tensor, bump_version
from . import autocast, modes
from .checks import check_writable
from .out_types import check_factory, check_given, check_types, warns_of_shape
from .outputs import flat_tensors
from .resolve import box
from .return_types import Unnamed, named_outputs, return_type
from .specs import meta_array

# their out must not be an input
READ_WHILE_WRITING = {"cat", "gather", "index_select", "kthvalue", "masked_select", "take"}
_NO_GRAPHS = (
    "(): functions with out=... arguments don't support automatic differentiation, but one of the arguments requires "
    "grad."
)
# ops that take inputs that require a gradient, which their results do not have, but refuse such an `out`
_WITHOUT_GRADIENT = {"floor_divide", "heaviside"}
# factories that PyTorch makes by resizing what they write into
_RESIZING = {"empty", "randn"}
# ops that make memory of their own for an `out` of another shape, in the order of the dimensions
_ROW_MAJOR = {"cholesky", "cholesky_solve"}
# factories that fill what has as many elements, whatever its shape
_FILLING = {"arange", "linspace", "logspace", "range"}
# Ops that compute in the type of `out` if no argument dtype is given.
COMPUTE_IN_OUT = {"cumsum", "cumprod", "nansum", "nanmean", "sum", "prod"}

# Overloads with `out` are called after the ones without, except for these.
_OUT_OVERLOADS = {
    **dict.fromkeys(
        (
            "add.Tensor",
            "sub.Tensor",
            "mul.Tensor",
            "div.Tensor",
            "subtract.Tensor",
            "multiply.Tensor",
            "divide.Tensor",
            "true_divide.Tensor",
            "copysign.Tensor",
            "ldexp.Tensor",
            "mean.dim",
            "max.other",
            "min.other",
            "all.dim",
            "any.dim",
            "std.dim",
            "var.dim",
        ),
        "out",
    ),
    "div.Tensor_mode": "out_mode",
    "divide.Tensor_mode": "out_mode",
    "xlogy.Tensor": "OutTensor",
    "xlogy.Scalar_Other": "OutScalar_Other",
    "xlogy.Scalar_Self": "OutScalar_Self",
    "linalg_pinv.rcond_tensor": "out_rcond_tensor",
    "linalg_matrix_rank.tol_tensor": "out_tol_tensor",
    "sum.dim_IntList": "IntList_out",
    "mean": "dtype_out",
    "prod.dim_int": "int_out",
    "max": "unary_out",
    "min": "unary_out",
    "all": "all_out",
    "any": "all_out",
    "max.dim": "dim_max",
    "min.dim": "dim_min",
    "median.dim": "dim_values",
    "nanmedian.dim": "dim_values",
    "sort.stable": "values_stable",
    **dict.fromkeys(("mode", "sort", "topk", "kthvalue"), "values"),
}
_OUT_OVERLOADS |= {
    "empty.memory_format": "out",
    "arange.start_step": "start_out",
    "rand.generator": "out",
    "randn.generator": "out",
    "randint.generator": "out",
    "randint.low_generator": "low_out",
    "randperm.generator": "out",
    "normal.float_float": "float_float_out",
}
_OPTIONS = ("dtype", "layout", "device", "pin_memory")  # a factory takes these from `out`
_recorded_ops: dict[str, Op] = {}


def _recorded_op(op: Op, count: int) -> Op:
    """The op that an observer is told of: the overload that takes `count` tensors to write into. It is never called."""
    made = _recorded_ops.get(op.name)
    if made is None:
        overload = _OUT_OVERLOADS.get(op.name, f"{op.overload}_out" if op.overload else "out")
        arguments = op.text[op.text.index("(") + 1 : op.text.index(") -> ")]
        if op.is_factory:
            arguments = ", ".join(
                part for part in arguments.split(", ") if part.split("=")[0].rpartition(" ")[2] not in _OPTIONS
            )
            arguments = arguments.removesuffix(", *").removesuffix("*")
        star = "" if "*, " in arguments else "*, "
        outs = ", ".join(f"Tensor(a!) out{i}" for i in range(count)) if count > 1 else "Tensor(a!) out"
        text = f"{op.base}.{overload}({arguments}{', ' if arguments else ''}{star}{outs}) -> Tensor(a!)"
        made = _recorded_ops[op.name] = Op(text, op.family, None, None, (), False, False, False, op.namespace, None)
    return made


def _told(op: Op, args: tuple[Any, ...], targets: list[Tensor], run: Callable[[], Any]) -> None:
    """Runs what computes and writes, inside the event of the op's overload with `out` where there is an observer.

    What was computed is gone when `run` returns, and so within the event: the call leaves no memory of its own behind.
    """
    observer = _observer.active
    if observer is None:
        run()
        return
    sequence_id = modes.sequence[0] if modes.grad_enabled() else -1
    modes.call_in_event(observer, _recorded_op(op, len(targets)), (*args, *targets), sequence_id, run)


def call_with_out(op: Op, call: Any, args: tuple[Any, ...], out: Any) -> Any:
    """Calls the op and writes its result(s) into `out`, which is returned."""
    targets = [out] if isinstance(out, Tensor) else list(out)
    _refuse_graphs(op, args, targets)
    for target in targets:
        _check_memory(op, target, args)
    for a, p in zip(args, op.schema.params):
        if p.name == "dtype" and a is not None:
            check_given(op, a, targets[0].dtype)
    given = args
    if op.base in COMPUTE_IN_OUT:
        given = tuple(
            [targets[0].dtype if a is None and p.name == "dtype" else a for a, p in zip(args, op.schema.params)]
        )
    positional = [a for a, p in zip(given, op.schema.params) if not p.keyword_only]
    keywords = {p.name: a for a, p in zip(given, op.schema.params) if p.keyword_only}

    shapes = []

    def run() -> Any:
        result = call(*positional, **keywords)
        made = [result] if isinstance(result, Tensor) else list(result)
        check_types(op, made, targets, given)
        shapes.extend([_write(t, r, op.base in _ROW_MAJOR) for t, r in zip(targets, made)])
        return out

    # what is given to write into decides the type
    autocast.call_without_casts(_told, op, args, targets, run)
    if warns_of_shape(op, args):
        for t, shape in zip(targets, shapes):
            _warn_if_resized(t, shape)
    return out if isinstance(out, Tensor) else _named(op, out)


def _named(op: Op, out: Any) -> Any:
    """The tensors that were given, by the names of the op's outputs if they have names."""
    made = return_type(op)
    if made is None:
        return None
    return out if made is Unnamed else named_outputs(f"{made.__name__}_out", *made._fields)(*out)


def _check_memory(op: Op, target: Tensor, args: tuple[Any, ...]) -> None:
    """RuntimeError where what is written shares memory with itself or, not being the same tensor, with what is read."""
    if target._keys & META or op.base in COMPUTE_IN_OUT:
        return
    check_writable(target)
    elementwise = op.rule is not None and op.rule.elementwise
    if not (elementwise or op.base in READ_WHILE_WRITING) or not target._array.flags.forc:
        return
    for source in flat_tensors(args):
        same = (
            elementwise
            and source._array.strides == target._array.strides
            and source._array.shape == target._array.shape
            and source._array.__array_interface__["data"] == target._array.__array_interface__["data"]
        )
        if not same and source._array.flags.forc and np.may_share_memory(source._array, target._array):
            raise RuntimeError(
                "unsupported operation: some elements of the input tensor and the written-to tensor refer to a single "
                "memory location. Please clone() the tensor before performing the operation."
            )


def _refuse_graphs(op: Op, args: tuple[Any, ...], targets: list[Any]) -> None:
    """RuntimeError where writing into the targets would lose a gradient."""
    if not modes.grad_enabled():
        return
    if op.base in _WITHOUT_GRADIENT:
        if any(t.requires_grad for t in targets):
            raise RuntimeError(f"aten::{op.base}{_NO_GRAPHS}")
    elif not op.no_grad and any(t.requires_grad for t in flat_tensors((*args, *targets))):
        raise RuntimeError(f"{op.base}{_NO_GRAPHS}")


def deliver(name: str, result: Any, out: Any, *inputs: Any) -> Any:
    """The result of a function that is written in Python around the op `name`: itself, or what it was written into."""
    if out is None:
        return result
    op = OVERLOADS[name][0]
    _refuse_graphs(op, inputs, [out])
    check_types(op, [result], [out])
    write_into(out, result)
    return out


def make_into(op: Op, call: Any, args: tuple[Any, ...], out: Tensor) -> Tensor:
    """Calls a factory for the type and the device of `out`, and writes its result into it."""
    given = {p.name: a for p, a in zip(op.schema.params, args)}
    check_factory(given["dtype"], out)
    if out.requires_grad and modes.grad_enabled():
        resizes = op.base in _RESIZING
        raise RuntimeError("cannot resize variables that require grad" if resizes else f"aten::{op.base}{_NO_GRAPHS}")
    given.update(dtype=out.dtype, device=out.device)
    positional = [given[p.name] for p in op.schema.params if not p.keyword_only]
    keywords = {p.name: given[p.name] for p in op.schema.params if p.keyword_only}
    recorded = tuple(given[p.name] for p in op.schema.params if p.name not in _OPTIONS)
    shape, count = list(out.shape), out.numel()

    def run() -> Tensor:
        made = call(*positional, **keywords)
        _write(out, made.view(shape) if op.base in _FILLING and count == made.numel() else made)
        return out

    _told(op, recorded, [out], run)
    if op.base == "arange" and count not in (0, out.numel()):
        warnings.warn(
            f"The number of elements in the out tensor of shape {shape} is {count} which does not "
            f"match the computed number of elements {out.numel()}. Note that this may occur as a result of rounding "
            f"error. The out tensor will be resized to a tensor of shape ({out.numel()},).",
            stacklevel=4,
        )
    return out


def write_into(target: Tensor, result: Tensor) -> None:
    """Copies a result into a tensor, giving it memory of the right shape, with a warning, if it has another one, laid
    out as the result is.
    """
    _warn_if_resized(target, _write(target, result), 5)


def _warn_if_resized(target: Tensor, shape: tuple[int, ...], stacklevel: int = 4) -> None:
    """Warns if a tensor that had this shape, with elements, has another one now."""
    if shape != target._array.shape and 0 not in shape:
        warnings.warn(
            f"An output with one or more elements was resized since it had shape {list(shape)}, "
            f"which does not match the required output shape {list(target._array.shape)}. This behavior is deprecated, "
            "and in a future PyTorch release outputs will not be resized unless they have zero elements. You can "
            "explicitly reuse an out tensor t by resizing it, inplace, to zero elements with t.resize_(0).",
            stacklevel=stacklevel,
        )


def _write(target: Tensor, result: Tensor, row_major: bool = False) -> tuple[int, ...]:
    """`write_into` without its warning; what is returned is the shape that the tensor had."""
    array = result._array
    if target._keys & DEVICES != result._keys & DEVICES:
        raise RuntimeError(f"Expected out tensor to have device {result.device}, but got {target.device} instead")
    shape = target._array.shape
    if shape != array.shape:
        target._array = _memory(target, array, result.device, row_major)
    if target._keys & ACCELERATORS:
        target._device = result._device
        box(find("copy_"), target._keys & DEVICES)(target, result, False)
        return shape
    if not target._keys & META:
        copyto(target._array, array, casting="unsafe")
    bump_version(target)
    return shape


def _memory(target: Tensor, array: np.ndarray, device: Any, row_major: bool) -> np.ndarray:
    """Uninitialised memory in the shape and the order of an array, or row by row, of the kind that the target has."""
    if target._keys & META:
        return meta_array(Spec(array.shape, target.dtype))
    if target._keys & ACCELERATORS:
        return box(find("empty.memory_format"), target._keys & DEVICES)(
            array.shape, target.dtype, None, device, None, None
        )._array
    return np.empty_like(array, target.dtype.np, order="C" if row_major else "K")
