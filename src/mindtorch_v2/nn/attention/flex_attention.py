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

__all__ = ["BlockMask", "and_masks", "create_block_mask", "create_mask", "flex_attention", "noop_mask", "or_masks"]
_DEFAULT_SPARSE_BLOCK_SIZE = 128


class AuxOutput(NamedTuple):
    """What `flex_attention` returns besides the result, where asked for."""

    lse: Tensor | None = None
    max_scores: Tensor | None = None


class AuxRequest(NamedTuple):
    """What `flex_attention` shall return besides the result."""

    lse: bool = False
    max_scores: bool = False


def noop_mask(batch: Any, head: Any, token_q: Any, token_kv: Any) -> Any:
    """A mask that lets everything through."""
    return aten.ones_like(batch, dtype=_bool())


def _bool() -> Any:
    from ... import _dtype

    return _dtype.bool_


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


def _positions(b: int, h: int, q: int, kv: int, device: Any) -> tuple[Any, ...]:
    """Tensors of positions along each of four dimensions; together they broadcast to all of them."""
    shapes = ((b, 1, 1, 1), (1, h, 1, 1), (1, 1, q, 1), (1, 1, 1, kv))
    return tuple(aten.arange(max(shape), device=device).view(shape) for shape in shapes)


def create_mask(
    mod_fn: Callable[..., Any], B: int | None, H: int | None, Q_LEN: int, KV_LEN: int, device: Any = "cpu"
) -> Any:
    """The mask as a tensor of bools, (B, H, Q_LEN, KV_LEN); 1 for dimensions that are None."""
    shape = (B or 1, H or 1, Q_LEN, KV_LEN)
    from ..._device import resolve

    return aten.expand(mod_fn(*_positions(*shape, resolve(device))), shape).clone()


class BlockMask:
    """A mask that is known by its function; as a tensor it is made when it is needed."""

    def __init__(
        self,
        mask_mod: Callable[..., Any],
        shape: tuple[int, int, int, int],
        device: Any,
        BLOCK_SIZE: int | tuple[int, int] = _DEFAULT_SPARSE_BLOCK_SIZE,
    ) -> None:
        self.mask_mod, self.shape, self.device = mask_mod, shape, device
        self.BLOCK_SIZE = (BLOCK_SIZE, BLOCK_SIZE) if isinstance(BLOCK_SIZE, int) else BLOCK_SIZE
        self.seq_lengths = shape[2:]

    def dense(self) -> Any:
        """The mask as a tensor of bools."""
        return create_mask(self.mask_mod, *self.shape, device=self.device)

    def to_dense(self) -> Any:
        """Which blocks hold a position that is let through, as a tensor of int32, (B, H, blocks of queries, blocks
        of keys).
        """
        (rows, columns), mask = self.BLOCK_SIZE, self.dense()
        b, h, q, kv = self.shape
        down, across = math.ceil(q / rows), math.ceil(kv / columns)
        padded = aten.constant_pad_nd(mask, (0, across * columns - kv, 0, down * rows - q), False)
        from ... import _dtype

        return padded.view(b, h, down, rows, across, columns).any(5).any(3).to(_dtype.int32)

    def sparsity(self) -> float:
        """The share of blocks, in percent, that hold no position which is let through."""
        blocks = self.to_dense()
        return 100 * (1 - blocks.sum().item() / blocks.numel())

    def numel(self) -> int:
        return math.prod(self.shape)

    def to(self, device: Any) -> BlockMask:
        """The same on another device."""
        return BlockMask(self.mask_mod, self.shape, device, self.BLOCK_SIZE)

    def __getitem__(self, index: Any) -> BlockMask:
        """The mask of chosen batches or heads."""
        index = index if isinstance(index, tuple) else (index,)
        mask = self.dense()[tuple(slice(i, i + 1) if isinstance(i, int) else i for i in index)]
        return BlockMask(lambda b, h, q, kv: mask[b, h, q, kv], tuple(mask.shape), self.device, self.BLOCK_SIZE)

    def __repr__(self) -> str:
        return f"BlockMask(shape={self.shape}, sparsity={self.sparsity():.2f}%)"


def create_block_mask(
    mask_mod: Callable[..., Any],
    B: int | None,
    H: int | None,
    Q_LEN: int,
    KV_LEN: int,
    device: Any = "cpu",
    BLOCK_SIZE: int | tuple[int, int] = _DEFAULT_SPARSE_BLOCK_SIZE,
    _compile: bool = False,
) -> BlockMask:
    """The mask of a function of positions, for `flex_attention`."""
    return BlockMask(mask_mod, (B or 1, H or 1, Q_LEN, KV_LEN), device, BLOCK_SIZE)


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
    if query.size(1) != key.size(1):
        if not enable_gqa:
            raise ValueError(
                f"Expect query and key/value to have the same number of heads but got Hq={query.size(1)} and "
                f"Hkv={key.size(1)}. Try setting enable_gqa=True for GQA."
            )
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
