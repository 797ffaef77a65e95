"""Scaled dot-product attention and its gradient, computed in tiles of query rows that fit into the cache."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from ..._dispatch.registry import kernel
from ..._native import accelerated, load_blas
from .sums import sum_over

load_blas()

_TILE = 1 << 17  # scores held at once when the inputs are large
_WHOLE = 1 << 18  # up to this many scores everything is done in one piece


def _as_wide(*arrays: np.ndarray | None) -> list[Any]:
    """float16 becomes float32, other arrays stay."""
    return [a if a is None or a.dtype != np.float16 else a.astype(np.float32) for a in arrays]


def _group_heads(a: np.ndarray, heads: int) -> np.ndarray:
    """(B, G * heads, L, E) as (B, heads, G, L, E): the query heads that share a key head side by side."""
    b, h, n, e = a.shape
    return a.reshape(b, heads, h // heads, n, e)


def _future(scores: np.ndarray, first: int) -> None:
    """Hides the keys after each query; `first` is the count of the first row.

    Columns before it are seen by all rows.
    """
    rows, columns = scores.shape[-2:]
    if columns > first + 1:
        seen = np.arange(first, columns) <= np.arange(first, first + rows)[:, None]
        scores[..., first:] = np.where(seen, scores[..., first:], -np.inf)


def _scores(q: np.ndarray, k: np.ndarray, mask: np.ndarray | None, causal: bool, first: int) -> np.ndarray:
    """What each query (scaled already) says about each key."""
    scores = np.matmul(q, k.swapaxes(-1, -2))
    if mask is not None:
        scores += mask
    if causal:
        _future(scores, first)
    return scores


class _Tile:
    """Some query rows of one head (or all rows of all heads), and the keys that they may see."""

    __slots__ = ("at", "rows", "first", "keys")

    def __init__(self, at: tuple[int, ...], start: int, stop: int, keys: int) -> None:
        self.at, self.first, self.keys = at, start, keys
        self.rows: tuple[Any, ...] = (*at, ..., slice(start, stop), slice(None))

    @property
    def columns(self) -> tuple[Any, ...]:
        """The index of the keys in an array of keys or values."""
        return (*self.at, ..., slice(0, self.keys), slice(None))

    def of_mask(self, mask: np.ndarray | None) -> np.ndarray | None:
        return None if mask is None else mask[self.rows][..., : self.keys]

    def of_keys(self, a: np.ndarray) -> np.ndarray:
        return a[self.at][..., : self.keys, :]


def _tiles(q: np.ndarray, keys: int, causal: bool) -> Iterator[_Tile]:
    """One tile of everything where that is small, else tiles that fit into the cache."""
    b, h, g, n, _ = q.shape
    if b * h * g * n * keys <= _WHOLE:
        yield _Tile((), 0, n, min(keys, n) if causal else keys)
        return
    rows = min(n, max(16, _TILE // max(g * keys, 1)))
    for i in range(b):
        for j in range(h):
            for start in range(0, n, rows):
                stop = min(start + rows, n)
                yield _Tile((i, j), start, stop, min(keys, stop) if causal else keys)


def _check(query: np.ndarray, key: np.ndarray, value: np.ndarray, dropout_p: float) -> None:
    if not query.ndim == key.ndim == value.ndim == 4:
        raise RuntimeError(
            "scaled_dot_product_attention_flash_attention: Accept only 4 dims inputs shape of {B, H, T, K}"
        )
    if dropout_p != 0:
        raise RuntimeError("scaled_dot_product_attention_flash_attention: Currently do not support dropout > 0")
    if query.shape[-1] != value.shape[-1] or key.shape[-1] != value.shape[-1]:
        raise RuntimeError("scaled_dot_product_attention_flash_attention: Q/K/V should have the same head size")


def _full_mask(mask: np.ndarray | None, q: np.ndarray, k: np.ndarray) -> np.ndarray | None:
    """The mask as (B, H, L, S), repeated without a copy where it is the same for all."""
    return None if mask is None else np.broadcast_to(mask, (*q.shape[:3], k.shape[2]))


def _mask_view(mask: np.ndarray | None, q: np.ndarray) -> np.ndarray | None:
    """The full mask grouped like the queries."""
    return None if mask is None else mask.reshape(*q.shape[:-1], mask.shape[-1])


@accelerated("exp_rows")
def _exp_rows(scores: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Replaces scores by exp(scores - the largest of the row); returns the rows' sums and the largest, as columns.

    Rows with every key hidden become zeros; their sum is given as 1, their largest as 0.
    """
    top = scores.max(axis=-1, keepdims=True)
    top[np.isneginf(top)] = 0
    scores -= top
    np.exp(scores, out=scores)
    sums = sum_over(scores, scores.ndim - 1, True)
    sums[sums == 0] = 1
    return sums, top


