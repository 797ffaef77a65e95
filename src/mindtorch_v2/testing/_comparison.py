"""`assert_close`: compares tensors, numbers, and sequences and mappings of them."""

from __future__ import annotations

import cmath
import math
import warnings
from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from .._tensor import Tensor

# (relative, absolute) tolerance by dtype; integers and bools must be equal.
_TOLERANCES = {
    "float16": (1e-3, 1e-5),
    "bfloat16": (1.6e-2, 1e-5),
    "float32": (1.3e-6, 1e-5),
    "float64": (1e-7, 1e-7),
    "complex32": (1e-3, 1e-5),
    "complex64": (1.3e-6, 1e-5),
    "complex128": (1e-7, 1e-7),
}


class Rules(NamedTuple):
    """How two values are compared."""

    rtol: float | None
    atol: float | None
    equal_nan: bool
    check_device: bool
    check_dtype: bool
    check_layout: bool
    check_stride: bool
    allow_subclasses: bool


class _Mismatch(Exception):
    """The text of the failure, and the steps that lead to where it was found."""

    def __init__(self, error: type[Exception], text: str, path: tuple[Any, ...]) -> None:
        super().__init__(text)
        self.error, self.text, self.path = error, text, path


def _tolerances(rules: Rules, *dtypes: Any) -> tuple[float, float]:
    if rules.rtol is not None and rules.atol is not None:
        return rules.rtol, rules.atol
    known = [_TOLERANCES.get(str(d).removeprefix("torch."), (0.0, 0.0)) for d in dtypes]
    return max(k[0] for k in known), max(k[1] for k in known)


def _attributes(actual: Tensor, expected: Tensor, rules: Rules, path: tuple[Any, ...]) -> None:
    def check(name: str, a: Any, b: Any) -> None:
        if a != b:
            raise _Mismatch(AssertionError, f"The values for attribute '{name}' do not match: {a} != {b}.", path)

    check("shape", actual.shape, expected.shape)
    if rules.check_layout:
        check("layout", actual.layout, expected.layout)
    if rules.check_device:
        check("device", actual.device, expected.device)
    if rules.check_dtype:
        check("dtype", actual.dtype, expected.dtype)
    if rules.check_stride:
        check("stride()", actual.stride(), expected.stride())


def _dense(t: Tensor) -> Any:
    made: Any = t.detach()
    if str(made.layout) != "torch.strided":
        made = made.to_dense()
    return made.cpu()


def _compare_tensors(actual: Tensor, expected: Tensor, rules: Rules, path: tuple[Any, ...]) -> None:
    if not rules.allow_subclasses and type(actual) is not type(expected):
        raise _Mismatch(
            TypeError,
            f"No comparison pair was able to handle inputs of type {type(actual)} and {type(expected)}.",
            path,
        )
    _attributes(actual, expected, rules, path)
    if actual.is_meta or expected.is_meta:
        return
    rtol, atol = _tolerances(rules, actual.dtype, expected.dtype)
    from .._ops.rules import result_type

    common = result_type(actual, expected)
    a, b = _dense(actual).to(common), _dense(expected).to(common)
    close = _wide(a.isclose(b, rtol=rtol, atol=atol, equal_nan=rules.equal_nan)) if common.inexact else _wide(a == b)
    if not close.all():
        text = _scalar_text if actual.dim() == 0 else _tensor_text
        raise _Mismatch(AssertionError, text(_wide(a), _wide(b), close, rtol, atol, rules), path)


def _wide(t: Any) -> np.ndarray:
    """The elements in a type in which differences do not overflow."""
    kind = str(t.dtype)
    if "bool" in kind:
        return t.numpy()
    if "bfloat16" in kind or "float8" in kind:
        t = t.float()
    array = t.numpy()
    return array.astype(np.int64) if array.dtype.kind in "iu" and array.dtype != np.uint64 else array


