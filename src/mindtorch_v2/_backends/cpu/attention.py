"""Scaled dot-product attention and its gradient, computed in tiles of query rows that fit into the cache."""
from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from ..._dispatch.registry import kernel
from .sums import sum_over

_TILE = 1 << 17   # scores held at once when the inputs are large
_WHOLE = 1 << 18  # up to this many scores everything is done in one piece


def _as_wide(*arrays: np.ndarray | None) -> list[Any]:
    """float16 becomes float32, other arrays stay."""
    return [a if a is None or a.dtype != np.float16 else a.astype(np.float32) for a in arrays]


def _grouped(a: np.ndarray, heads: int) -> np.ndarray:
    """(B, G * heads, L, E) as (B, heads, G, L, E): the query heads that share a key head side by side."""
    b, h, n, e = a.shape
    return a.reshape(b, heads, h // heads, n, e)


def _future(rows: int, columns: int, first: int, kind: Any) -> np.ndarray:
    """What hides the keys after each query: -inf above the diagonal; `first` is the number of the first row."""
    hidden = np.zeros((rows, columns), kind)
    hidden[np.arange(columns) > np.arange(first, first + rows)[:, None]] = -np.inf
    return hidden


def _scores(q: np.ndarray, k: np.ndarray, mask: np.ndarray | None, causal: bool, scale: float, first: int) -> np.ndarray:
    scores = np.matmul(q, k.swapaxes(-1, -2))
    scores *= scale
    if mask is not None:
        scores += mask
    if causal:
        scores += _future(*scores.shape[-2:], first, scores.dtype)
    return scores


def _tiles(q: np.ndarray, keys: int) -> Iterator[tuple[Any, slice]]:
    """(index of batch and head, query rows) of each tile; one tile of everything where that is small."""
    b, h, g, n, _ = q.shape
    if b * h * g * n * keys <= _WHOLE:
        yield (), slice(None)
        return
    rows = max(16, _TILE // max(g * keys, 1))
    for i in range(b):
        for j in range(h):
            for start in range(0, n, rows):
                yield (i, j), slice(start, start + rows)


def _check(query: np.ndarray, key: np.ndarray, value: np.ndarray, dropout_p: float) -> None:
    if not query.ndim == key.ndim == value.ndim == 4:
        raise RuntimeError("scaled_dot_product_attention_flash_attention: Accept only 4 dims inputs shape of {B, H, T, K}")
    if dropout_p != 0:
        raise RuntimeError("scaled_dot_product_attention_flash_attention: Currently do not support dropout > 0")
    if query.shape[-1] != value.shape[-1] or key.shape[-1] != value.shape[-1]:
        raise RuntimeError("scaled_dot_product_attention_flash_attention: Q/K/V should have the same head size")


def _mask_view(mask: np.ndarray | None, q: np.ndarray, keys: int) -> np.ndarray | None:
    """The mask with a size for every dimension of the grouped scores."""
    if mask is None:
        return None
    b, h, g, n, _ = q.shape
    return np.broadcast_to(mask, (b, h * g, n, keys)).reshape(b, h, g, n, keys)


@kernel("_scaled_dot_product_flash_attention_for_cpu")
def flash_attention(query: np.ndarray, key: np.ndarray, value: np.ndarray, dropout_p: float, is_causal: bool,
                    attn_mask: np.ndarray | None, scale: float | None) -> tuple[np.ndarray, np.ndarray]:
    _check(query, key, value, dropout_p)
    q, k, v, mask = _as_wide(query, key, value, attn_mask)
    b, h, n, e = q.shape
    heads, keys = k.shape[1], k.shape[2]
    factor = e ** -0.5 if scale is None else scale
    q, k, v = _grouped(q, heads), k[:, :, None], v[:, :, None]
    mask = _mask_view(mask, q, keys)
    out = np.empty_like(query) if query.dtype == q.dtype else np.empty_like(query, q.dtype)
    sums_out = np.empty((b, n, h), q.dtype).transpose(0, 2, 1)
    grouped_out, grouped_sums = _grouped(out, heads), sums_out.reshape(b, heads, h // heads, n)
    for at, rows in _tiles(q, keys):
        mine = (*at, ..., rows, slice(None))
        scores = _scores(q[mine], k[at], None if mask is None else mask[mine], is_causal, factor, rows.start or 0)
        top = scores.max(axis=-1, keepdims=True)
        top[np.isneginf(top)] = 0
        scores -= top
        np.exp(scores, out=scores)
        sums = sum_over(scores, scores.ndim - 1, keepdims=True)
        sums[sums == 0] = 1  # rows with every key hidden give zeros
        part = np.matmul(scores, v[at])
        part /= sums
        grouped_out[mine] = part
        grouped_sums[(*at, ..., rows)] = (np.log(sums) + top)[..., 0]
    return out.astype(query.dtype, copy=False), sums_out


@kernel("_scaled_dot_product_flash_attention_for_cpu_backward")
def flash_attention_backward(grad_out: np.ndarray, query: np.ndarray, key: np.ndarray, value: np.ndarray, out: np.ndarray,
                             logsumexp: np.ndarray, dropout_p: float, is_causal: bool, attn_mask: np.ndarray | None,
                             scale: float | None) -> tuple[np.ndarray, ...]:
    g, q, k, v, o, mask = _as_wide(grad_out, query, key, value, out, attn_mask)
    e, heads, keys = q.shape[-1], k.shape[1], k.shape[2]
    factor = e ** -0.5 if scale is None else scale
    g, q, o = _grouped(g, heads), _grouped(q, heads), _grouped(o, heads)
    lse = logsumexp.reshape(*q.shape[:-1], 1)
    mask = _mask_view(mask, q, keys)
    dq = np.empty(q.shape, q.dtype)
    dk, dv = np.zeros(k.shape, k.dtype), np.zeros(v.shape, v.dtype)
    k, v = k[:, :, None], v[:, :, None]
    for at, rows in _tiles(q, keys):
        mine = (*at, ..., rows, slice(None))
        p = _scores(q[mine], k[at], None if mask is None else mask[mine], is_causal, factor, rows.start or 0)
        p -= lse[mine]
        np.exp(p, out=p)
        dv[at] += np.matmul(p.swapaxes(-1, -2), g[mine]).sum(axis=-3)
        ds = np.matmul(g[mine], v[at].swapaxes(-1, -2))
        ds -= np.einsum("...e,...e->...", g[mine], o[mine])[..., None]
        ds *= p
        ds *= factor
        dq[mine] = np.matmul(ds, k[at])
        dk[at] += np.matmul(ds.swapaxes(-1, -2), q[mine]).sum(axis=-3)
    return tuple(d.reshape(like.shape).astype(like.dtype, copy=False) for d, like in ((dq, query), (dk, key), (dv, value)))
