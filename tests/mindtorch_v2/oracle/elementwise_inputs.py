"""Inputs of the cases of the elementwise family."""

from __future__ import annotations

SPECIAL = [float("inf"), float("-inf"), float("nan"), 0.0, -0.0, 1.0, -1.0, 0.5, 2.5, -2.5, 1e30]

# two operands: name -> range of good inputs
BINARY = {
    "add": (-2, 2),
    "sub": (-2, 2),
    "mul": (-2, 2),
    "div": (0.5, 3),
    "floor_divide": (0.5, 5),
    "remainder": (-5, 5),
    "fmod": (-5, 5),
    "pow": (0.3, 2.5),
    "maximum": (-2, 2),
    "minimum": (-2, 2),
    "fmax": (-2, 2),
    "fmin": (-2, 2),
    "atan2": (-2, 2),
    "hypot": (-2, 2),
    "logaddexp": (-3, 3),
    "logaddexp2": (-3, 3),
    "xlogy": (0.2, 3),
    "copysign": (-2, 2),
    "true_divide": (0.5, 3),
    "float_power": (0.3, 2.5),
    "subtract": (-2, 2),
    "multiply": (-2, 2),
    "divide": (0.5, 2),
    "arctan2": (-2, 2),
    "nextafter": (-2, 2),
    "ldexp": (-2, 2),
}
NO_GRADIENT = {"floor_divide"}
