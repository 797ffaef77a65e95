"""The inlined cases of a call function, done by C: the plan of an op's call, read off its declaration.

The Python function stays behind the native one for everything else, and takes its place where there is no native part.
"""
from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from .. import _device
from .. import _dtype as dt
from .._ops.schema import NO_DEFAULT
from .._storage import native
from .._tensor import Parameter, Tensor, layout, memory_format
from . import modes
from .registry import ALLOCATES_INSIDE, COMPOSITES, DIRECT, KERNELS, NATIVE_STEPS, SHOWN
from .resolve import check_writable, explain, joins_layouts, settle

if TYPE_CHECKING:
    from .codegen import Writer
    from .fast_path import FastPath

_MOST_PARAMS = 16
# Numbers as in _native/core/call.h.
_VALUE, _TENSOR, _OPTIONAL, _NUMBER, _REPEATED, _ELEMENT_TYPE, _REAL, _SPREAD = range(8)
_TYPE_OF_LEAD, _TYPE_BOOL, _TYPE_OF_ARRAY = range(3)
_ARGUMENT, _RESULT, _SHAPE, _DTYPE, _OTHER = range(5)


def samples() -> list[tuple[Any, ...]]:
    """Arrays of every element type and their facts: what the native module checks its reading of arrays against."""
    found = []
    for dtype in dt.ALL:
        whole = np.zeros((2, 3, 5), dtype.np)
        for array in (whole, whole[1:, ::2].T):
            found.append((array, array.__array_interface__["data"][0], array.shape, array.strides, array.dtype.num,
                          array.itemsize, array.base))
    longlong = np.zeros(4, np.longlong)
    found.append((longlong, longlong.__array_interface__["data"][0], (4,), (8,), longlong.dtype.num, 8, None))
    return found


def _set_up() -> bool:
    if native is None:
        return False
    reads_arrays = native.setup(Tensor, np.ndarray, samples())
    native.setup_values(_device.device, dt.dtype, layout, memory_format)
    inexact = tuple(dtype for dtype in dt.ALL if dtype.inexact)
    native.setup_calls(Tensor, Parameter, np.ndarray, reads_arrays, explain, np.asarray, check_writable, dt.BY_NUM, dt.bool_, inexact,
                       modes.sequence, dt.float32, settle)
    return bool(reads_arrays)


READS_ARRAYS = _set_up()    # whether the native part knows how this numpy lays out its arrays


def native_call(writer: Writer, function: Any) -> Any:
    """The native call of an op in front of its call function, or the function itself where C has nothing to do."""
    if native is None or len(writer.params) > _MOST_PARAMS:
        return function
    if writer.only_steps:
        return _composite_call(writer, function)
    fast, op = writer.fast, writer.op
    if fast is None:
        return function
    lead = writer.names.index((fast.casting_tensors() or [fast.first])[0])
    kinds = _kinds(fast)
    if kinds[lead] != _TENSOR:
        return function
    inplace = fast.inplace
    from .codegen import inplace_writer
    return native.Call(
        function=function, op=op, kernel=inplace_writer(op) if inplace else KERNELS[op.name],
        direct=None if inplace else DIRECT.get(op.name), shown=SHOWN.get(op.name) if fast.shows_steps() else None,
        params=_params(writer, kinds),
        positional=sum(not p.keyword_only for p in writer.params), lead=lead, result_type=_result_type(fast),
        casting=sum(1 << writer.names.index(n) for n in fast.casting_tensors()),
        wants_inexact=bool(fast.casting_tensors()) and op.rule is not None and (op.rule.cast == "float" or bool(fast.casting_numbers())),
        inplace=inplace, is_view=op.is_view, is_graph_view=op.is_view and op.no_grad is None,
        is_observable=not fast.shows_steps() or op.name in SHOWN, allocates_inside=op.name in ALLOCATES_INSIDE,
        gradient=_gradient(fast) if fast.records() else None, steps=NATIVE_STEPS.get(op.name), is_composite=False,
        on_devices=not writer.composite, joins=joins_layouts(op))


def _composite_call(writer: Writer, function: Any) -> Any:
    """The native call of an op that is nothing but its steps."""
    op = writer.op
    return native.Call(
        function=function, op=op, kernel=COMPOSITES[op.name], direct=None, shown=None, params=_params(writer, _kinds_of_values(writer)),
        positional=sum(not p.keyword_only for p in writer.params), lead=0, result_type=0, casting=0, wants_inexact=False, inplace=False,
        is_view=False, is_graph_view=False, is_observable=not op.is_opaque, allocates_inside=False, gradient=None, steps=None,
        is_composite=True, on_devices=False, joins=False)


def _params(writer: Writer, kinds: list[int]) -> tuple[tuple[Any, ...], ...]:
    return tuple((n, kind, p.length) if p.default is NO_DEFAULT else (n, kind, p.length, p.default)
                 for n, p, kind in zip(writer.names, writer.params, kinds))


def _kinds_of_values(writer: Writer) -> list[int]:
    """How arguments are brought into form; tensors are taken as they are."""
    spread = writer.varargs()
    return [_SPREAD if i == spread else _REPEATED if p.type == "int" and p.is_list and p.length else
            _ELEMENT_TYPE if p.type == "ScalarType" else _VALUE for i, p in enumerate(writer.params)]


def _kinds(fast: FastPath) -> list[int]:
    real = set(fast.casting_numbers())
    found = _kinds_of_values(fast.w)
    for i, (p, n) in enumerate(zip(fast.w.params, fast.w.names)):
        if p.is_tensor:
            found[i] = _NUMBER if n == fast.number else _OPTIONAL if p.optional else _TENSOR
        elif n in real:
            found[i] = _REAL
    return found


def _result_type(fast: FastPath) -> int:
    word = fast.result_type()
    return _TYPE_BOOL if word == "_bool" else _TYPE_OF_LEAD if word.endswith(".dtype") else _TYPE_OF_ARRAY


def _gradient(fast: FastPath) -> tuple[Any, ...]:
    """(node class, view_edge, versions_of, places of the differentiable inputs, saved values, whether only inexact results count)"""
    d = fast.op.derivative
    places = {p.name: i for i, p in enumerate(fast.w.params)}
    return (d.node_class, d.view_edge, d.versions_of, tuple(places[n] for n in d.inputs),
            tuple(_saved(fast, name, places) for name in d.saved_names), any(p.type == "ScalarType" for p in fast.w.params))


def _saved(fast: FastPath, name: str, places: dict[str, int]) -> tuple[Any, ...]:
    """(what, place, the edges that need it as bits, whether its version counts, how to ask for it, what stands for it)"""
    d = fast.op.derivative
    if name == "result":
        return _RESULT, 0, 0, False, None, None
    if name in d.facts:
        word, _, what = name.rpartition("_")
        kind = {"shape": _SHAPE, "dtype": _DTYPE}.get(what, _OTHER)
        return kind, places[word], 0, False, _FACTS[what], None if what in ("dtype", "device") else ()
    users = sum(1 << i for i, n in enumerate(d.inputs) if name in d.needs_of(n))
    is_tensor = fast.w.params[places[name]].is_tensor
    needed = users if is_tensor and users != (1 << len(d.inputs)) - 1 else 0
    return _ARGUMENT, places[name], needed, is_tensor, None, None


_FACTS: dict[str, Any] = {"shape": None, "dtype": None, "strides": lambda t: t._array.strides, "device": lambda t: t.device,
                          "offset": lambda t: t.storage_offset()}
