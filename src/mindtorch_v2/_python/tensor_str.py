"""How tensors are printed: `repr(t)` gives the very text that PyTorch gives.

A tensor is printed in one format: integers, fixed point, whole numbers with a point, or exponents. The
format and the column width depend on all elements that are printed; of large tensors only the edges are.
"""

from __future__ import annotations

import contextlib
import math
from collections.abc import Iterator
from dataclasses import asdict, dataclass, replace
from typing import Any

import numpy as np

from .. import _device
from .. import _dtype as dt
from .._dispatch.widening import widened_array
from .._tensor import Parameter, Tensor


@dataclass(frozen=True)
class PrintOptions:
    """What `set_printoptions` sets."""

    precision: int = 4
    threshold: float = 1000
    edgeitems: int = 3
    linewidth: int = 80
    sci_mode: bool | None = None


_options = PrintOptions()
_PROFILES = {
    "default": PrintOptions(),
    "short": PrintOptions(precision=2, edgeitems=2),
    "full": PrintOptions(threshold=math.inf),
}


def set_printoptions(
    precision: int | None = None,
    threshold: float | None = None,
    edgeitems: int | None = None,
    linewidth: int | None = None,
    profile: str | None = None,
    sci_mode: bool | None = None,
) -> None:
    """Sets digits after the point, the count of elements from which only edges are printed, how many elements an edge
    has, the width of lines, one of the profiles "default", "short" and "full", and whether exponents are used (None:
    as needed).

    >>> torch.set_printoptions(precision=2)
    >>> torch.tensor([1 / 3])
    tensor([0.33])
    >>> torch.set_printoptions(profile="default")
    """
    global _options
    start = _options
    if profile is not None:
        named = _PROFILES[profile]
        start = replace(
            start,
            precision=named.precision,
            threshold=named.threshold,
            edgeitems=named.edgeitems,
            linewidth=named.linewidth,
        )
    given = {"precision": precision, "threshold": threshold, "edgeitems": edgeitems, "linewidth": linewidth}
    _options = replace(start, sci_mode=sci_mode, **{k: v for k, v in given.items() if v is not None})  # type: ignore[arg-type]


def get_printoptions() -> dict[str, Any]:
    """The options in force."""
    return asdict(_options)


@contextlib.contextmanager
def printoptions(**options: Any) -> Iterator[None]:
    """Other options inside a block."""
    global _options
    before = _options
    set_printoptions(**options)
    try:
        yield
    finally:
        _options = before


# --- elements
class _Format:
    """The common format of some real numbers: its kind and the width of a column."""

    def __init__(self, values: np.ndarray) -> None:
        self.width = 1
        self.whole = True  # floating numbers without a fractional part
        self.exponents = False
        self.floating = values.dtype.kind == "f"
        if not self.floating:
            self.width = max((len(str(v)) for v in values.ravel().tolist()), default=1)
            return
        finite = values[np.isfinite(values) & (values != 0)]
        if finite.size:
            self._choose(finite)

    def _choose(self, finite: np.ndarray) -> None:
        """`finite`: the numbers that are neither zero nor infinite nor NaN."""
        self.whole = bool((finite == np.ceil(finite)).all())
        size = np.abs(finite.astype(np.float64))
        low, high = float(size.min()), float(size.max())
        needed = high / low > 1000 or high > 1e8 or (not self.whole and low < 1e-4)
        self.exponents = needed if _options.sci_mode is None else _options.sci_mode
        values = finite.tolist()
        if self.exponents:
            self.width = max(len(f"{v:.{_options.precision}e}") for v in values)
        elif self.whole:
            self.width = max(len(f"{v:.0f}") + 1 for v in values)
        else:
            self.width = max(len(f"{v:.{_options.precision}f}") for v in values)

    def text(self, value: Any) -> str:
        """One number, right-aligned in its column."""
        if not self.floating:
            text = str(value)
        elif self.exponents:
            text = f"{value:.{_options.precision}e}"
        elif self.whole:
            text = f"{value:.0f}" + ("." if math.isfinite(value) else "")
        else:
            text = f"{value:.{_options.precision}f}"
        return text.rjust(self.width)