def _differences(a: np.ndarray, b: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    with np.errstate(all="ignore"):
        if a.dtype == bool:
            a, b = a.astype(np.int64), b.astype(np.int64)
        absolute = np.abs(a - b)
        return absolute, absolute / np.abs(b)


def _tensor_text(a: np.ndarray, b: np.ndarray, close: np.ndarray, rtol: float, atol: float, rules: Rules) -> str:
    absolute, relative = _differences(a, b)
    equality = rtol == 0 and atol == 0
    # Where values agree the difference does not count, though it may be a NaN of two infinities.
    absolute, relative = (
        np.where(close, np.zeros_like(absolute), absolute),
        np.where(close, np.zeros_like(relative), relative),
    )
    lines = [
        f"Tensor-likes are not {'equal' if equality else 'close'}!",
        "",
        f"Mismatched elements: {int((~close).sum())} / {close.size} ({(~close).mean():.1%})",
    ]
    for word, values, allowed in (("absolute", absolute, atol), ("relative", relative, rtol)):
        index = np.unravel_index(int(values.argmax()), values.shape)
        at = f" (up to {allowed} allowed)" if not equality else ""
        lines.append(f"Greatest {word} difference: {values[index].item()} at index {tuple(int(i) for i in index)}{at}")
    return "\n".join(lines)


def _scalar_text(a: Any, b: Any, close: Any, rtol: float, atol: float, rules: Rules) -> str:
    return _numbers_text(a.item(), b.item(), rtol, atol)


def _numbers_text(a: Any, b: Any, rtol: float, atol: float) -> str:
    equality = rtol == 0 and atol == 0
    absolute = abs(a - b)
    relative = math.inf if b == 0 else absolute / abs(b)
    up_to = ("", "") if equality else (f" (up to {atol} allowed)", f" (up to {rtol} allowed)")
    return (
        f"Scalars are not {'equal' if equality else 'close'}!\n\nExpected {b} but got {a}.\n"
        f"Absolute difference: {absolute}{up_to[0]}\nRelative difference: {relative}{up_to[1]}"
    )


def _compare_numbers(actual: Any, expected: Any, rules: Rules, path: tuple[Any, ...]) -> None:
    if rules.check_dtype and type(actual) is not type(expected):
        raise _Mismatch(AssertionError, f"The (d)types do not match: {type(actual)} != {type(expected)}.", path)
    kinds = [
        "complex128" if isinstance(x, complex) else "float64" if isinstance(x, float) else "int64"
        for x in (actual, expected)
    ]
    rtol, atol = _tolerances(rules, *kinds)
    if actual == expected or rules.equal_nan and cmath.isnan(actual) and cmath.isnan(expected):
        return
    difference = abs(actual - expected)
    if not (cmath.isfinite(difference) and difference <= atol + rtol * abs(expected)):
        raise _Mismatch(AssertionError, _numbers_text(actual, expected, rtol, atol), path)


def _compare_mappings(actual: Any, expected: Any, rules: Rules, path: tuple[Any, ...]) -> None:
    missing, extra = expected.keys() - actual.keys(), actual.keys() - expected.keys()
    if missing or extra:
        raise _Mismatch(
            AssertionError,
            f"The keys of the mappings do not match:\nMissing keys in the actual mapping: {sorted(missing)}\n"
            f"Additional keys in the actual mapping: {sorted(extra)}",
            path,
        )
    for key in sorted(actual) if all(isinstance(k, str) for k in actual) else actual:
        _compare(actual[key], expected[key], rules, (*path, key))


def _compare_sequences(actual: Any, expected: Any, rules: Rules, path: tuple[Any, ...]) -> None:
    if len(actual) != len(expected):
        raise _Mismatch(AssertionError, f"The length of the sequences mismatch: {len(actual)} != {len(expected)}", path)
    for i, (a, b) in enumerate(zip(actual, expected)):
        _compare(a, b, rules, (*path, i))


def _is_number(x: Any) -> bool:
    return isinstance(x, (int, float, complex, np.number)) and not isinstance(x, (bool, np.bool_))


def _compare(actual: Any, expected: Any, rules: Rules, path: tuple[Any, ...] = ()) -> None:
    def both(kind: Any) -> bool:
        return isinstance(actual, kind) and isinstance(expected, kind)

    if both(Tensor):
        _compare_tensors(actual, expected, rules, path)
    elif both(np.ndarray):
        from .._python.creation import from_numpy

        _compare_tensors(from_numpy(actual), from_numpy(expected), rules, path)
    elif actual is None or expected is None:
        if actual is not expected:
            raise _Mismatch(AssertionError, f"None mismatch: {actual} is not {expected}", path)
    elif both((bool, np.bool_)):
        if bool(actual) is not bool(expected):
            raise _Mismatch(AssertionError, f"Booleans mismatch: {actual} is not {expected}", path)
    elif _is_number(actual) and _is_number(expected):
        _compare_numbers(_python(actual), _python(expected), rules, path)
    elif both(Mapping):
        _compare_mappings(actual, expected, rules, path)
    elif both(Sequence) and not isinstance(actual, str) and not isinstance(expected, str):
        _compare_sequences(actual, expected, rules, path)
    else:
        raise _Mismatch(
            TypeError,
            f"No comparison pair was able to handle inputs of type {type(actual)} and {type(expected)}.",
            path,
        )


def _python(x: Any) -> Any:
    return x.item() if isinstance(x, np.generic) else x


def assert_close(
    actual: Any,
    expected: Any,
    *,
    allow_subclasses: bool = True,
    rtol: float | None = None,
    atol: float | None = None,
    equal_nan: bool = False,
    check_device: bool = True,
    check_dtype: bool = True,
    check_layout: bool = True,
    check_stride: bool = False,
    msg: str | Callable[[str], str] | None = None,
) -> None:
    """Raises AssertionError unless `|actual - expected| <= atol + rtol * |expected|` everywhere, saying where they
    differ most.

    Tolerances depend on the dtype unless both are given. Sequences and mappings are compared item by item.

    >>> torch.testing.assert_close(torch.tensor(1.), torch.tensor(1. + 1e-7))
    >>> try:
    ...     torch.testing.assert_close(torch.ones(2), torch.zeros(2))
    ... except AssertionError as error:
    ...     print(str(error).splitlines()[0])
    Tensor-likes are not close!
    """
    if (rtol is None) != (atol is None):
        raise ValueError(
            "Both 'rtol' and 'atol' must be either specified or omitted, but got no "
            f"{'rtol' if rtol is None else 'atol'}."
        )
    rules = Rules(rtol, atol, equal_nan, check_device, check_dtype, check_layout, check_stride, allow_subclasses)
    try:
        _compare(actual, expected, rules)
    except _Mismatch as found:
        where = "".join(f"[{step!r}]" for step in found.path)
        text = found.text + (f"\n\nThe failure occurred for item {where}" if where else "")
        if msg is not None and found.error is AssertionError:
            text = msg(text) if callable(msg) else msg
        raise found.error(text) from None


def assert_allclose(
    actual: Any,
    expected: Any,
    rtol: float | None = None,
    atol: float | None = None,
    equal_nan: bool = True,
    msg: str = "",
) -> None:
    """The predecessor of `assert_close`: types and devices may differ.

    >>> torch.testing.assert_allclose(torch.tensor([1., 2.]), [1, 2])
    """
    warnings.warn(
        "`torch.testing.assert_allclose()` is deprecated since 1.12 and will be removed in a future release. Please "
        "use `torch.testing.assert_close()` instead.",
        FutureWarning,
        stacklevel=2,
    )
    from .._python.creation import as_tensor

    a = actual if isinstance(actual, Tensor) else as_tensor(actual)
    b = expected if isinstance(expected, Tensor) else as_tensor(expected, dtype=a.dtype)
    if rtol is None and atol is None:
        rtol, atol = max(
            _tolerances(Rules(None, None, True, False, False, False, False, True), t.dtype) for t in (a, b)
        )
    assert_close(
        a,
        b,
        rtol=rtol,
        atol=atol,
        equal_nan=equal_nan,
        check_device=True,
        check_dtype=False,
        check_stride=False,
        msg=msg or None,
    )
