"""PyTorch's error for a type that a kernel does not support."""
from __future__ import annotations

import numpy as np

_WORDS = {"?": "Bool", "B": "Byte", "b": "Char", "h": "Short", "i": "Int", "l": "Long", "q": "Long", "e": "Half", "f": "Float",
          "d": "Double", "F": "ComplexFloat", "D": "ComplexDouble"}


def type_word(array: np.ndarray) -> str:
    """The name of an array's element type in PyTorch's errors: Float, Long, ..."""
    return _WORDS[array.dtype.char]


def not_implemented(name: str, array: np.ndarray) -> NotImplementedError:
    """The error to raise; `name` is that of PyTorch's kernel, such as "gcd_cpu"."""
    return NotImplementedError(f"\"{name}\" not implemented for '{type_word(array)}'")
