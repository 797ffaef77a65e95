"""Multi-head attention.

Shapes: T target positions, S source positions, N batch, E features, H heads; inputs are (T, N, E), (S, N, E) or
without N.
"""

from __future__ import annotations

import math
import warnings
from dataclasses import dataclass
from typing import Any

from ... import _dtype as dt
from ..._dispatch import aten
from ..._dispatch.namespace import public
from ..._tensor import Tensor


def _canonical_mask(
    mask: Tensor | None,
    mask_name: str,
    other_type: dt.dtype | None,
    other_name: str,
    target_type: dt.dtype,
    check_other: bool = True,
) -> Tensor | None:
    """A mask to be added: a bool mask becomes -inf where it is True."""
    if mask is None:
        return None
    if mask.dtype is not dt.bool_ and not mask.dtype.is_floating_point:
        raise AssertionError(f"only bool and floating types of {mask_name} are supported")
    if check_other and other_type is not None and mask.dtype is not other_type:
        warnings.warn(
            f"Support for mismatched {mask_name} and {other_name} is deprecated. Use same type for both instead.",
            stacklevel=3,
        )
    if mask.dtype.is_floating_point:
        return mask
    return public.zeros_like(mask, dtype=target_type).masked_fill_(mask, float("-inf"))


def _none_or_dtype(input: Tensor | None) -> dt.dtype | None:
    return None if input is None else input.dtype


def _mha_shape_check(
    query: Tensor, key: Tensor, value: Tensor, key_padding_mask: Tensor | None, attn_mask: Tensor | None, num_heads: int
) -> bool:
    """Whether the input has a batch dimension; AssertionError if the shapes do not fit together."""
    if query.dim() not in (2, 3):
        raise AssertionError(
            f"query should be unbatched 2D or batched 3D tensor but received {query.dim()}-D query tensor"
        )
    batched = query.dim() == 3
    word, n = ("batched (3-D)", 3) if batched else ("unbatched (2-D)", 2)
    if key.dim() != n or value.dim() != n:
        raise AssertionError(
            f"For {word} `query`, expected `key` and `value` to be {n}-D but found {key.dim()}-D and "
            f"{value.dim()}-D tensors respectively"
        )
    if key_padding_mask is not None and key_padding_mask.dim() != n - 1:
        raise AssertionError(
            f"For {word} `query`, expected `key_padding_mask` to be `None` or {n - 1}-D but found "
            f"{key_padding_mask.dim()}-D tensor instead"
        )
    if attn_mask is not None:
        if attn_mask.dim() not in (2, 3):
            raise AssertionError(
                f"For {word} `query`, expected `attn_mask` to be `None`, 2-D or 3-D but found {attn_mask.dim()}-D "
                "tensor instead"
            )
        if not batched and attn_mask.dim() == 3:
            expected = (num_heads, query.shape[0], key.shape[0])
            if tuple(attn_mask.shape) != expected:
                raise AssertionError(f"Expected `attn_mask` shape to be {expected} but got {attn_mask.shape}")
    return batched


