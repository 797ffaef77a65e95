"""Floating point operations of a call, from the shapes and values of its arguments: PyTorch's formulas."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from ..record.descriptions import InputDescription
from ..store.event_store import EventStore


def _matrix_product(inputs: InputDescription, first: int, second: int) -> int:
    """2 * (rows) * (inner) * (columns), times the batch for stacks of matrices."""
    left, right = inputs.shapes[first], inputs.shapes[second]
    if len(left) < 2 or len(right) != len(left):
        return 0
    return 2 * math.prod(left) * right[-1]


def _first_operand(inputs: InputDescription) -> int:
    """One operation per element of the first argument."""
    return math.prod(inputs.shapes[0]) if inputs.types[0] not in ("", "Scalar") else 0


def _conv2d(inputs: InputDescription) -> int:
    """2 * N * Cout * Hout * Wout * Cin * Kh * Kw / groups. Padding may be spelt "same" or "valid"."""
    image, weight = inputs.shapes[0], inputs.shapes[1]
    if len(image) == 3:
        image = (1, *image)
    if len(image) != 4 or len(weight) != 4 or len(inputs.values) < 7:
        return 0
    stride, dilation = _pair(inputs.values[3]), _pair(inputs.values[5])
    padding, groups = inputs.values[4], inputs.values[6] or 1
    cells = 1
    for axis in (0, 1):
        reach = dilation[axis] * (weight[2 + axis] - 1)
        around = reach if padding == "same" else 0 if padding == "valid" else 2 * _pair(padding)[axis]
        cells *= (image[2 + axis] + around - reach - 1) // stride[axis] + 1
    return 2 * image[0] * weight[0] * cells * image[1] * weight[2] * weight[3] // groups


def _pair(value: Any) -> tuple[int, int]:
    """An int, or a list of one or two, for the two axes of an image."""
    if isinstance(value, (tuple, list)):
        return (value[0], value[-1])
    return (value, value)


FORMULAS: dict[str, Callable[[InputDescription], int]] = {
    "aten::mm": lambda inputs: _matrix_product(inputs, 0, 1),
    "aten::bmm": lambda inputs: _matrix_product(inputs, 0, 1),
    "aten::addmm": lambda inputs: _matrix_product(inputs, 1, 2),
    "aten::baddbmm": lambda inputs: _matrix_product(inputs, 1, 2),
    "aten::conv2d": _conv2d,
    "aten::add": _first_operand,
    "aten::mul": _first_operand,
}


def flops_of(name: str, inputs: InputDescription | None) -> int:
    """The FLOPs of one call; 0 for operators without a formula, and for arguments that are not the operator's (in a
    loaded trace).
    """
    formula = FORMULAS.get(name)
    if formula is None or inputs is None or not inputs.shapes:
        return 0
    try:
        made = formula(inputs)
    except (IndexError, TypeError, ValueError, ZeroDivisionError):
        return 0
    return made if isinstance(made, int) and 0 <= made < 1 << 62 else 0


def flops_of_rows(store: EventStore) -> np.ndarray:
    """The FLOPs of every row, each formula evaluated once per distinct (name, arguments)."""
    counted = np.zeros(len(store), np.int64)
    has_formula = np.array([text in FORMULAS for text in store.strings] or [False])
    described = store.columns["inputs"]
    rows = np.flatnonzero(has_formula[store.name] & (described >= 0)) if len(store) else np.zeros(0, np.int64)
    if len(rows):
        pairs, which = np.unique(store.name[rows].astype(np.int64) << 32 | described[rows], return_inverse=True)
        values = [flops_of(store.strings[pair >> 32], store.inputs[pair & 0xFFFFFFFF]) for pair in pairs.tolist()]
        counted[rows] = np.array(values, np.int64)[which]
    return counted
