"""Products of groups of matrices, as mixtures of experts need them."""

from __future__ import annotations

from typing import Any

from ..._dispatch import aten
from ..._dispatch.checks import type_word
from ..._tensor import Tensor


def grouped_mm(
    mat_a: Tensor, mat_b: Tensor, *, offs: Tensor | None = None, bias: Tensor | None = None, out_dtype: Any = None
) -> Tensor:
    """A product for each group. `offs` [groups] says where each group ends in the dimension that a 2-d operand shares.

    - [rows, k] and [groups, k, n]: rows are divided; gives [rows, n], zero in rows beyond the last group.
    - [groups, m, k] and [k, columns]: columns are divided; gives [m, columns].
    - [m, k] and [k, n]: k is divided; gives [groups, m, n].
    - [groups, m, k] and [groups, k, n] without `offs`: gives [groups, m, n].

    >>> rows, weights = torch.ones(3, 2), torch.ones(2, 2, 1)
    >>> torch.nn.functional.grouped_mm(rows, weights, offs=torch.tensor([1, 3], dtype=torch.int32)).tolist()
    [[2.0], [2.0], [2.0]]
    """
    for name, t in (("mat_a", mat_a), ("mat_b", mat_b)):
        if t.dtype.name not in ("float32", "bfloat16", "float16"):
            raise RuntimeError(f"Expected {name} to be Float32, BFloat16 or Float16 matrix, got {type_word(t.dtype)}")
        if t.dim() not in (2, 3):
            raise RuntimeError(f"{name} has to be 2 or 3d, got {t.dim()}d")
    if mat_a.shape[-1] != mat_b.shape[-2]:
        raise RuntimeError("contraction dimension of mat_a and mat_b must match")
    if (offs is None) != (mat_a.dim() == 3 and mat_b.dim() == 3):
        raise RuntimeError("Have to provide offsets if there is a 2d matrix, or no offset if both matrices are 3d")
    if bias is not None:
        raise RuntimeError("Bias not supported yet")
    if out_dtype not in (None, mat_a.dtype):
        raise RuntimeError("Grouped gemm output dtype must match `mat_a` dtype")
    if offs is None:
        return aten.bmm(mat_a, mat_b)
    ends = offs.tolist()
    spans = list(zip([0, *ends[:-1]], ends))
    if mat_a.dim() == 2 and mat_b.dim() == 2:
        return aten.stack([aten.mm(mat_a[:, a:b], mat_b[a:b]) for a, b in spans])
    if mat_a.dim() == 2:
        rest = aten.new_zeros(mat_a, [mat_a.shape[0] - ends[-1], mat_b.shape[2]])
        return aten.cat([*(aten.mm(mat_a[a:b], mat_b[i]) for i, (a, b) in enumerate(spans)), rest])
    rest = aten.new_zeros(mat_b, [mat_a.shape[1], mat_b.shape[1] - ends[-1]])
    return aten.cat([*(aten.mm(mat_a[i], mat_b[:, a:b]) for i, (a, b) in enumerate(spans)), rest], 1)
