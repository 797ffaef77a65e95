"""Numbers that a compiler knows only by name.

There are none here: functions work on Python's numbers, classes have no instances.
"""

from __future__ import annotations

import builtins
import math
from collections.abc import Sequence
from typing import Any, NoReturn


class _Symbolic:
    def __new__(cls, *args: Any, **kwargs: Any) -> NoReturn:
        raise RuntimeError(
            f"{cls.__name__} stands for a number that a compiler knows only by name; programs run eagerly here"
        )


class SymInt(_Symbolic):
    """An int that is known only by name. There is none; `isinstance(x, torch.SymInt)` is False."""


class SymFloat(_Symbolic):
    """A float that is known only by name. There is none."""


class SymBool(_Symbolic):
    """A bool that is known only by name. There is none."""


def sym_int(a: Any) -> int:
    """The number rounded towards zero.

    >>> torch.sym_int(-2.5)
    -2
    """
    return math.floor(a) if a >= 0 else math.ceil(a)


def sym_float(a: Any) -> float:
    """The number as a float.

    >>> torch.sym_float(2)
    2.0
    """
    return builtins.float(a)


def sym_not(a: Any) -> bool:
    """The negation of a bool.

    >>> torch.sym_not(True)
    False
    """
    return not a


def sym_max(a: Any, b: Any) -> Any:
    """The larger number; a float if one of them is.

    >>> torch.sym_max(1, 2.5)
    2.5
    """
    return builtins.float(builtins.max(a, b)) if isinstance(a, float) or isinstance(b, float) else builtins.max(a, b)


def sym_min(a: Any, b: Any) -> Any:
    """The smaller number; a float if one of them is.

    >>> torch.sym_min(1, 2.5)
    1.0
    """
    return builtins.float(builtins.min(a, b)) if isinstance(a, float) or isinstance(b, float) else builtins.min(a, b)


def sym_ite(b: Any, t: Any, f: Any) -> Any:
    """The second value if the first is True, else the third; both of one type.

    >>> torch.sym_ite(True, 1, 2)
    1
    """
    if not isinstance(b, bool) or type(t) is not type(f):
        raise AssertionError(f"expected a bool and two values of one type, got {type(b)}, {type(t)}, {type(f)}")
    return t if b else f


def sym_sum(args: Sequence[Any]) -> Any:
    """The sum of numbers.

    >>> torch.sym_sum([1, 2, 3])
    6
    """
    return builtins.sum(args)


def sym_sqrt(a: Any) -> float:
    """The square root.

    >>> torch.sym_sqrt(4)
    2.0
    """
    return math.sqrt(a)


def sym_fresh_size(expr: Any) -> NoReturn:
    """Refused: it names a size for a compiler."""
    raise NotImplementedError("torch.sym_fresh_size names a size for a compiler; programs run eagerly here")
