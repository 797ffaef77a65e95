"""`torch.lobpcg`: a few extreme eigenpairs of a symmetric matrix."""

from __future__ import annotations

from typing import Any

from .._dispatch import aten
from .._tensor import Tensor, strided


def lobpcg(
    A: Tensor,
    k: int | None = None,
    B: Tensor | None = None,
    X: Tensor | None = None,
    n: int | None = None,
    iK: Tensor | None = None,
    niter: int | None = None,
    tol: float | None = None,
    largest: bool | None = None,
    method: str | None = None,
    tracker: Any = None,
    ortho_iparams: dict[str, int] | None = None,
    ortho_fparams: dict[str, float] | None = None,
    ortho_bparams: dict[str, bool] | None = None,
) -> tuple[Tensor, Tensor]:
    """The `k` largest (or smallest) eigenvalues of symmetric matrices (*, m, m), and their eigenvectors (*, m, k).

    With `B`, symmetric positive definite, those of A x = lambda B x. They are computed by a whole decomposition and not
    iteratively: `X`, `iK`, `niter`, `tol`, `method`, `tracker` and the settings of orthogonalisation change nothing.

    >>> values, vectors = torch.lobpcg(torch.diag(torch.arange(1., 10.)), k=1, X=torch.ones(9, 1))
    >>> vectors.shape
    torch.Size([9, 1])
    """
    if A.shape[-2] != A.shape[-1]:
        raise AssertionError(f"A must be square, got shape {A.shape}")
    count = k if k is not None else (X.shape[-1] if X is not None else 1)
    rows = A.shape[-1]
    if rows < 3 * count:
        raise ValueError(
            f"LOBPCG algorithm is not applicable when the number of A rows (={rows}) is smaller than 3 x the number of "
            f"requested eigenpairs (={count})"
        )
    matrix = A if A.layout is strided else A.to_dense()
    lower = None
    if B is not None:
        lower = aten.linalg_cholesky(B if B.layout is strided else B.to_dense())
        half = aten.linalg_solve_triangular(lower, matrix, upper=False)
        matrix = aten.linalg_solve_triangular(lower, half.transpose(-2, -1), upper=False)
    values, vectors = aten.linalg_eigh(matrix)
    if lower is not None:
        vectors = aten.linalg_solve_triangular(lower.transpose(-2, -1), vectors, upper=True)
    if largest is None or largest:
        return aten.flip(values[..., -count:], [-1]), aten.flip(vectors[..., -count:], [-1])
    return values[..., :count], vectors[..., :count]
