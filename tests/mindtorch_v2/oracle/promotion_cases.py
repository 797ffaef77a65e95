"""Result types of operations on all pairs of types, as tensors with dimensions, 0-dim tensors and Python numbers."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator
from typing import Any

DTYPES = (
    "bool",
    "uint8",
    "int8",
    "int16",
    "int32",
    "int64",
    "float16",
    "float32",
    "float64",
    "complex64",
    "complex128",
)
NUMBERS: tuple[Any, ...] = (True, 2, 1.5, 1j)
BINARY = (
    "add",
    "sub",
    "mul",
    "div",
    "true_divide",
    "floor_divide",
    "remainder",
    "fmod",
    "pow",
    "maximum",
    "atan2",
    "bitwise_and",
    "logical_and",
    "eq",
    "lt",
    "copysign",
    "xlogy",
    "float_power",
)
OPERATORS = (
    "__add__",
    "__radd__",
    "__sub__",
    "__rsub__",
    "__mul__",
    "__truediv__",
    "__rtruediv__",
    "__floordiv__",
    "__mod__",
    "__pow__",
    "__rpow__",
    "__eq__",
    "__ge__",
    "__and__",
    "__or__",
)
INPLACE = (
    "add_",
    "sub_",
    "mul_",
    "div_",
    "floor_divide_",
    "remainder_",
    "pow_",
    "eq_",
    "lt_",
    "bitwise_or_",
    "copysign_",
    "fill_",
    "copy_",
    "clamp_min_",
)


def _calls(torch: Any) -> Iterator[tuple[str, Callable[[Any, Any], Any]]]:
    """(name, function of a tensor and another operand)."""
    for name in BINARY:
        yield name, getattr(torch, name)
    for name in (*OPERATORS, *INPLACE):
        yield name, lambda a, b, name=name: getattr(torch.Tensor, name)(a.clone(), b)
    yield "result_type", lambda a, b: torch.result_type(a, b)
    yield "where", lambda a, b: torch.where(torch.ones((), dtype=torch.bool), a, b)
    yield "where_swapped", lambda a, b: torch.where(torch.ones((), dtype=torch.bool), b, a)
    yield "clamp", lambda a, b: torch.clamp(a, min=b)
    yield "lerp", lambda a, b: torch.lerp(a, a, b)
    yield "add_alpha", lambda a, b: torch.add(a, a, alpha=b)
    yield "cat", lambda a, b: torch.cat([a, b])
    yield "stack", lambda a, b: torch.stack([a, b])
    yield "masked_fill", lambda a, b: a.masked_fill(torch.ones((), dtype=torch.bool), b)
    yield "setitem", lambda a, b: a.__setitem__(..., b) or a
    yield "out", lambda a, b: torch.add(a, a, out=b)
    yield "matmul", lambda a, b: torch.matmul(a, b)
    yield "addcmul", lambda a, b: torch.addcmul(a, a, b)


def _operands(torch: Any) -> Iterator[tuple[str, list[Any], list[Any]]]:
    """(form, left operands, right operands); "t" is a tensor with a dimension, "z" one without, "n" a number."""
    for left, shape in (("t", (2,)), ("z", ())):
        lefts = [torch.ones(shape, dtype=getattr(torch, d)) for d in DTYPES]
        for right, other in (("t", (2,)), ("z", ())):
            yield left + right, lefts, [torch.ones(other, dtype=getattr(torch, d)) for d in DTYPES]
        yield left + "n", lefts, list(NUMBERS)


def answers(torch: Any) -> dict[str, Any]:
    """For every call and form a list of codes: the position of a type in DTYPES, or 100 + the position of an error
    text.
    """
    types = {getattr(torch, d): i for i, d in enumerate(DTYPES)}
    errors: list[str] = []

    def answer(call: Callable[[Any, Any], Any], a: Any, b: Any) -> int:
        b = b.clone() if isinstance(b, torch.Tensor) else b
        try:
            made = call(a.clone(), b)
        except Exception as error:  # noqa: BLE001 - the error is the answer
            text = f"{type(error).__name__}: {error}".split("\n")[0]
            if text not in errors:
                errors.append(text)
            return 100 + errors.index(text)
        if made is NotImplemented:
            return -1
        kind = made if isinstance(made, torch.dtype) else made.dtype
        # half-precision complex numbers exist in PyTorch only
        return types[torch.complex64 if str(kind) == "torch.complex32" else kind]

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        made = {
            f"{name} {form}": [answer(call, a, b) for a in lefts for b in rights]
            for name, call in _calls(torch)
            for form, lefts, rights in _operands(torch)
        }
        torch.set_default_dtype(torch.float64)
        try:
            double = {
                f"{name} {form} double": [answer(call, a, b) for a in lefts for b in rights]
                for name, call in _calls(torch)
                if name in ("add", "div", "where", "pow", "result_type")
                for form, lefts, rights in _operands(torch)
                if form.endswith("n")
            }
        finally:
            torch.set_default_dtype(torch.float32)
        unary = {
            name: [
                answer(lambda a, b, name=name: getattr(torch, name)(a), torch.ones(2, dtype=getattr(torch, d)), None)
                for d in DTYPES
            ]
            for name in (
                "sum",
                "prod",
                "mean",
                "cumsum",
                "exp",
                "abs",
                "neg",
                "sign",
                "floor",
                "sqrt",
                "sigmoid",
                "relu",
                "isnan",
                "logical_not",
                "bitwise_not",
                "max",
                "argmax",
                "any",
                "all",
                "std",
                "square",
                "reciprocal",
                "angle",
                "trunc",
            )
        }
    pairs = {
        "promote_types": [types[torch.promote_types(a, b)] for a in types for b in types],
        "can_cast": [int(torch.can_cast(a, b)) for a in types for b in types],
    }
    return {"codes": {**made, **double, **unary, **pairs}, "errors": errors}


def explain(recorded: dict[str, Any], key: str, index: int) -> str:
    """What stands at an index of a list of codes, in words."""
    code = recorded["codes"][key][index]
    if key in ("promote_types", "can_cast"):
        return str(code) if key == "can_cast" else DTYPES[code]
    return "NotImplemented" if code == -1 else recorded["errors"][code - 100] if code >= 100 else DTYPES[code]


def operands_of(key: str, index: int) -> str:
    """The operands behind an index, in words."""
    words = key.split()
    if len(words) == 1 and key not in ("promote_types", "can_cast"):
        return DTYPES[index]
    width = len(NUMBERS) if len(words) > 1 and words[1][1] == "n" else len(DTYPES)
    left, right = divmod(index, width)
    return f"{DTYPES[left]}, {NUMBERS[right] if width == len(NUMBERS) else DTYPES[right]}"
