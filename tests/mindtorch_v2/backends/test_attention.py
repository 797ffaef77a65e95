"""Attention on sizes that are computed in tiles, against the plain formula."""

from __future__ import annotations

import numpy as np
import pytest

from mindtorch_v2._backends.cpu import attention, linalg  # noqa: F401 - the family registers both


def plain(
    q: np.ndarray, k: np.ndarray, v: np.ndarray, mask: np.ndarray | None, causal: bool
) -> tuple[np.ndarray, np.ndarray]:
    groups = q.shape[1] // k.shape[1]
    k, v = np.repeat(k, groups, axis=1), np.repeat(v, groups, axis=1)
    scores = q @ k.swapaxes(-1, -2) / np.sqrt(q.shape[-1])
    if mask is not None:
        scores = scores + mask
    if causal:
        scores = np.where(np.tri(*scores.shape[-2:], dtype=bool), scores, -np.inf)
    weights = np.exp(scores - scores.max(axis=-1, keepdims=True))
    weights /= weights.sum(axis=-1, keepdims=True)
    return weights @ v, weights


def inputs(rows: int, keys: int, heads: int = 4, key_heads: int = 4) -> list[np.ndarray]:
    rng = np.random.default_rng(rows)
    return [rng.normal(size=s) for s in ((2, heads, rows, 8), (2, key_heads, keys, 8), (2, key_heads, keys, 8))]


CASES = [
    (16, 24, 4, False, False),
    (300, 400, 4, False, False),
    (400, 300, 4, True, False),
    (300, 400, 2, True, False),
    (300, 300, 4, False, True),
    (900, 200, 1, True, False),
]


@pytest.mark.parametrize("rows, keys, key_heads, causal, masked", CASES)
def test_forward_and_backward(rows, keys, key_heads, causal, masked):
    q, k, v = inputs(rows, keys, key_heads=key_heads)
    mask = np.random.default_rng(1).normal(size=(rows, keys)) if masked else None
    out, sums = attention.flash_attention(q, k, v, 0.0, causal, mask, None)
    want, weights = plain(q, k, v, mask, causal)
    np.testing.assert_allclose(out, want, atol=1e-12)
    g = np.random.default_rng(2).normal(size=out.shape)
    dq, dk, dv = attention.flash_attention_backward(g, q, k, v, out, sums, 0.0, causal, mask, None)
    groups = q.shape[1] // key_heads
    wide_k, wide_v = np.repeat(k, groups, axis=1), np.repeat(v, groups, axis=1)
    ds = weights * (g @ wide_v.swapaxes(-1, -2) - (g * want).sum(-1, keepdims=True)) / np.sqrt(8)
    shared = (2, key_heads, groups, keys, 8)
    np.testing.assert_allclose(dq, ds @ wide_k, atol=1e-12)
    np.testing.assert_allclose(dk, (ds.swapaxes(-1, -2) @ q).reshape(shared).sum(2), atol=1e-11)
    np.testing.assert_allclose(dv, (weights.swapaxes(-1, -2) @ g).reshape(shared).sum(2), atol=1e-11)


def test_layout_of_the_query_is_kept():
    q, k, v = inputs(6, 6)
    out, _ = attention.flash_attention(
        q.transpose(0, 2, 1, 3).copy().transpose(0, 2, 1, 3), k, v, 0.0, False, None, None
    )
    assert out.transpose(0, 2, 1, 3).flags.c_contiguous
