"""The functions of `torch.masked`.

Every function takes a boolean `mask` that can be expanded to the input's shape: True marks the elements that count,
None counts all of them. `dtype` is the type of the result, to which the input is cast first. A reduction that no
element takes part in gives the value that it starts from (0 for a sum, -inf for a maximum), or NaN where there is none
(a mean).
"""

from __future__ import annotations

from collections.abc import Sequence

from .. import _dtype as dt
from .._dispatch.namespace import public
from .._shape import normalize_dims
from .._tensor import Tensor, strided

__all__ = [
    "amax",
    "amin",
    "argmax",
    "argmin",
    "cumprod",
    "cumsum",
    "log_softmax",
    "logaddexp",
    "logsumexp",
    "mean",
    "median",
    "norm",
    "normalize",
    "prod",
    "softmax",
    "softmin",
    "std",
    "sum",
    "var",
]

Dims = int | Sequence[int] | None


def _dims(dim: Dims, ndim: int) -> tuple[int, ...]:
    """The dimensions to reduce, as numbers from 0; none given means all."""
    if dim is None or dim == ():
        return tuple(range(ndim))
    return normalize_dims(dim, ndim)


def _expanded(input: Tensor, mask: Tensor) -> Tensor:
    """The mask in the input's shape; IndexError if it has more dimensions, RuntimeError if its sizes do not fit."""
    if mask.dim() > input.dim():
        raise IndexError("_input_mask expected broadcastable mask (got mask dimensionality higher than of the input)")
    return mask.to(dt.bool).expand(input.shape)


def _filled(input: Tensor, mask: Tensor | None, value: float) -> Tensor:
    """The input, with `value` where the mask is False."""
    if input.layout is not strided:
        raise NotImplementedError(f"masked functions take strided tensors, got {input.layout}; call .to_dense() first")
    return input if mask is None else public.where(_expanded(input, mask), input, value)


def _lowest(name: str, kind: dt.dtype) -> float:
    """What a maximum starts from, in this type."""
    if kind is dt.bool:
        raise NotImplementedError(f"identity of {name} on {kind} input")
    return -float("inf") if kind.is_floating_point else dt.iinfo(kind).min


def _highest(name: str, kind: dt.dtype) -> float:
    """What a minimum starts from, in this type."""
    if kind is dt.bool:
        raise NotImplementedError(f"identity of {name} on {kind} input")
    return float("inf") if kind.is_floating_point else dt.iinfo(kind).max


def _summed_type(input: Tensor, dtype: dt.dtype | None) -> dt.dtype:
    """The type of a sum or product: int64 for all integers."""
    if dtype is not None:
        return dtype
    return input.dtype if input.dtype.is_floating_point or input.dtype.is_complex else dt.int64


def sum(
    input: Tensor, dim: Dims = None, *, keepdim: bool = False, dtype: dt.dtype | None = None, mask: Tensor | None = None
) -> Tensor:
    """The sum over dimensions of the elements that the mask marks; 0 where it marks none. Integers are summed as
    int64."""
    kind = _summed_type(input, dtype)
    return public.sum(_filled(input.to(kind), mask, 0), _dims(dim, input.dim()), keepdim=keepdim, dtype=kind)


def prod(
    input: Tensor, dim: Dims = None, *, keepdim: bool = False, dtype: dt.dtype | None = None, mask: Tensor | None = None
) -> Tensor:
    """The product over dimensions of the elements that the mask marks; 1 where it marks none. Integers are multiplied
    as int64."""
    result = _filled(input.to(_summed_type(input, dtype)), mask, 1)
    for d in sorted(_dims(dim, input.dim()), reverse=True):
        result = result.prod(dim=d, keepdim=keepdim)
    return result


def amax(
    input: Tensor, dim: Dims = None, *, keepdim: bool = False, dtype: dt.dtype | None = None, mask: Tensor | None = None
) -> Tensor:
    """The maximum over dimensions of the elements that the mask marks; the type's lowest value where it marks none."""
    kind = dtype or input.dtype
    return public.amax(_filled(input.to(kind), mask, _lowest("amax", kind)), _dims(dim, input.dim()), keepdim=keepdim)


def amin(
    input: Tensor, dim: Dims = None, *, keepdim: bool = False, dtype: dt.dtype | None = None, mask: Tensor | None = None
) -> Tensor:
    """The minimum over dimensions of the elements that the mask marks; the type's highest value where it marks none."""
    kind = dtype or input.dtype
    return public.amin(_filled(input.to(kind), mask, _highest("amin", kind)), _dims(dim, input.dim()), keepdim=keepdim)