def _split_projection(x: Tensor, weight: Tensor, bias: Tensor | None, parts: int) -> Tensor:
    """One product for several projections of the same input: (parts, T, N, E)."""
    made = aten.linear(x, weight, bias).unflatten(-1, (parts, weight.shape[0] // parts))
    return made.unsqueeze(0).transpose(0, -2).squeeze(-2).contiguous()


def _in_projection_packed(q: Tensor, k: Tensor, v: Tensor, w: Tensor, b: Tensor | None = None) -> list[Tensor]:
    """Projects queries, keys and values with one stacked weight; inputs that are the same tensor share a product."""
    size = q.size(-1)
    if k is v:
        if q is k:
            made = _split_projection(q, w, b, 3)
            return [made[0], made[1], made[2]]
        w_q, w_kv = aten.split_with_sizes(w, [size, size * 2])
        b_q, b_kv = (None, None) if b is None else aten.split_with_sizes(b, [size, size * 2])
        query = aten.linear(q, w_q, b_q)
        made = _split_projection(k, w_kv, b_kv, 2)
        return [query, made[0], made[1]]
    weights = w.chunk(3)
    biases = (None, None, None) if b is None else b.chunk(3)
    return [aten.linear(x, wx, bx) for x, wx, bx in zip((q, k, v), weights, biases)]


def _in_projection(
    q: Tensor,
    k: Tensor,
    v: Tensor,
    w_q: Tensor,
    w_k: Tensor,
    w_v: Tensor,
    b_q: Tensor | None = None,
    b_k: Tensor | None = None,
    b_v: Tensor | None = None,
) -> tuple[Tensor, Tensor, Tensor]:
    """Projects queries, keys and values with weights of their own."""
    size = q.size(-1)
    for name, weight, x in (("query", w_q, q), ("key", w_k, k), ("value", w_v, v)):
        if tuple(weight.shape) != (size, x.size(-1)):
            raise AssertionError(f"expecting {name} weights shape of {(size, x.size(-1))}, but got {weight.shape}")
    for name, bias in (("query", b_q), ("key", b_k), ("value", b_v)):
        if bias is not None and tuple(bias.shape) != (size,):
            raise AssertionError(f"expecting {name} bias shape of {(size,)}, but got {bias.shape}")
    return aten.linear(q, w_q, b_q), aten.linear(k, w_k, b_k), aten.linear(v, w_v, b_v)


@dataclass
class _Heads:
    """The sizes of one call."""

    target: int
    batch: int
    size: int
    heads: int
    head_size: int


def _check_mask_shape(mask: Tensor, sizes: _Heads, source: int) -> Tensor:
    """The attention mask with three dimensions."""
    if mask.dim() == 2:
        if tuple(mask.shape) != (sizes.target, source):
            raise RuntimeError(
                f"The shape of the 2D attn_mask is {mask.shape}, but should be {(sizes.target, source)}."
            )
        return mask.unsqueeze(0)
    if mask.dim() == 3:
        expected = (sizes.batch * sizes.heads, sizes.target, source)
        if tuple(mask.shape) != expected:
            raise RuntimeError(f"The shape of the 3D attn_mask is {mask.shape}, but should be {expected}.")
        return mask
    raise RuntimeError(f"attn_mask's dimension {mask.dim()} is not supported")


def _masks(
    query: Tensor, key_padding_mask: Tensor | None, attn_mask: Tensor | None, is_causal: bool, need_weights: bool
) -> tuple[Tensor | None, Tensor | None, bool]:
    """Both masks as numbers to be added, and whether the causal hint can still be used."""
    key_padding_mask = _canonical_mask(
        key_padding_mask, "key_padding_mask", _none_or_dtype(attn_mask), "attn_mask", query.dtype
    )
    if is_causal and attn_mask is None:
        raise RuntimeError(
            "Need attn_mask if specifying the is_causal hint. You may use the Transformer module method "
            "`generate_square_subsequent_mask` to create this mask."
        )
    if is_causal and key_padding_mask is None and not need_weights:
        return None, None, True
    attn_mask = _canonical_mask(attn_mask, "attn_mask", None, "", query.dtype, check_other=False)
    return key_padding_mask, attn_mask, is_causal and key_padding_mask is None


def _append_key(
    k: Tensor,
    v: Tensor,
    more_k: Tensor,
    more_v: Tensor,
    dim: int,
    attn_mask: Tensor | None,
    key_padding_mask: Tensor | None,
) -> tuple[Tensor, Tensor, Tensor | None, Tensor | None]:
    """One more source position, which no mask hides."""
    k, v = aten.cat([k, more_k], dim), aten.cat([v, more_v], dim)
    return (
        k,
        v,
        None if attn_mask is None else aten.pad(attn_mask, (0, 1)),
        None if key_padding_mask is None else aten.pad(key_padding_mask, (0, 1)),
    )


def _to_heads(x: Tensor, sizes: _Heads) -> Tensor:
    """(L, N, E) -> (N * H, L, E / H)."""
    return x.view(x.shape[0], sizes.batch * sizes.heads, sizes.head_size).transpose(0, 1)


def _static(x: Tensor, name: str, sizes: _Heads) -> Tensor:
    if x.size(0) != sizes.batch * sizes.heads:
        raise AssertionError(f"expecting {name}.size(0) of {sizes.batch * sizes.heads}, but got {x.size(0)}")
    if x.size(2) != sizes.head_size:
        raise AssertionError(f"expecting {name}.size(2) of {sizes.head_size}, but got {x.size(2)}")
    return x


def _with_weights(
    q: Tensor, k: Tensor, v: Tensor, mask: Tensor | None, sizes: _Heads, dropout_p: float
) -> tuple[Tensor, Tensor]:
    """Attention that keeps its weights: (T * N, E) and (N * H, T, S)."""
    scaled = q * math.sqrt(1.0 / float(q.shape[-1]))
    scores = aten.bmm(scaled, k.transpose(-2, -1)) if mask is None else aten.baddbmm(mask, scaled, k.transpose(-2, -1))
    weights = aten.softmax(scores, -1)
    if dropout_p > 0.0:
        weights = aten.dropout(weights, dropout_p, True)
    out = aten.bmm(weights, v)
    return out.transpose(0, 1).reshape(sizes.target * sizes.batch, sizes.size), weights


def _without_weights(
    q: Tensor, k: Tensor, v: Tensor, mask: Tensor | None, sizes: _Heads, dropout_p: float, is_causal: bool, source: int
) -> Tensor:
    """Attention through scaled_dot_product_attention: (T * N, E)."""
    if mask is not None:
        mask = (
            mask.unsqueeze(0)
            if mask.size(0) == 1 and mask.dim() == 3
            else mask.view(sizes.batch, sizes.heads, -1, source)
        )
    shape = (sizes.batch, sizes.heads)
    q = q.view(*shape, sizes.target, sizes.head_size)
    k, v = k.view(*shape, source, sizes.head_size), v.view(*shape, source, sizes.head_size)
    out = aten.scaled_dot_product_attention(q, k, v, mask, dropout_p, is_causal)
    return out.permute(2, 0, 1, 3).reshape(sizes.batch * sizes.target, sizes.size)


def _sizes(
    query: Tensor, key: Tensor, value: Tensor, embed_dim_to_check: int, num_heads: int, separate: bool
) -> _Heads:
    target, batch, size = query.shape
    if size != embed_dim_to_check:
        raise AssertionError(f"was expecting embedding dimension of {embed_dim_to_check}, but got {size}")
    if (size // num_heads) * num_heads != size:
        raise AssertionError(f"embed_dim {size} not divisible by num_heads {num_heads}")
    if separate:
        if key.shape[:2] != value.shape[:2]:
            raise AssertionError(
                f"key's sequence and batch dims {key.shape[:2]} do not match value's {value.shape[:2]}"
            )
    elif key.shape != value.shape:
        raise AssertionError(f"key shape {key.shape} does not match value shape {value.shape}")
    return _Heads(target, batch, size, num_heads, size // num_heads)


def _project(
    query: Tensor,
    key: Tensor,
    value: Tensor,
    packed: Tensor | None,
    bias: Tensor | None,
    separate: bool,
    weights: tuple[Any, Any, Any],
) -> Any:
    if not separate:
        if packed is None:
            raise AssertionError("use_separate_proj_weight is False but in_proj_weight is None")
        return _in_projection_packed(query, key, value, packed, bias)
    for letter, weight in zip("qkv", weights):
        if weight is None:
            raise AssertionError(f"use_separate_proj_weight is True but {letter}_proj_weight is None")
    biases = (None, None, None) if bias is None else bias.chunk(3)
    return _in_projection(query, key, value, *weights, *biases)


def _padding_per_head(mask: Tensor, num_heads: int) -> Tensor:
    """The mask (N, S) of padding as (N * H, 1, S), which is added to the scores of every head."""
    batch, source = mask.shape
    return mask.view(batch, 1, 1, source).expand(-1, num_heads, -1, -1).reshape(batch * num_heads, 1, source)


def multi_head_attention_forward(
    query: Tensor,
    key: Tensor,
    value: Tensor,
    embed_dim_to_check: int,
    num_heads: int,
    in_proj_weight: Tensor | None,
    in_proj_bias: Tensor | None,
    bias_k: Tensor | None,
    bias_v: Tensor | None,
    add_zero_attn: bool,
    dropout_p: float,
    out_proj_weight: Tensor,
    out_proj_bias: Tensor | None,
    training: bool = True,
    key_padding_mask: Tensor | None = None,
    need_weights: bool = True,
    attn_mask: Tensor | None = None,
    use_separate_proj_weight: bool = False,
    q_proj_weight: Tensor | None = None,
    k_proj_weight: Tensor | None = None,
    v_proj_weight: Tensor | None = None,
    static_k: Tensor | None = None,
    static_v: Tensor | None = None,
    average_attn_weights: bool = True,
    is_causal: bool = False,
) -> tuple[Tensor, Tensor | None]:
    """softmax(Q K^T / sqrt(E / H) + masks) V per head, between an input and an output projection.

    Returns the output (T, N, E) and, with `need_weights`, the weights (N, T, S), or (N, H, T, S) if they are not
    averaged over the heads.

    >>> x, w = torch.ones(3, 1, 4), torch.eye(4)
    >>> out, weights = F.multi_head_attention_forward(
    ...     x, x, x, 4, 2, torch.cat([w, w, w]), None, None, None, False, 0., w, None)
    >>> out.shape, weights.shape
    (torch.Size([3, 1, 4]), torch.Size([1, 3, 3]))
    """
    batched = _mha_shape_check(query, key, value, key_padding_mask, attn_mask, num_heads)
    if not batched:
        query, key, value = query.unsqueeze(1), key.unsqueeze(1), value.unsqueeze(1)
        key_padding_mask = None if key_padding_mask is None else key_padding_mask.unsqueeze(0)
    key_padding_mask, attn_mask, is_causal = _masks(query, key_padding_mask, attn_mask, is_causal, need_weights)
    sizes = _sizes(query, key, value, embed_dim_to_check, num_heads, use_separate_proj_weight)
    source, batch = key.shape[0], sizes.batch
    q, k, v = _project(
        query,
        key,
        value,
        in_proj_weight,
        in_proj_bias,
        use_separate_proj_weight,
        (q_proj_weight, k_proj_weight, v_proj_weight),
    )
    if attn_mask is not None:
        attn_mask = _check_mask_shape(attn_mask, sizes, source)
    if bias_k is not None and bias_v is not None:
        if static_k is not None or static_v is not None:
            raise AssertionError(f"bias cannot be added to static {'key' if static_k is not None else 'value'}.")
        k, v, attn_mask, key_padding_mask = _append_key(
            k, v, bias_k.repeat(1, batch, 1), bias_v.repeat(1, batch, 1), 0, attn_mask, key_padding_mask
        )
    q = _to_heads(q, sizes)
    k = _to_heads(k, sizes) if static_k is None else _static(static_k, "static_k", sizes)
    v = _to_heads(v, sizes) if static_v is None else _static(static_v, "static_v", sizes)
    if add_zero_attn:
        zeros = [aten.zeros((batch * num_heads, 1, sizes.head_size), dtype=x.dtype, device=x.device) for x in (k, v)]
        k, v, attn_mask, key_padding_mask = _append_key(k, v, zeros[0], zeros[1], 1, attn_mask, key_padding_mask)
    source = k.size(1)
    if key_padding_mask is not None:
        padding = _padding_per_head(key_padding_mask, num_heads)
        attn_mask = padding if attn_mask is None else attn_mask + padding
    dropout_p = dropout_p if training else 0.0
    weights: Tensor | None = None
    if need_weights:
        out, weights = _with_weights(q, k, v, attn_mask, sizes, dropout_p)
    else:
        out = _without_weights(q, k, v, attn_mask, sizes, dropout_p, is_causal, source)
    out = aten.linear(out, out_proj_weight, out_proj_bias).view(sizes.target, batch, out_proj_weight.shape[0])
    if weights is not None:
        weights = weights.view(batch, num_heads, sizes.target, source)
        weights = weights.mean(dim=1) if average_attn_weights else weights
    if not batched:
        return out.squeeze(1), None if weights is None else weights.squeeze(0)
    return out, weights
