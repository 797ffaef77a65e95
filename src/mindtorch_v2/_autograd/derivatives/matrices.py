"""Shared by the gradients of factorisations and solvers: functions of matrices, written with dispatched ops."""

from __future__ import annotations

from typing import Any

from ..._dispatch import aten


def dagger(t: Any) -> Any:
    """The conjugate transpose of each matrix."""
    return aten.mH(t)


def product(*factors: Any) -> Any:
    """The matrix product from left to right."""
    out = factors[0]
    for f in factors[1:]:
        out = aten.matmul(out, f)
    return out


def diagonal_matrix(values: Any) -> Any:
    return aten.diag_embed(values)


def differences(values: Any) -> Any:
    """values[j] - values[i] at (i, j), with 1 on the diagonal so that one can divide by it."""
    return aten.add(
        aten.sub(aten.unsqueeze(values, -2), aten.unsqueeze(values, -1)), diagonal_matrix(aten.ones_like(values))
    )


def anti_hermitian(t: Any) -> Any:
    return aten.sub(t, dagger(t))