def argmax(
    input: Tensor,
    dim: int | None = None,
    *,
    keepdim: bool = False,
    dtype: dt.dtype | None = None,
    mask: Tensor | None = None,
) -> Tensor:
    """Where the maximum of the marked elements lies along `dim` (None: in the flattened input), in the input's type."""
    kind = dtype or input.dtype
    return public.argmax(_filled(input.to(kind), mask, _lowest("argmax", kind)), dim, keepdim=keepdim).to(kind)


def argmin(
    input: Tensor,
    dim: int | None = None,
    *,
    keepdim: bool = False,
    dtype: dt.dtype | None = None,
    mask: Tensor | None = None,
) -> Tensor:
    """Where the minimum of the marked elements lies along `dim` (None: in the flattened input), in the input's type."""
    kind = dtype or input.dtype
    return public.argmin(_filled(input.to(kind), mask, _highest("argmin", kind)), dim, keepdim=keepdim).to(kind)


def mean(
    input: Tensor, dim: Dims = None, *, keepdim: bool = False, dtype: dt.dtype | None = None, mask: Tensor | None = None
) -> Tensor:
    """The mean over dimensions of the elements that the mask marks; NaN where it marks none."""
    kind = dtype or input.dtype
    if not (kind.is_floating_point or kind.is_complex):
        raise ValueError(
            f"mean(): Could not infer output dtype. Input dtype must be either a floating point or complex dtype. "
            f"Got: {kind}"
        )
    dims = _dims(dim, input.dim())
    counted = public.ones_like(input, dtype=dt.bool) if mask is None else _expanded(input, mask)
    count = counted.sum(dims, keepdim=keepdim, dtype=kind)
    return public.sum(_filled(input.to(kind), mask, 0), dims, keepdim=keepdim) / count


def median(
    input: Tensor, dim: int = -1, *, keepdim: bool = False, dtype: dt.dtype | None = None, mask: Tensor | None = None
) -> Tensor:
    """The lower median along `dim` of the elements that the mask marks, NaNs left out; NaN where it marks none.
    ValueError if that happens in a type that has no NaN."""
    kind = dtype or input.dtype
    x = input.to(kind)
    if not kind.is_floating_point:
        if mask is not None and not bool(_expanded(input, mask).any(dim).all()):
            raise ValueError("masked median expects no fully masked out rows if dtype is not floating point")
        x = x.to(dt.float32)
    return public.nanmedian(_filled(x, mask, float("nan")), dim, keepdim).values.to(kind)


def logsumexp(
    input: Tensor, dim: Dims = None, *, keepdim: bool = False, dtype: dt.dtype | None = None, mask: Tensor | None = None
) -> Tensor:
    """log(sum(exp(x))) over dimensions, of the elements that the mask marks; -inf where it marks none."""
    kind = dtype or input.dtype
    start = -float("inf") if kind.is_complex else _lowest("logsumexp", kind)
    return public.logsumexp(_filled(input.to(kind), mask, start), _dims(dim, input.dim()), keepdim=keepdim).to(kind)


def logaddexp(
    input: Tensor,
    other: Tensor,
    *,
    dtype: dt.dtype | None = None,
    input_mask: Tensor | None = None,
    other_mask: Tensor | None = None,
) -> Tensor:
    """log(exp(input) + exp(other)) elementwise; an element that its mask does not mark adds nothing."""
    kind = dtype or input.dtype
    start = _lowest("logaddexp", kind)
    return public.logaddexp(_filled(input.to(kind), input_mask, start), _filled(other.to(kind), other_mask, start)).to(
        kind
    )


def norm(
    input: Tensor,
    ord: float = 2.0,
    dim: Dims = None,
    *,
    keepdim: bool = False,
    dtype: dt.dtype | None = None,
    mask: Tensor | None = None,
) -> Tensor:
    """The vector norm of order `ord` over dimensions, of the elements that the mask marks; the others count as 0, or as
    infinite for `ord=-inf`."""
    kind = dtype or input.dtype
    start = float("inf") if ord == -float("inf") else 0.0
    if not (kind.is_floating_point or kind.is_complex):
        start = 0
    return public.linalg_vector_norm(
        _filled(input.to(kind), mask, start), ord, _dims(dim, input.dim()), keepdim, dtype=dtype
    )


