"""A parametrization that keeps a matrix orthogonal (unitary where it is complex), or its columns or rows so."""

from __future__ import annotations

from typing import Any

from ..._dispatch import aten
from ..._tensor import Tensor
from ..modules.module import Module

MAPS = ("matrix_exp", "cayley", "householder")


def _orthogonal_factor(matrix: Tensor) -> Any:
    """The orthogonal factor of a QR decomposition whose other factor has a positive diagonal."""
    factors, tau = aten.geqrf(matrix)
    factor: Any = aten.linalg_householder_product(factors, tau)
    return factor * factors.diagonal(dim1=-2, dim2=-1).sgn().unsqueeze(-2)


def _eye_like(matrix: Tensor) -> Any:
    return aten.eye(matrix.shape[-1], dtype=matrix.dtype, device=matrix.device)


class _Orthogonal(Module):
    """Maps any matrix [..., n, k] to one with orthonormal columns (rows where n < k).

    "matrix_exp" and "cayley" take the lower triangle X to a skew-symmetric A = X - X^H, and that to exp(A) or
    (1 - A/2)^-1 (1 + A/2). "householder" takes the columns below the diagonal to reflections. With `trivialize` the
    result is multiplied by a base, so that any orthogonal matrix can be assigned.
    """

    base: Any

    def __init__(self, weight: Tensor, orthogonal_map: str, trivialize: bool) -> None:
        super().__init__()
        if weight.is_complex() and orthogonal_map == "householder":
            raise ValueError("The householder parametrization does not support complex tensors.")
        self.shape = weight.shape
        self.orthogonal_map = orthogonal_map
        self.trivialize = trivialize
        if trivialize:
            self.register_buffer("base", None)

    def forward(self, X: Tensor) -> Tensor:
        wide = X.shape[-2] < X.shape[-1]
        matrix: Any = X.mT if wide else X
        Q = self._reflections(matrix) if self.orthogonal_map == "householder" else self._rotation(matrix)
        if self.trivialize:
            Q = self.base @ Q
        return Q.mT if wide else Q

    def _rotation(self, matrix: Any) -> Any:
        n, k = matrix.shape[-2:]
        lower = matrix.tril()
        if n != k:
            lower = aten.cat([lower, aten.zeros_like(lower[..., :1]).expand(*lower.shape[:-1], n - k)], -1)
        skew = lower - lower.mH
        if self.orthogonal_map == "matrix_exp":
            whole: Any = aten.linalg_matrix_exp(skew)
        else:
            one = _eye_like(skew)
            whole = aten.linalg_solve(one - skew / 2, one + skew / 2)
        return whole[..., :k]

    def _reflections(self, matrix: Any) -> Any:
        below = matrix.tril(-1)
        tau = 2.0 / (1.0 + (below * below).sum(-2))
        signs = matrix.diagonal(dim1=-2, dim2=-1).int()
        return aten.linalg_householder_product(below, tau) * signs.unsqueeze(-2)

    def right_inverse(self, Q: Tensor) -> Tensor:
        if Q.shape != self.shape:
            raise ValueError(
                f"Expected a matrix or batch of matrices of shape {self.shape}. Got a tensor of shape {Q.shape}."
            )
        wide = Q.shape[-2] < Q.shape[-1]
        matrix: Any = Q.mT if wide else Q
        if not self.trivialize:
            made = self._reflected(matrix)
            return made.mT if wide else made
        n, k = matrix.shape[-2:]
        if n == k and self._is_orthogonal(matrix):
            self.base = matrix.clone()
        else:
            rest = aten.randn(*matrix.shape[:-1], n - k, dtype=matrix.dtype, device=matrix.device)
            self.base = _orthogonal_factor(aten.cat([matrix, rest], -1))
        start: Any = aten.zeros_like(Q)
        start.diagonal(dim1=-2, dim2=-1).fill_(-1.0)
        return start

    def _reflected(self, matrix: Any) -> Any:
        if self.orthogonal_map != "householder":
            raise NotImplementedError(
                "It is not possible to assign to the matrix exponential or the Cayley parametrizations when "
                "use_trivialization=False."
            )
        factors, tau = aten.geqrf(matrix)
        diagonal = factors.diagonal(dim1=-2, dim2=-1)
        signs = diagonal.sign()
        diagonal.copy_(aten.where(tau == 0, -signs, signs))
        return factors

    @staticmethod
    def _is_orthogonal(matrix: Any) -> bool:
        """To the rounding of products of this size."""
        n = matrix.shape[-1]
        from ..._dtype import finfo

        distance = (matrix.mH @ matrix - _eye_like(matrix)).abs().max() if matrix.numel() else 0.0
        return bool(distance < 10.0 * n * finfo(matrix.dtype).eps)
