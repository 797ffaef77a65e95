"""Parametrizations that normalise weights."""

from __future__ import annotations

from typing import Any

from ..._autograd.grad_mode import no_grad
from ..._dispatch import aten
from ..._tensor import Tensor
from ..functional import normalize
from ..modules.module import Module
from . import parametrize
from ._orthogonal import MAPS, _Orthogonal

__all__ = ["orthogonal", "spectral_norm", "weight_norm"]


def _norm_except(v: Tensor, dim: int) -> Tensor:
    """The norms of the slices of `v` along `dim`, shaped to divide it; of all of it for -1."""
    if dim == -1:
        return v.norm()
    shape = [1] * v.dim()
    shape[dim] = v.shape[dim]
    return aten.linalg_vector_norm(v.transpose(0, dim).reshape(v.shape[dim], -1), 2, 1).view(shape)


class _WeightNorm(Module):
    """w = g * v / |v|."""

    def __init__(self, dim: int | None = 0) -> None:
        super().__init__()
        self.dim = -1 if dim is None else dim

    def forward(self, weight_g: Tensor, weight_v: Tensor) -> Tensor:
        return weight_v * (weight_g / _norm_except(weight_v, self.dim))

    def right_inverse(self, weight: Tensor) -> tuple[Tensor, Tensor]:
        return _norm_except(weight, self.dim), weight


def weight_norm(module: Module, name: str = "weight", dim: int = 0) -> Module:
    """Splits a weight into its norms (`original0`) and its direction (`original1`).

    >>> layer = nn.utils.parametrizations.weight_norm(nn.Linear(3, 3))
    >>> layer.weight.shape
    torch.Size([3, 3])
    """
    return parametrize.register_parametrization(module, name, _WeightNorm(dim), unsafe=True)


class _SpectralNorm(Module):
    """w / sigma(w), with the largest singular value estimated by power iteration."""

    _u: Tensor
    _v: Tensor

    def __init__(self, weight: Tensor, n_power_iterations: int = 1, dim: int = 0, eps: float = 1e-12) -> None:
        super().__init__()
        ndim = weight.ndim
        if dim >= ndim or dim < -ndim:
            raise IndexError(f"Dimension out of range (expected to be in range of [-{ndim}, {ndim - 1}] but got {dim})")
        if n_power_iterations <= 0:
            raise ValueError(
                f"Expected n_power_iterations to be positive, but got n_power_iterations={n_power_iterations}"
            )
        self.dim = dim if dim >= 0 else dim + ndim
        self.eps = eps
        if ndim > 1:
            self.n_power_iterations = n_power_iterations
            matrix = self._as_matrix(weight)
            rows, columns = matrix.shape
            with no_grad():
                u = aten.normal_(aten.new_empty(matrix, (rows,)), 0, 1)
                v = aten.normal_(aten.new_empty(matrix, (columns,)), 0, 1)
                self.register_buffer("_u", normalize(u, dim=0, eps=eps))
                self.register_buffer("_v", normalize(v, dim=0, eps=eps))
                self._iterate(matrix, 15)

    def _as_matrix(self, weight: Tensor) -> Tensor:
        if weight.ndim > 2 or self.dim != 0:
            order = [self.dim, *(d for d in range(weight.dim()) if d != self.dim)]
            weight = weight.permute(*order).flatten(1)
        return weight

    @no_grad()
    def _iterate(self, matrix: Tensor, times: int) -> None:
        for _ in range(times):
            self._u = normalize(aten.mv(matrix, self._v), dim=0, eps=self.eps)
            self._v = normalize(aten.mv(matrix.t(), self._u), dim=0, eps=self.eps)

    def forward(self, weight: Tensor) -> Any:
        if weight.ndim == 1:
            return normalize(weight, dim=0, eps=self.eps)
        matrix = self._as_matrix(weight)
        if self.training:
            self._iterate(matrix, self.n_power_iterations)
        u, v = self._u.clone(), self._v.clone()  # later iterations must not change what backward needs
        return weight / aten.vdot(u, aten.mv(matrix, v))

    def right_inverse(self, value: Tensor) -> Tensor:
        return value


def spectral_norm(
    module: Module, name: str = "weight", n_power_iterations: int = 1, eps: float = 1e-12, dim: int | None = None
) -> Module:
    """Divides a weight by its largest singular value.

    >>> layer = nn.utils.parametrizations.spectral_norm(nn.Linear(3, 3))
    >>> layer.weight.shape
    torch.Size([3, 3])
    """
    weight = getattr(module, name, None)
    if not isinstance(weight, Tensor):
        raise ValueError(f"Module '{module}' has no parameter or buffer with name '{name}'")
    if dim is None:
        dim = 1 if type(module).__name__.startswith("ConvTranspose") else 0
    return parametrize.register_parametrization(module, name, _SpectralNorm(weight, n_power_iterations, dim, eps))


def orthogonal(
    module: Module, name: str = "weight", orthogonal_map: str | None = None, *, use_trivialization: bool = True
) -> Module:
    """Keeps a weight orthogonal: its columns, or its rows where it has fewer of them, are orthonormal.

    orthogonal_map      "matrix_exp" (of square and complex matrices by default), "cayley" or "householder".
    use_trivialization  the weight is a base times what is trained, so that it can be assigned; takes more memory.

    >>> layer = nn.utils.parametrizations.orthogonal(nn.Linear(4, 4))
    >>> torch.allclose(layer.weight @ layer.weight.T, torch.eye(4), atol=1e-5)
    True
    """
    weight = getattr(module, name, None)
    if not isinstance(weight, Tensor):
        raise ValueError(f"Module '{module}' has no parameter or buffer with name '{name}'")
    if weight.ndim < 2:
        raise ValueError(f"Expected a matrix or batch of matrices. Got a tensor of {weight.ndim} dimensions.")
    if orthogonal_map is None:
        square = weight.shape[-2] == weight.shape[-1]
        orthogonal_map = "matrix_exp" if square or weight.is_complex() else "householder"
    if orthogonal_map not in MAPS:
        raise ValueError(
            f'orthogonal_map has to be one of "matrix_exp", "cayley", "householder". Got: {orthogonal_map}'
        )
    return parametrize.register_parametrization(
        module, name, _Orthogonal(weight, orthogonal_map, use_trivialization), unsafe=True
    )