def _deviations(
    input: Tensor,
    dim: Dims,
    unbiased: bool | None,
    correction: float | None,
    keepdim: bool,
    dtype: dt.dtype | None,
    mask: Tensor | None,
) -> Tensor:
    """The variance: squared distances from the mean, added up and divided by the number of marked elements less the
    correction."""
    if unbiased is not None and correction is not None:
        raise AssertionError("Only one of unbiased and correction may be given")
    less = correction if correction is not None else 1 if unbiased is None else int(unbiased)
    kind = dtype or input.dtype
    if kind is dt.bool:
        raise RuntimeError(
            "Subtraction, the `-` operator, with a bool tensor is not supported. If you are trying to invert a mask, "
            "use the `~` or `logical_not()` operator instead."
        )
    if not (kind.is_floating_point or kind.is_complex):
        kind = dt.float32
    dims, x = _dims(dim, input.dim()), _filled(input.to(kind), None, 0)
    if mask is None:
        count = public.ones_like(x, dtype=kind).sum(dims, keepdim=True)
    else:
        count = _expanded(input, mask).sum(dims, keepdim=True, dtype=kind)
    centre = _filled(x, mask, 0).sum(dims, keepdim=True) / count
    away = _filled(x - centre, mask, 0)
    total = (away * away.conj()).sum(dims, keepdim=keepdim)
    divisor = count if keepdim else count.reshape(total.shape)
    return total / (divisor - less if kind.is_complex else (divisor - less).clamp(min=0))


def var(
    input: Tensor,
    dim: Dims = None,
    unbiased: bool | None = None,
    *,
    correction: float | None = None,
    keepdim: bool = False,
    dtype: dt.dtype | None = None,
    mask: Tensor | None = None,
) -> Tensor:
    """The variance over dimensions of the elements that the mask marks; NaN where it marks none."""
    return _deviations(input, dim, unbiased, correction, keepdim, dtype, mask)


def std(
    input: Tensor,
    dim: Dims = None,
    unbiased: bool | None = None,
    *,
    correction: float | None = None,
    keepdim: bool = False,
    dtype: dt.dtype | None = None,
    mask: Tensor | None = None,
) -> Tensor:
    """The standard deviation over dimensions of the elements that the mask marks; NaN where it marks none."""
    return _deviations(input, dim, unbiased, correction, keepdim, dtype, mask).sqrt()


def cumsum(input: Tensor, dim: int, *, dtype: dt.dtype | None = None, mask: Tensor | None = None) -> Tensor:
    """Running sums along `dim`; elements that the mask does not mark add nothing."""
    kind = dtype or input.dtype
    return public.cumsum(_filled(input.to(kind), mask, 0), dim, dtype=kind)


def cumprod(input: Tensor, dim: int, *, dtype: dt.dtype | None = None, mask: Tensor | None = None) -> Tensor:
    """Running products along `dim`; elements that the mask does not mark count as 1."""
    kind = dtype or input.dtype
    return public.cumprod(_filled(input.to(kind), mask, 1), dim, dtype=kind)


def softmax(input: Tensor, dim: int, *, dtype: dt.dtype | None = None, mask: Tensor | None = None) -> Tensor:
    """Softmax along `dim` over the elements that the mask marks; the others are 0, or NaN where a row has none."""
    kind = dtype or input.dtype
    return public.softmax(_filled(input.to(kind), mask, _lowest("amax", kind)), dim)


def log_softmax(input: Tensor, dim: int, *, dtype: dt.dtype | None = None, mask: Tensor | None = None) -> Tensor:
    """The logarithm of `softmax`; -inf for elements that the mask does not mark."""
    kind = dtype or input.dtype
    return public.log_softmax(_filled(input.to(kind), mask, _lowest("amax", kind)), dim)


def softmin(input: Tensor, dim: int, *, dtype: dt.dtype | None = None, mask: Tensor | None = None) -> Tensor:
    """Softmax of the negated input along `dim`, over the elements that the mask marks; the others are 0."""
    kind = dtype or input.dtype
    return public.softmax(-_filled(input.to(kind), mask, _highest("amin", kind)), dim)


def normalize(
    input: Tensor,
    ord: float,
    dim: int,
    *,
    eps: float = 1e-12,
    dtype: dt.dtype | None = None,
    mask: Tensor | None = None,
) -> Tensor:
    """The input divided by its norm of order `ord` along `dim`, of at least `eps`; 0 for elements that the mask does
    not mark."""
    kind = dtype or input.dtype
    length = norm(input, ord, dim, keepdim=True, dtype=dtype, mask=mask)
    return _filled(input.to(kind), mask, 0) / length.clamp(min=eps)
