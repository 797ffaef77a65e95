"""Attention whose scores and mask are functions of positions, made of plain operators: the whole matrix of scores is
computed.

`score_mod(score, batch, head, q_idx, kv_idx)` and `mask_mod(batch, head, q_idx, kv_idx)` are called once, with
tensors of positions that broadcast to (batch, heads, queries, keys), so they must be written with operators that
work element by element.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, NamedTuple

from ..._dispatch import aten
from ..._tensor import Tensor
from ._block_mask import (
    _DEFAULT_SPARSE_BLOCK_SIZE,  # noqa: F401 - transformers imports it from here
    BlockMask,
    _positions,
    create_block_mask,
    create_mask,
    noop_mask,
)

__all__ = [
    "AuxOutput",
    "AuxRequest",
    "BlockMask",
    "and_masks",
    "create_block_mask",
    "create_mask",
    "flex_attention",
    "noop_mask",
    "or_masks",
]


class AuxOutput(NamedTuple):
    """What `flex_attention` returns besides the result, where asked for."""

    lse: Tensor | None = None
    max_scores: Tensor | None = None


class AuxRequest(NamedTuple):
    """What `flex_attention` shall return besides the result."""

    lse: bool = False
    max_scores: bool = False


def and_masks(*mask_mods: Callable[..., Any]) -> Callable[..., Any]:
    """The mask of positions that all masks let through."""

    def mask(b: Any, h: Any, q: Any, kv: Any) -> Any:
        made = mask_mods[0](b, h, q, kv)
        for other in mask_mods[1:]:
            made = made & other(b, h, q, kv)
        return made

    return mask


def or_masks(*mask_mods: Callable[..., Any]) -> Callable[..., Any]:
    """The mask of positions that one of the masks lets through."""

    def mask(b: Any, h: Any, q: Any, kv: Any) -> Any:
        made = mask_mods[0](b, h, q, kv)
        for other in mask_mods[1:]:
            made = made | other(b, h, q, kv)
        return made

    return mask


def _check(query: Any, key: Any, block_mask: BlockMask | None, enable_gqa: bool) -> None:
    if query.size(-1) != key.size(-1):
        raise ValueError(
            f"Expect query and key/value to have the same embedding dimension but got E={query.size(-1)} and "
            f"E={key.size(-1)}."
        )
    if query.size(1) != key.size(1) and not enable_gqa:
        raise ValueError(
            f"Expect query and key/value to have the same number of heads but got Hq={query.size(1)} and "
            f"Hkv={key.size(1)}. Try setting enable_gqa=True for GQA."
        )
    batches = query.size(0), key.size(0)
    if batches[0] != batches[1] and block_mask is None:
        raise ValueError(
            "Expect query and key/value to have the same batch size, or non-none block_mask, but got block_mask=None, "
            f"Bq={batches[0]}, and Bkv={batches[1]}."
        )
    if block_mask is None:
        return
    if batches[0] != batches[1] and block_mask.shape[0] != batches[0]:
        raise ValueError(
            "Expect query and key/value to have the same batch size, or block_mask and query to have the same batch "
            f"size, but got Bq={batches[0]}, Bkv={batches[1]}, B_block_mask={block_mask.shape[0]}."
        )
    q_len, kv_len = query.size(-2), key.size(-2)
    if block_mask.seq_lengths != (q_len, kv_len):
        raise ValueError(
            f"block_mask was created for block_mask.shape={block_mask.shape} but got q_len={q_len} and "
            f"kv_len={kv_len}. Create a new block mask with the correct length, or, where it is larger and "
            "mask_mod allows it, crop it to its upper left corner with block_mask._adjust(q_len, kv_len)."
        )


def flex_attention(
    query: Any,
    key: Any,
    value: Any,
    score_mod: Callable[..., Any] | None = None,
    block_mask: BlockMask | None = None,
    scale: float | None = None,
    enable_gqa: bool = False,
    return_lse: bool = False,
    kernel_options: Any = None,
    *,
    return_aux: AuxRequest | None = None,
) -> Any:
    """softmax(score_mod(query @ key^T * scale)) @ value, where the mask lets scores through.

    query (B, Hq, L, E), key (B, H, S, E), value (B, H, S, Ev) -> (B, Hq, L, Ev); with `return_lse` also the
    logarithm of the sum of exponentials, (B, Hq, L). Rows without any score give zeros. `enable_gqa` allows Hq to be
    a multiple of H.
    """
    if query.dim() != 4 or key.dim() != 4 or value.dim() != 4:
        raise NotImplementedError("NYI: query, key, and value must be 4D tensors")
    _check(query, key, block_mask, enable_gqa)
    if query.size(1) != key.size(1):
        groups = query.size(1) // key.size(1)
        key, value = key.repeat_interleave(groups, dim=1), value.repeat_interleave(groups, dim=1)
    scores = (query @ key.transpose(-2, -1)) * (1 / math.sqrt(query.size(-1)) if scale is None else scale)
    b, h, q, kv = scores.shape
    positions = _positions(b, h, q, kv, query.device)
    if score_mod is not None:
        scores = score_mod(scores, *positions)
    if block_mask is not None:
        allowed = block_mask.mask_mod(*positions)
        scores = scores.masked_fill(~allowed, -math.inf)
    lse = aten.logsumexp(scores, (-1,))
    empty = lse == -math.inf
    weights = aten.exp(scores - lse.masked_fill(empty, 0.0).unsqueeze(-1))
    made = weights.to(value.dtype) @ value
    if return_aux is not None:
        return made, AuxOutput(lse if return_aux.lse else None, scores.amax(-1) if return_aux.max_scores else None)
    return (made, lse) if return_lse else made
