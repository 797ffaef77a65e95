"""Gradients of products, distances and attention. Those of factorisations stand in the file imported at the end."""

from __future__ import annotations

from typing import Any

from ..._dispatch import aten
from ..rules import derivative
from .common import conj, no_derivative


def scale_by(t: Any, number: Any) -> Any:
    """`t * number`, without the multiplication by 1."""
    return t if number == 1 else aten.mul(t, conj(number))


# --- matrix products. The gradient of an operand gets the operand's own layout, as in PyTorch: it becomes the layout of
# --- the gradient of a weight, which is multiplied transposed. These run for every layer: no helper is called in vain.


def grad_of_first(g: Any, mat2: Any, alpha: Any, mat1_shape: tuple[int, ...], mat1_strides: tuple[int, ...]) -> Any:
    size, is_complex = g._array.itemsize, mat2.dtype.is_complex
    if mat1_strides[0] == size and mat1_strides[1] == size * mat1_shape[0]:  # it lies column by column
        made = aten.t(aten.mm(aten.conj(mat2) if is_complex else mat2, aten.t(g)))
    else:
        turned = aten.t(mat2)
        made = aten.mm(g, aten.conj(turned) if is_complex else turned)
    return made if alpha == 1 else aten.mul(made, conj(alpha))


def grad_of_second(g: Any, mat1: Any, alpha: Any, mat2_shape: tuple[int, ...], mat2_strides: tuple[int, ...]) -> Any:
    size, is_complex = g._array.itemsize, mat1.dtype.is_complex
    if mat2_strides[0] == size and mat2_strides[1] == size * mat2_shape[0]:
        made = aten.t(aten.mm(aten.t(g), aten.conj(mat1) if is_complex else mat1))
    else:
        turned = aten.t(mat1)
        made = aten.mm(aten.conj(turned) if is_complex else turned, g)
    return made if alpha == 1 else aten.mul(made, conj(alpha))


derivative(
    "mm",
    self=lambda g, mat2, self_shape, self_strides: grad_of_first(g, mat2, 1, self_shape, self_strides),
    mat2=lambda g, self, mat2_shape, mat2_strides: grad_of_second(g, self, 1, mat2_shape, mat2_strides),
)
derivative(
    "addmm", self=lambda g, beta: g if beta == 1 else aten.mul(g, conj(beta)), mat1=grad_of_first, mat2=grad_of_second
)


def _conj_transpose(t: Any) -> Any:
    return conj(aten.transpose(t, 1, 2))


derivative(
    "bmm",
    self=lambda g, mat2: aten.bmm(g, _conj_transpose(mat2)),
    mat2=lambda g, self: aten.bmm(_conj_transpose(self), g),
)
derivative(
    "baddbmm",
    self=lambda g, beta: scale_by(g, beta),
    batch1=lambda g, batch2, alpha: scale_by(aten.bmm(g, _conj_transpose(batch2)), alpha),
    batch2=lambda g, batch1, alpha: scale_by(aten.bmm(_conj_transpose(batch1), g), alpha),
)


def _for_each(g: Any, batch: Any) -> Any:
    return aten.expand(aten.unsqueeze(g, 0), (batch.shape[0], *g.shape))


derivative(
    "addbmm",
    self=lambda g, beta: scale_by(g, beta),
    batch1=lambda g, batch2, alpha: scale_by(aten.bmm(_for_each(g, batch2), _conj_transpose(batch2)), alpha),
    batch2=lambda g, batch1, alpha: scale_by(aten.bmm(_conj_transpose(batch1), _for_each(g, batch1)), alpha),
)
derivative("mv", self=lambda g, vec: aten.ger(g, conj(vec)), vec=lambda g, self: aten.mv(conj(aten.t(self)), g))
derivative(
    "addmv",
    self=lambda g, beta: scale_by(g, beta),
    mat=lambda g, vec, alpha: scale_by(aten.ger(g, conj(vec)), alpha),
    vec=lambda g, mat, alpha: scale_by(aten.mv(conj(aten.t(mat)), g), alpha),
)
derivative(
    "addr",
    self=lambda g, beta: scale_by(g, beta),
    vec1=lambda g, vec2, alpha: scale_by(aten.mv(g, conj(vec2)), alpha),
    vec2=lambda g, vec1, alpha: scale_by(aten.mv(aten.t(g), conj(vec1)), alpha),
)
derivative("dot", self=lambda g, tensor: aten.mul(g, conj(tensor)), tensor=lambda g, self: aten.mul(g, conj(self)))
derivative("vdot", self=lambda g, other: aten.mul(conj(g), other), other=lambda g, self: aten.mul(g, self))
derivative(
    "linalg_cross",
    self=lambda g, other, dim: aten.linalg_cross(conj(other), g, dim=dim),
    other=lambda g, self, dim: aten.linalg_cross(g, conj(self), dim=dim),
)


