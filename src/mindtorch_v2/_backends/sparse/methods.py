"""How calls reach the handlers: through `__torch_function__` and as methods of sparse tensors."""

from __future__ import annotations

from typing import Any

from ..._dispatch import aten
from ..._tensor import sparse_coo
from . import reduction  # noqa: F401 - registers its handlers
from .arithmetic import add, add_, div, mul, mul_, power, sub
from .conversion import coalesce
from .handlers import HANDLERS
from .products import matmul
from .shapes import matrix_transpose, select, t
from .tensor import SparseTensor

# Functions of zero that are zero: they change the values only.
_ELEMENTWISE = (
    "neg",
    "abs",
    "sqrt",
    "sin",
    "tan",
    "tanh",
    "sinh",
    "asin",
    "asinh",
    "atan",
    "atanh",
    "expm1",
    "log1p",
    "relu",
    "sign",
    "sgn",
    "floor",
    "ceil",
    "round",
    "trunc",
    "erf",
    "erfinv",
    "square",
    "positive",
    "deg2rad",
    "rad2deg",
    "negative",
    "conj",
    "real",
    "imag",
    "nan_to_num",
    "isnan",
    "isinf",
)


def call(name: str, args: Any, kwargs: dict[str, Any]) -> Any:
    """The operator `name` where at least one argument is sparse."""
    short = name[2:-2] if name.startswith("__") and name.endswith("__") else name
    handler = HANDLERS.get(short)
    if handler is None and short in _ELEMENTWISE:
        source = coalesce(args[0]) if args[0].layout is sparse_coo else args[0]
        return source._with_values(getattr(aten, short)(source._parts[-1], *args[1:], **kwargs))
    if handler is None:
        raise NotImplementedError(f"{name}: no implementation for sparse tensors; call .to_dense() first")
    if "input" in kwargs:
        args, kwargs = (kwargs["input"], *args), {k: v for k, v in kwargs.items() if k != "input"}
    return handler(*args, **kwargs)


_OPERATORS = {
    "__add__": add,
    "__radd__": add,
    "__sub__": sub,
    "__mul__": mul,
    "__rmul__": mul,
    "__truediv__": div,
    "__matmul__": matmul,
    "__rmatmul__": lambda self, other: matmul(other, self),
    "__iadd__": add_,
    "__isub__": HANDLERS["sub_"],
    "__imul__": mul_,
    "__itruediv__": HANDLERS["div_"],
    "__pow__": power,
    "__getitem__": select,
    "__neg__": lambda self: self.neg(),
    "__rsub__": lambda self, other: add(other, self, alpha=-1),
}


def _method(name: str) -> Any:
    def method(self: Any, *args: Any, **kwargs: Any) -> Any:
        return call(name, (self, *args), kwargs)

    method.__name__ = name
    return method


def _install() -> None:
    """Every function is a method of sparse tensors, too."""
    for name in (*HANDLERS, *_ELEMENTWISE):
        if name not in ("T", "mT", "cat", "concat", "getitem", "real", "imag") and name not in SparseTensor.__dict__:
            setattr(SparseTensor, name, _method(name))
    for name, function in _OPERATORS.items():
        setattr(SparseTensor, name, function)
    SparseTensor.T = property(t)  # type: ignore[assignment]
    SparseTensor.mT = property(matrix_transpose)  # type: ignore[assignment]


_install()