class _ComplexFormat:
    """Real and imaginary parts, each in a format of its own."""

    def __init__(self, values: np.ndarray) -> None:
        self.real, self.imag = _Format(values.real), _Format(values.imag)
        self.width = self.real.width + self.imag.width + 1

    def text(self, value: complex) -> str:
        imag = self.imag.text(value.imag).lstrip() + "j"
        return self.real.text(value.real) + (imag if imag[0] in "+-" else "+" + imag)


# --- nesting
def _edges(array: np.ndarray) -> tuple[np.ndarray, list[bool]]:
    """The first and last elements along every dimension, and along which dimensions something was left out."""
    edge, cut = _options.edgeitems, []
    for d, n in enumerate(array.shape):
        cut.append(n > 2 * edge)
        if cut[-1]:
            array = np.take(array, [*range(edge), *range(n - edge, n)], d)
    return array, cut


def _row(array: np.ndarray, cut: bool, form: Any, indent: int) -> str:
    """A vector, broken into lines."""
    per_line = max(1, int((_options.linewidth - indent) // (form.width + 2)))
    items = [form.text(v) for v in array.tolist()]
    if cut:
        items.insert(_options.edgeitems, " ..." if _options.edgeitems else "...")
    lines = [", ".join(items[i : i + per_line]) for i in range(0, len(items), per_line)] or [""]
    return "[" + (",\n" + " " * (indent + 1)).join(lines) + "]"


def _format_nested(array: np.ndarray, cut: list[bool], form: Any, indent: int) -> str:
    if array.ndim == 0:
        return form.text(array.item())
    if array.ndim == 1:
        return _row(array, cut[0], form, indent)
    parts = [_format_nested(a, cut[1:], form, indent + 1) for a in array]
    if cut[0]:
        parts.insert(_options.edgeitems, "...")
    return "[" + ("," + "\n" * (array.ndim - 1) + " " * (indent + 1)).join(parts) + "]"


def _contents(array: np.ndarray, indent: int) -> str:
    """The elements of an array, in brackets."""
    if not array.size:
        return "[]"
    cut = [False] * array.ndim
    if array.size > _options.threshold:
        array, cut = _edges(array)
    array = widened_array(array)
    form = _ComplexFormat(array) if array.dtype.kind == "c" else _Format(array)
    return _format_nested(array, cut, form, indent)


# --- the whole
def _speaks_for_itself(kind: dt.dtype) -> bool:
    """Whether the elements tell the type."""
    default = dt.get_default_dtype()
    return kind in (default, default.to_complex(), dt.int64, dt.bool_)


def _suffixes(t: Tensor) -> list[str]:
    """What is printed about a tensor after its elements."""
    found = []
    if t.device.type != _device.get_default().type:
        found.append(f"device='{t.device}'")
    unseen = t.is_meta or t.numel() == 0
    if t.is_meta or (t.numel() == 0 and t.dim() != 1):
        found.append(f"size={tuple(t.shape)}")
    if t.dtype is not dt.get_default_dtype() if unseen else not _speaks_for_itself(t.dtype):
        found.append(f"dtype={t.dtype!r}")
    if t.grad_fn is not None:
        found.append(f"grad_fn=<{t.grad_fn.name().rsplit('::', 1)[-1]}>")
    elif t.requires_grad:
        found.append("requires_grad=True")
    return found


def _append_suffixes(text: str, suffixes: list[str], indent: int) -> str:
    """Appends the suffixes, each on a new line where the last line would grow too long."""
    last = len(text) - text.rfind("\n") + 1
    for suffix in suffixes:
        if last + len(suffix) + 2 > _options.linewidth:
            text += ",\n" + " " * indent + suffix
            last = indent + len(suffix)
        else:
            text += ", " + suffix
            last += len(suffix) + 2
    return text + ")"


def tensor_repr(t: Tensor, contents: str | None = None) -> str:
    """The text of a tensor. `contents` stands in for its elements if given."""
    kind = type(t)
    prefix = "tensor(" if kind is Tensor or kind is Parameter else f"{kind.__name__}("
    if contents is None:
        contents = "..." if t.is_meta else _contents(t._array if t.is_cpu else t.detach().cpu()._array, len(prefix))
    text = _append_suffixes(prefix + contents, _suffixes(t), len(prefix))
    if not isinstance(t, Parameter):
        return text
    return f"Parameter containing:\n{text if kind is Parameter else f'Parameter({text})'}"
