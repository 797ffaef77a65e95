"""Numerical functions of `torch` that are written with operators: gradients of samples, low-rank factors, positions."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from .. import _dtype as dt
from .._dispatch.namespace import public
from .._dispatch.overrides import overridable
from .._dispatch.return_types import named_outputs
from .._shape import normalize_dim
from .._tensor import Tensor

__all__ = ["gradient", "histogramdd", "lu", "pca_lowrank", "svd_lowrank", "get_low_rank_basis", "unravel_index"]


def _slope(y: Tensor, dim: int, spacing: Any, edge_order: int) -> Tensor:
    """Differences of second order inside and of `edge_order` at the ends, at points that are evenly spaced or given."""
    n = y.shape[dim]
    if n < edge_order + 1:
        raise RuntimeError("torch.gradient expected each dimension size to be at least edge_order+1")

    def at(low: int, high: int) -> Tensor:
        return y.narrow(dim, low, high - low)

    if isinstance(spacing, Tensor):
        shape = [1] * y.dim()
        shape[dim] = -1
        steps = spacing.diff()
        before, after = steps[:-1].reshape(shape), steps[1:].reshape(shape)
        inner = (
            at(0, n - 2) * -after / (before * (before + after))
            + at(1, n - 1) * (after - before) / (before * after)
            + at(2, n) * before / (after * (before + after))
        )
        first, second, beyond, last = (
            steps[0],
            steps[1] if n > 2 else steps[0],
            steps[-2] if n > 2 else steps[-1],
            steps[-1],
        )
    else:
        inner = (at(2, n) - at(0, n - 2)) / (2 * spacing)
        first = second = beyond = last = spacing
    if edge_order == 1:
        ends = (at(1, 2) - at(0, 1)) / first, (at(n - 1, n) - at(n - 2, n - 1)) / last
    else:
        ends = (
            at(0, 1) * -(2 * first + second) / (first * (first + second))
            + at(1, 2) * (first + second) / (first * second)
            - at(2, 3) * first / (second * (first + second)),
            at(n - 3, n - 2) * last / (beyond * (beyond + last))
            - at(n - 2, n - 1) * (beyond + last) / (beyond * last)
            + at(n - 1, n) * (beyond + 2 * last) / (last * (beyond + last)),
        )
    return public.cat([ends[0], inner, ends[1]], dim)


def gradient(input: Tensor, *, spacing: Any = 1, dim: Any = None, edge_order: int = 1) -> tuple[Tensor, ...]:
    """The derivatives along dimensions of a function that was sampled: one tensor, of the input's shape, for every
    dimension.

    spacing     the distance of neighbouring samples, for all or for each dimension, or the coordinates of the samples.
    edge_order  the order of the differences at the ends, 1 or 2.

    >>> torch.gradient(torch.tensor([1., 4., 9.]))[0]
    tensor([3., 4., 5.])
    """
    if edge_order not in (1, 2):
        raise RuntimeError("torch.gradient only supports edge_order=1 and edge_order=2.")
    dims = (
        list(range(input.dim()))
        if dim is None
        else [normalize_dim(d, input.dim()) for d in ([dim] if isinstance(dim, int) else dim)]
    )
    if len(set(dims)) != len(dims):
        raise RuntimeError(
            "dim " + str(next(d for d in dims if dims.count(d) > 1)) + " appears multiple times in the list of dims"
        )
    spacing = 1 if spacing is None else spacing
    given = (
        list(spacing)
        if isinstance(spacing, (list, tuple))
        else [spacing] * (1 if isinstance(spacing, Tensor) else len(dims))
    )
    if len(given) != len(dims):
        raise RuntimeError(
            f"torch.gradient expected spacing to be unspecified, a scalar, or a list of length equal to 'self.dim() = "
            f"{input.dim()}', since dim argument was not given, but got a list of length {len(given)}"
            if dim is None
            else "torch.gradient expected spacing to be unspecified, a scalar or it's spacing and dim arguments to "
            "have the "
            f"same length, but got a spacing argument of length {len(given)} and a dim argument of length {len(dims)}."
        )
    source = input if input.dtype.inexact else input.to(dt.get_default_dtype())
    return tuple([_slope(source, d, s, edge_order) for d, s in zip(dims, given)])


def _segment_reduce(data: Tensor, reduce: str, **options: Any) -> Tensor:
    """`torch.segment_reduce` under the name that libraries use."""
    return public.segment_reduce(data, reduce, **options)


def unravel_index(indices: Tensor, shape: Any) -> tuple[Tensor, ...]:
    """Flat positions as one tensor of coordinates for every dimension of `shape`.

    >>> torch.unravel_index(torch.tensor([1, 5]), (2, 3))
    (tensor([0, 1]), tensor([1, 2]))
    """
    if isinstance(shape, Tensor):
        raise TypeError("expected shape to be int or sequence of ints, but got Tensor")
    if not isinstance(shape, (int, list, tuple)):
        raise TypeError(f"expected shape to be int or sequence of ints, but got {type(shape).__name__}")
    sizes = [shape] if isinstance(shape, int) else list(shape)
    if indices.dtype.inexact or indices.dtype is dt.bool_:
        raise TypeError(f"expected 'indices' to be integer dtype, but got {indices.dtype}")
    for n in sizes:
        if n < 0:
            raise ValueError(f"'shape' cannot have negative values, but got {tuple(sizes)}")
    out, step, positions = [], 1, indices.to(dt.int64)
    for n in reversed(sizes):
        out.append(public.remainder(public.floor_divide(positions, step), n))
        step *= n
    return public.stack(out[::-1], -1).unbind(-1) if out else ()


def histogramdd(
    input: Tensor, bins: Any, range: Sequence[float] | None = None, weight: Tensor | None = None, density: bool = False
) -> Any:
    """How many points [..., n] fall into the boxes of a grid of n dimensions; returns (hist, bin_edges).

    >>> torch.histogramdd(torch.tensor([[0., 1.], [1., 0.]]), bins=[2, 2]).hist
    tensor([[0., 1.],
            [1., 0.]])
    """
    n = input.shape[-1]
    if isinstance(bins, int):
        bins = [bins] * n
    if len(bins) != n:
        raise RuntimeError(
            f"torch.histogramdd(): expected {n} sequences of bin edges for a {n}-dimensional histogram but got "
            f"{len(bins)}"
            if isinstance(bins[0], Tensor)
            else "histogramdd: The size of bins must be equal to the innermost dimension of the input."
        )
    edges = []
    flat = input.detach().reshape(-1, n)
    for i, count in enumerate(bins):
        if isinstance(count, Tensor):
            edges.append(count)
            continue
        low, high = (
            range[2 * i : 2 * i + 2]
            if range is not None
            else (float(flat[:, i].min()), float(flat[:, i].max()))
            if flat.numel()
            else (0.0, 1.0)
        )
        if low == high:
            low, high = low - 0.5, high + 0.5
        edges.append(public.linspace(low, high, count + 1, dtype=input.dtype, device=input.device))
    counts = public._histogramdd_from_bin_tensors(input, edges, weight=weight, density=density)
    return named_outputs("histogramdd", "hist", "bin_edges")(counts, tuple(edges))


@overridable
def lu(A: Tensor, pivot: bool = True, get_infos: bool = False, out: Any = None) -> Any:
    """The packed LU factors and pivots of matrices; an older form of `torch.linalg.lu_factor`.

    >>> LU, pivots = torch.lu(torch.tensor([[2., 1.], [4., 3.]]))
    >>> pivots
    tensor([2, 2], dtype=torch.int32)
    """
    factors, pivots, infos = public.linalg_lu_factor_ex(A, pivot=pivot)
    made = (factors, pivots, infos) if get_infos else (factors, pivots)
    if out is not None:
        for target, value in zip(out, made):
            target.resize_(value.shape).copy_(value)
        return out
    return made


def get_low_rank_basis(A: Any, q: int, niter: int = 2, M: Any = None) -> Tensor:
    """An orthonormal basis [m, q] of nearly the range of A, by random projections (Halko and others, 2009)."""
    R = public.randn(A.shape[-1], q, dtype=A.dtype, device=A.device)
    Q = public.linalg_qr(_product(A, M, R)).Q
    for _ in range(niter):
        Q = public.linalg_qr(_product_adjoint(A, M, Q)).Q
        Q = public.linalg_qr(_product(A, M, Q)).Q
    return Q


def _product(A: Any, M: Any, X: Tensor) -> Tensor:
    return public.matmul(A, X) if M is None else public.matmul(A, X) - public.matmul(M, X)


def _product_adjoint(A: Any, M: Any, X: Tensor) -> Tensor:
    return public.matmul(A.mH, X) if M is None else public.matmul(A.mH, X) - public.matmul(M.mH, X)


def svd_lowrank(
    A: Tensor, q: int | None = 6, niter: int | None = 2, M: Tensor | None = None
) -> tuple[Tensor, Tensor, Tensor]:
    """(U, S, V) with U diag(S) V^H near A - M, of rank q.

    >>> U, S, V = torch.svd_lowrank(torch.randn(5, 3), q=2)
    >>> U.shape, S.shape, V.shape
    (torch.Size([5, 2]), torch.Size([2]), torch.Size([3, 2]))
    """
    q = 6 if q is None else q
    m, n = A.shape[-2:]
    if M is not None:
        M = M.broadcast_to(A.size())
    if m < n:
        V, S, U = svd_lowrank(A.mH, q, niter, None if M is None else M.mH)
        return U, S, V
    Q = get_low_rank_basis(A, q, 2 if niter is None else niter, M)
    B = _product_adjoint(A, M, Q).mH
    U, S, Vh = public.linalg_svd(B, full_matrices=False)
    return public.matmul(Q, U), S, Vh.mH


def pca_lowrank(A: Tensor, q: int | None = None, center: bool = True, niter: int = 2) -> tuple[Tensor, Tensor, Tensor]:
    """(U, S, V): the first q principal components of the rows of A, whose means are taken away first with `center`.

    >>> U, S, V = torch.pca_lowrank(torch.randn(5, 3), q=2)
    >>> U.shape, S.shape, V.shape
    (torch.Size([5, 2]), torch.Size([2]), torch.Size([3, 2]))
    """
    m, n = A.shape[-2:]
    if q is None:
        q = min(6, m, n)
    elif not (q >= 0 and q <= min(m, n)):
        raise ValueError(f"q(={q}) must be non-negative integer and not greater than min(m, n)={min(m, n)}")
    if not niter >= 0:
        raise ValueError(f"niter(={niter}) must be non-negative integer")
    if not center:
        return svd_lowrank(A, q, niter=niter)
    return svd_lowrank(A - A.mean(dim=(-2,), keepdim=True), q, niter=niter)
