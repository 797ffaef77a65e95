"""Call plans as the native core executes them: `native_call` translates a plan for `_native/core/call_type.c`, and
nothing else.

The Python function is the fallback for calls that C hands on, and is called directly without the native core.
"""

from __future__ import annotations

from importlib import import_module
from typing import Any

import numpy as np

from .. import _device
from .. import _dtype as dt
from .._ops.schema import NO_DEFAULT
from .._storage import native
from .._tensor import Parameter, Tensor, layout, memory_format
from . import modes
from .checks import check_writable, explain
from .memory_order import settle
from .plan import CallPlan, GradientPlan, Saved
from .steps import Steps

_MOST = 16  # arguments and saved values of a native call: MAX_PARAMS in _native/core/call.h


def samples() -> list[tuple[Any, ...]]:
    """Arrays of every element type and their facts: what the native module checks its reading of arrays against."""
    found = []
    for dtype in dt.OF_NUMPY:
        whole = np.zeros((2, 3, 5), dtype.np)
        for array in (whole, whole[1:, ::2].T):
            found.append(
                (
                    array,
                    array.__array_interface__["data"][0],
                    array.shape,
                    array.strides,
                    array.dtype.num,
                    array.itemsize,
                    array.base,
                )
            )
    longlong = np.zeros(4, np.longlong)
    found.append((longlong, longlong.__array_interface__["data"][0], (4,), (8,), longlong.dtype.num, 8, None))
    return found


def _set_up() -> bool:
    if native is None:
        return False
    reads_arrays = native.setup(Tensor, np.ndarray, samples())
    native.setup_values(_device.device, dt.dtype, layout, memory_format)
    inexact = tuple(dtype for dtype in dt.ALL if dtype.inexact)
    native.setup_calls(
        Tensor,
        Parameter,
        np.ndarray,
        reads_arrays,
        explain,
        np.asarray,
        check_writable,
        dt.BY_NUM,
        dt.bool_,
        inexact,
        modes.sequence,
        dt.float32,
        settle,
        _device.CPU,
        _device.resolve,
    )
    return bool(reads_arrays)


def _loops() -> dict[str, int]:
    """The ids of the loops that compute a few elements in C, by name."""
    if native is None or not READS_ARRAYS:
        return {}
    core: Any = import_module("numpy._core" if int(np.__version__.partition(".")[0]) >= 2 else "numpy.core")
    found: dict[str, int] = native.setup_loops(getattr(core._multiarray_umath, "_ARRAY_API", None), np.dtype(bool))
    return found


READS_ARRAYS = _set_up()  # whether the native part knows how this numpy lays out its arrays
_LOOPS = _loops()
_LOOP_OF_OP = {
    **{f"{word}.Tensor": word for word in ("add", "sub", "mul", "div")},
    **{f"{word}.Tensor": word for word in ("add_", "sub_", "mul_", "div_")},
    "neg": "neg",
    "relu": "relu",
    "sum": "sum",
    **{f"{word}.{form}": word for word in ("eq", "ne", "lt", "le", "gt", "ge") for form in ("Tensor", "Scalar")},
}


def native_call(plan: CallPlan, names: list[str], form: str, function: Any) -> Any:
    """The native call of an op in front of its Python function, or that function where there is no native core.
    `names` are those of the arguments in Python.
    """
    op = plan.op
    saved = () if plan.gradient is None else plan.gradient.saved
    if native is None or len(plan.arguments) > _MOST or len(saved) > _MOST:
        return function
    unseeded = op.generator_position >= 0
    kind = native.Call if form == "function" else native.CallMethod
    return kind(
        function=function,
        op=op,
        unseeded=op.unseeded if unseeded else None,
        generator=op.generator_position,
        kernel=plan.kernel,
        direct=plan.direct,
        composite=plan.function,
        params=tuple(
            (n, int(a.kind), a.length) if a.default is NO_DEFAULT else (n, int(a.kind), a.length, a.default)
            for n, a in zip(names, plan.arguments)
        ),
        positional=plan.positional,
        lead=plan.lead,
        casting=sum(1 << i for i in plan.casting),
        wants_inexact=plan.wants_inexact,
        makes=int(plan.makes),
        result_type=int(plan.result_type),
        tuple_type=plan.tuple_type,
        joins=plan.joins,
        is_view=plan.is_view,
        is_graph_view=plan.is_graph_view,
        writes=plan.writes,
        has_steps=plan.has_steps,
        steps=None if plan.steps is None else _steps(plan.steps),
        below_autograd=plan.below_autograd,
        makes_new=plan.makes_new,
        enters_below=form == "function" and op.is_factory and op.family in ("creation", "random"),
        has_sequence_id=op.has_sequence_id,
        gradient=None if plan.gradient is None else _gradient(plan.gradient, op.derivative),
        loop=_LOOPS.get(_LOOP_OF_OP.get(op.name, ""), 0),
    )


def _steps(steps: Steps) -> tuple[Any, ...]:
    return (
        int(steps.kind),
        steps.op,
        steps.name,
        steps.constants,
        steps.dimensions,
        steps.fewer,
        steps.first,
        steps.rank,
        steps.lists_result,
        steps.expand,
        steps.format,
    )


def _gradient(gradient: GradientPlan, derivative: Any) -> tuple[Any, ...]:
    constant = sum(1 << i for i in gradient.constant)
    return (
        gradient.node_class,
        derivative.view_edge,
        derivative.slot,
        gradient.inputs,
        gradient.takes_lists,
        tuple(_saved_entry(value, gradient) for value in gradient.saved),
        gradient.only_inexact,
        constant,
    )


def _saved_entry(value: Saved, gradient: GradientPlan) -> tuple[Any, ...]:
    """(what, position, the inputs of which one must have an edge, as bits, how a tensor is asked, what stands for no
    tensor)
    """
    always = not value.is_tensor or len(value.users) == len(gradient.inputs) or gradient.takes_lists
    return int(value.kind), value.position, 0 if always else sum(1 << i for i in value.users), value.fact, value.absent
