"""Python conventions of products and distances that no schema expresses: operands as separate arguments, one number
for the dimensions of both tensors, modes by name. Importing this module puts them in front of the ops of the same
names.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from .._dispatch import aten
from .._dispatch.namespace import fronts
from .._dispatch.out_form import deliver, write_into
from .._tensor import Tensor
from . import einsum_paths

_LETTERS = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
_CDIST_MODES = {
    "use_mm_for_euclid_dist_if_necessary": None,
    "use_mm_for_euclid_dist": 1,
    "donot_use_mm_for_euclid_dist": 2,
}


def _subscript(labels: Sequence[Any]) -> str:
    """Numbers in [0, 52) as letters; Ellipsis as dots."""
    out = ""
    for label in labels:
        if label is not Ellipsis and not 0 <= label < len(_LETTERS):
            raise ValueError("einsum(): subscript in subscript list is not within the valid range [0, 52)")
        out += "..." if label is Ellipsis else _LETTERS[label]
    return out


def einsum(*args: Any, path: Sequence[int] | None = None) -> Tensor:
    """Sums of products of elements, by labels: `einsum("ij,jk->ik", a, b)` or `einsum(a, [0, 1], b, [1, 2], [0,
    2])`.

    >>> torch.einsum("ij,j->i", torch.tensor([[1, 2], [3, 4]]), torch.tensor([1, 10]))
    tensor([21, 43])
    """
    if len(args) < 2:
        raise ValueError(
            "einsum(): must specify the equation string and at least one operand, or at least one operand and its "
            "subscripts list"
        )
    if isinstance(args[0], Tensor):
        equation = ",".join(_subscript(labels) for labels in args[1::2])
        if len(args) % 2 == 1:
            equation = ",".join(_subscript(labels) for labels in args[1:-1:2]) + "->" + _subscript(args[-1])
            operands: Any = args[:-1:2]
        else:
            operands = args[::2]
    else:
        equation, *operands = args
    if len(operands) == 1 and isinstance(operands[0], (list, tuple)):
        operands = operands[0]
    operands = list(operands)
    if path is None and len(operands) > 2:
        path = einsum_paths.path_of(equation, operands)
    return aten.overload("einsum")(equation, operands, path=path)


def tensordot(
    a: Tensor, b: Tensor, dims: Any = 2, dims_other: Sequence[int] | None = None, out: Tensor | None = None
) -> Tensor:
    """Contracts the last `dims` dimensions of `a` with the first of `b`, or the dimensions in two lists.

    >>> torch.tensordot(torch.ones(2, 3), torch.ones(3, 4), dims=1).shape
    torch.Size([2, 4])
    """
    if dims_other is not None:
        first, second = dims, dims_other
    elif isinstance(dims, Tensor) and dims.numel() > 1:
        first, second = dims.tolist()
    elif isinstance(dims, (list, tuple)):
        first, second = dims
        if isinstance(first, int):
            first, second = [first], [second]
    else:
        count = int(dims)
        if count < 0:
            raise RuntimeError(f"tensordot expects dims >= 0, but got dims={count}")
        if count > min(a.dim(), b.dim()):
            raise RuntimeError(f"tensordot expects dims < ndim_a or ndim_b, but got dims={count}")
        first, second = list(range(-count, 0)), list(range(count))
    return deliver("tensordot", aten.overload("tensordot")(a, b, first, second), out, a, b)


def chain_matmul(*matrices: Tensor, out: Tensor | None = None) -> Tensor:
    """The product of matrices in the order that costs least.

    >>> torch.linalg.multi_dot([torch.ones(2, 3), torch.ones(3, 1)])
    tensor([[3.],
            [3.]])
    """
    given = matrices[0] if len(matrices) == 1 and isinstance(matrices[0], (list, tuple)) else matrices
    made = aten.overload("chain_matmul")(list(given))
    if len(given) == 1 and out is not None:  # copied into whatever type `out` has
        write_into(out, made)
        return out
    return deliver("chain_matmul", made, out, *given)


def cdist(
    x1: Tensor, x2: Tensor, p: float = 2.0, compute_mode: str | int | None = "use_mm_for_euclid_dist_if_necessary"
) -> Tensor:
    """The p-norm distance between every row of `x1` and every row of `x2`.

    >>> torch.cdist(torch.tensor([[0., 0.]]), torch.tensor([[3., 4.], [0., 1.]]))
    tensor([[5., 1.]])
    """
    if isinstance(compute_mode, str):
        if compute_mode not in _CDIST_MODES:
            raise ValueError(f"{compute_mode} is not a valid value for compute_mode")
        compute_mode = _CDIST_MODES[compute_mode]
    return aten.overload("cdist")(x1, x2, float(p), compute_mode)


FUNCTIONS: dict[str, Any] = {f.__name__: f for f in (einsum, tensordot, chain_matmul, cdist)}
fronts.update(FUNCTIONS)
