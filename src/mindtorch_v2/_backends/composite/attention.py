"""Scaled dot-product attention: which implementation a call takes, and the one made of matrix products."""

from __future__ import annotations

from math import inf
from typing import Any

from ... import _accelerators
from ..._dispatch import aten
from ..._dispatch.modes import grad_enabled
from ..._dispatch.registry import composite

_FUSED = "_scaled_dot_product_flash_attention_for_cpu"
_FUSED_TYPES = ("float16", "bfloat16", "float32", "float64")


def _check(query: Any, key: Any, value: Any, mask: Any) -> None:
    if not query.dtype is key.dtype is value.dtype:
        raise RuntimeError(
            f"Expected query, key, and value to have the same dtype, but got query.dtype: {query.dtype.cpp_name} "
            f"key.dtype: {key.dtype.cpp_name} and value.dtype: {value.dtype.cpp_name} instead."
        )
    if min(query.dim(), key.dim(), value.dim()) < 2:
        raise RuntimeError(
            "Expected query, key, and value to all be  at least 2 dimensional, but got query.dim: "
            f"{query.dim()} key.dim: {key.dim()} and value.dim: {value.dim()} instead."
        )
    if (
        mask is not None
        and mask.dtype.name != "bool"
        and mask.dtype not in (query.dtype,)
        and mask.dtype.name != "float32"
    ):
        raise RuntimeError(
            "Expected attn_mask dtype to be bool or float or to match query dtype, but got attn_mask.dtype: "
            f"{mask.dtype.cpp_name} and  query.dtype: {query.dtype.cpp_name} instead."
        )


def _mask_fits(mask: Any, query: Any, key: Any) -> bool:
    """Whether the fused kernel takes a mask of this shape: two dimensions, or four that broadcast."""
    if mask.dim() not in (2, 4):
        return False
    batch, heads, rows = query.shape[:3]
    sizes = (1, 1, *mask.shape) if mask.dim() == 2 else mask.shape
    return all(n in (1, want) for n, want in zip(sizes, (batch, heads, rows, key.shape[2])))


def _takes_fused(query: Any, key: Any, value: Any, mask: Any, dropout_p: float, grouped: bool) -> bool:
    """PyTorch's conditions for its fused CPU kernel."""
    q, k, v = query._array, key._array, value._array
    if (
        _accelerators.avoids(query._keys, _FUSED)
        or dropout_p > 0
        or query.dtype.name not in _FUSED_TYPES
        or not q.ndim == k.ndim == v.ndim == 4
        or k.shape != v.shape
    ):
        return False
    if mask is not None and ((mask.requires_grad and grad_enabled()) or not _mask_fits(mask, query, key)):
        return False
    (batch, heads, _, size), (key_batch, key_heads, _, key_size) = q.shape, k.shape
    if batch != key_batch or size != key_size or not q.strides[3] == k.strides[3] == v.strides[3] == q.itemsize:
        return False
    return heads % key_heads == 0 if grouped else heads == key_heads


def _as_bias(mask: Any, kind: Any) -> Any:
    """A bool mask becomes what is added to the scores: 0 where it is true, -inf elsewhere."""
    if mask is None or mask.dtype.name != "bool":
        return mask
    hidden = aten.scalar_tensor(-inf, dtype=kind, device=mask.device)
    return aten.where(mask, 0.0, hidden)


def _of_nothing(query: Any, key: Any, value: Any) -> Any:
    """Attention without queries or without keys: zeros that still depend on all inputs."""
    out = aten.zeros([*query.shape[:-1], value.shape[-1]], dtype=query.dtype, device=query.device)
    total = aten.add(aten.add(aten.sum(query), aten.sum(key)), aten.sum(value))
    return aten.add(out, aten.mul(total, 0))


@composite("scaled_dot_product_attention")
def scaled_dot_product_attention(
    query: Any,
    key: Any,
    value: Any,
    attn_mask: Any,
    dropout_p: float,
    is_causal: bool,
    scale: float | None,
    enable_gqa: bool,
) -> Any:
    _check(query, key, value, attn_mask)
    if not query._array.shape[-2] or not key._array.shape[-2]:
        return _of_nothing(query, key, value)
    bias = _as_bias(attn_mask, query.dtype)
    if _takes_fused(query, key, value, bias, dropout_p, enable_gqa):
        return aten._scaled_dot_product_flash_attention_for_cpu(
            query, key, value, dropout_p, is_causal, attn_mask=bias, scale=scale
        )[0]
    return aten._scaled_dot_product_attention_math(
        query, key, value, bias, dropout_p, is_causal, None, scale=scale, enable_gqa=enable_gqa
    )[0]


def _repeat_heads(query: Any, key: Any, value: Any) -> tuple[Any, Any]:
    """Every key and value head as often as query heads share it."""
    heads, key_heads, value_heads = query.shape[-3], key.shape[-3], value.shape[-3]
    if key_heads == heads == value_heads:
        return key, value
    if heads % key_heads or heads % value_heads:
        raise RuntimeError("Number of heads in key and value must divide the number of heads in ")
    return aten.repeat_interleave(key, heads // key_heads, -3), aten.repeat_interleave(value, heads // value_heads, -3)


@composite("_scaled_dot_product_attention_math")
def attention_math(
    query: Any,
    key: Any,
    value: Any,
    attn_mask: Any,
    dropout_p: float,
    is_causal: bool,
    dropout_mask: Any,
    scale: float | None,
    enable_gqa: bool,
) -> tuple[Any, Any]:
    """Softmax of the scaled scores, times the values.

    Both factors get the root of the scale, so that neither overflows.
    """
    factor = query.shape[-1] ** -0.5 if scale is None else scale
    root = abs(factor) ** 0.5
    query = aten.mul(query, root if factor >= 0 else -root)
    if is_causal:
        if attn_mask is not None:
            raise RuntimeError(
                "_scaled_dot_product_attention: Explicit attn_mask should not be set when is_causal=True"
            )
        seen = aten.tril(aten.ones([query.shape[-2], key.shape[-2]], dtype=_bool(), device=query.device))
        attn_mask = _as_bias(seen, query.dtype)
    if enable_gqa:
        key, value = _repeat_heads(query, key, value)
    scores = aten.matmul(query, aten.mul(aten.transpose(key, -2, -1), root))
    if attn_mask is not None:
        scores = aten.add_(scores, attn_mask)
    weights = aten._safe_softmax(scores, -1)
    if dropout_p > 0:
        if dropout_mask is not None:
            kept = aten.masked_fill(weights, aten.logical_not(dropout_mask), 0.0)
            return aten.matmul(aten.mul(kept, 1 / (1 - dropout_p)), value), weights
        weights = aten.dropout(weights, dropout_p, True)
    return aten.matmul(weights, value), weights


def _bool() -> Any:
    from ..._dtype import bool_

    return bool_


@composite("_safe_softmax")
def safe_softmax(self: Any, dim: int, dtype: Any) -> Any:
    """Softmax in which a row of nothing but -inf gives zeros."""
    out = aten.softmax(self, dim, dtype)
    empty = aten.all(aten.isneginf(self), dim, True)
    return aten.where(empty, aten.scalar_tensor(0.0, dtype=out.dtype, device=out.device), out)