def _trilinear_grads(
    g: Any, needs: Any, i1: Any, i2: Any, i3: Any, expand1: Any, expand2: Any, expand3: Any, sumdim: Any
) -> tuple[Any, ...]:
    """The gradient by each operand is the same sum of products, with the gradient instead of it."""
    return (
        aten._trilinear(g, i2, i3, sumdim, expand2, expand3, expand1) if needs[0] else None,
        aten._trilinear(i1, g, i3, expand1, sumdim, expand3, expand2) if needs[1] else None,
        aten._trilinear(i1, i2, g, expand1, expand2, sumdim, expand3) if needs[2] else None,
    )


derivative("_trilinear", inputs=("i1", "i2", "i3"), joint=_trilinear_grads)


# --- distances --------------------------------------------------------------------------------------------------------


def _cdist_second(g: Any, x1: Any, x2: Any, p: float, result: Any) -> Any:
    return aten._cdist_backward(aten.contiguous(aten.mT(g)), x2, x1, p, aten.contiguous(aten.mT(result)))


derivative(
    "_cdist_forward",
    node="CdistBackward0",
    x1=lambda g, x1, x2, p, result: aten._cdist_backward(aten.contiguous(g), x1, x2, p, result),
    x2=_cdist_second,
)
no_derivative("_cdist_backward", "grad", "x1", "x2", node="CdistBackwardBackward0")
derivative(
    "_pdist_forward", node="PdistBackward0", self=lambda g, self, p, result: aten._pdist_backward(g, self, p, result)
)
no_derivative("_pdist_backward", "grad", "self", node="PdistBackwardBackward0")


def _euclidean_grads(g: Any, needs: Any, x1: Any, x2: Any, result: Any) -> tuple[Any, ...]:
    ratio = aten.masked_fill(aten.div(g, result), aten.eq(result, 0), 0)
    first = second = None
    if needs[0]:
        first = aten.sub(aten.mul(x1, aten.sum(ratio, [-1], keepdim=True)), aten.matmul(ratio, x2))
    if needs[1]:
        weight = aten.unsqueeze(aten.sum(ratio, [-2]), -1)
        second = aten.sub(aten.mul(x2, weight), aten.matmul(aten.mT(ratio), x1))
    return first, second


derivative("_euclidean_dist", inputs=("x1", "x2"), joint=_euclidean_grads)


# --- attention --------------------------------------------------------------------------------------------------------


def _attention_grads(
    g: Any,
    needs: Any,
    query: Any,
    key: Any,
    value: Any,
    result0: Any,
    result1: Any,
    dropout_p: float,
    is_causal: bool,
    attn_mask: Any,
    scale: Any,
) -> Any:
    if g[0] is None:
        return None, None, None
    return aten._scaled_dot_product_flash_attention_for_cpu_backward(
        g[0], query, key, value, result0, result1, dropout_p, is_causal, attn_mask=attn_mask, scale=scale
    )


derivative(
    "_scaled_dot_product_flash_attention_for_cpu",
    inputs=("query", "key", "value"),
    joint=_attention_grads,
    constant=(1,),
)
no_derivative("_scaled_dot_product_flash_attention_for_cpu_backward", "grad_out", "query", "key", "value")
derivative(
    "_safe_softmax", self=lambda g, result, dim, self_dtype: aten._softmax_backward_data(g, result, dim, self_dtype)
)


from . import decompositions, solvers  # noqa: E402,F401  - they declare the rest of the family