@accelerated("attention_forward")
def _forward(
    q: np.ndarray,
    k: np.ndarray,
    v: np.ndarray,
    mask: np.ndarray | None,
    causal: bool,
    scale: float,
    out: np.ndarray,
    lse: np.ndarray,
) -> None:
    """Fills `out` (B, H, L, E) and `lse` (B, H, L), the logarithms of the rows' sums, of queries (B, H, L, E)."""
    heads, keys = k.shape[1], k.shape[2]
    q = _group_heads(q * scale, heads)
    k, v = k[:, :, None], v[:, :, None]
    for tile in _tiles(q, keys, causal):
        scores = _scores(q[tile.rows], tile.of_keys(k), tile.of_mask(_mask_view(mask, q)), causal, tile.first)
        sums, top = _exp_rows(scores)
        part = np.matmul(scores, tile.of_keys(v))
        part /= sums
        _group_heads(out, heads)[tile.rows] = part
        lse.reshape(q.shape[:-1])[tile.rows[:-1]] = (np.log(sums) + top)[..., 0]


@accelerated("attention_backward")
def _backward(
    q: np.ndarray,
    k: np.ndarray,
    v: np.ndarray,
    mask: np.ndarray | None,
    causal: bool,
    scale: float,
    out: np.ndarray,
    lse: np.ndarray,
    grad: np.ndarray,
    dq: np.ndarray,
    dk: np.ndarray,
    dv: np.ndarray,
) -> None:
    """Fills `dq`, and adds to `dk` and `dv`, the gradients of what `_forward` was given."""
    heads, keys = k.shape[1], k.shape[2]
    g, q, o = _group_heads(grad, heads), _group_heads(q * scale, heads), _group_heads(out, heads)
    lse = lse.reshape(*q.shape[:-1], 1)
    inner = np.einsum("...e,...e->...", g, o)[..., None]
    k, v = k[:, :, None], v[:, :, None]
    grouped_dq = _group_heads(dq, heads)
    for tile in _tiles(q, keys, causal):
        mine, seen = tile.rows, tile.columns
        p = _scores(q[mine], tile.of_keys(k), tile.of_mask(_mask_view(mask, q)), causal, tile.first)
        p -= lse[mine]
        np.exp(p, out=p)
        dv[seen] += _over_group(np.matmul(p.swapaxes(-1, -2), g[mine]))
        ds = np.matmul(g[mine], tile.of_keys(v).swapaxes(-1, -2))
        ds -= inner[mine]
        ds *= p
        grouped_dq[mine] = np.matmul(ds, tile.of_keys(k)) * scale
        dk[seen] += _over_group(np.matmul(ds.swapaxes(-1, -2), q[mine]))


def _over_group(a: np.ndarray) -> np.ndarray:
    """The sum over the query heads that share a key head."""
    return a[..., 0, :, :] if a.shape[-3] == 1 else a.sum(axis=-3)


@kernel("_scaled_dot_product_flash_attention_for_cpu")
def flash_attention(
    query: np.ndarray,
    key: np.ndarray,
    value: np.ndarray,
    dropout_p: float,
    is_causal: bool,
    attn_mask: np.ndarray | None,
    scale: float | None,
) -> tuple[np.ndarray, np.ndarray]:
    _check(query, key, value, dropout_p)
    q, k, v, mask = _as_wide(query, key, value, attn_mask)
    b, h, n, e = q.shape
    out = np.empty_like(query, q.dtype)
    lse = np.empty((b, n, h), q.dtype).transpose(0, 2, 1)
    _forward(q, k, v, _full_mask(mask, q, k), is_causal, e**-0.5 if scale is None else float(scale), out, lse)
    return out.astype(query.dtype, copy=False), lse


@kernel("_scaled_dot_product_flash_attention_for_cpu_backward")
def flash_attention_backward(
    grad_out: np.ndarray,
    query: np.ndarray,
    key: np.ndarray,
    value: np.ndarray,
    out: np.ndarray,
    logsumexp: np.ndarray,
    dropout_p: float,
    is_causal: bool,
    attn_mask: np.ndarray | None,
    scale: float | None,
) -> tuple[np.ndarray, ...]:
    g, q, k, v, o, mask = _as_wide(grad_out, query, key, value, out, attn_mask)
    dq, dk, dv = np.empty(q.shape, q.dtype), np.zeros(k.shape, k.dtype), np.zeros(v.shape, v.dtype)
    factor = q.shape[-1] ** -0.5 if scale is None else float(scale)
    _backward(q, k, v, _full_mask(mask, q, k), is_causal, factor, o, logsumexp, g, dq, dk, dv)
    return tuple(d.astype(like.dtype, copy=False) for d, like in ((dq, query), (dk, key), (dv, value)))
