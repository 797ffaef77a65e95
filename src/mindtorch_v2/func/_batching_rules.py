"""Rules of operators on batched tensors that no general way covers (see _batching.py)."""

from __future__ import annotations

from typing import Any

from .._dispatch import aten
from .._ops.table import find
from .._tensor import Tensor
from ._batched import is_at, make_batched
from ._batching import RULES, Unwritable, align_ranks, call, in_batch, pad_rank, rule, size_of
from ._batching_tables import reduce_loss


# --- shapes
@rule("view", "_unsafe_view", "reshape")
def _view(level: int, self: Any, size: Any) -> Any:
    return aten.reshape(self._value, [size_of(level), *_sizes(self, size)])


def _sizes(self: Any, size: Any) -> list[int]:
    """Sizes without -1, which an empty batch would leave open."""
    known = 1
    for n in size:
        known *= n if n != -1 else 1
    return [self.numel() // known if n == -1 and known else n for n in size]


@rule("_reshape_alias")
def _reshape_alias(level: int, self: Any, size: Any, stride: Any) -> Any:
    return _view(level, self, size)


@rule("expand")
def _expand(level: int, self: Any, size: Any, implicit: Any) -> Any:
    value = pad_rank(self, level, len(size))
    return value.expand([size_of(level), *(value.shape[i + 1] if n == -1 else n for i, n in enumerate(size))])


@rule("repeat")
def _repeat(level: int, self: Any, repeats: Any) -> Any:
    return pad_rank(self, level, len(repeats)).repeat([1, *repeats])


@rule("roll")
def _roll(level: int, self: Any, shifts: Any, dims: Any) -> Any:
    """Without dimensions the elements of each sample are rolled as one row."""
    if dims and self.dim():
        return aten.roll(self._value, shifts, [d % self.dim() + 1 for d in dims])
    row = self._value.reshape([size_of(level), self.numel()])
    return aten.roll(row, shifts, [1]).reshape(list(self._value.shape))


@rule("masked_fill.Tensor")
def _masked_fill(level: int, self: Any, mask: Any, value: Any) -> Any:
    own, where, filling = align_ranks((self, mask, value), level)
    return aten.where(where, filling.to(own.dtype), own)


@rule("squeeze")
def _squeeze(level: int, self: Any) -> Any:
    dims = [i + 1 for i, n in enumerate(self.shape) if n == 1]
    return aten.squeeze(self._value, dims) if dims else self._value


def _position(name: str) -> None:
    @rule(name)
    def position(level: int, self: Any, dim: int | None, keepdim: bool) -> Any:
        if dim is not None:
            value = self._value if self.dim() else self._value.unsqueeze(1)
            found = aten.overload(name)(value, dim % max(self.dim(), 1) + 1, keepdim)
            return found if self.dim() else found.reshape([-1])
        found = aten.overload(name)(self._value.reshape([size_of(level), -1]), 1)
        return found.reshape([-1, *[1] * self.dim()]) if keepdim else found


for _name in ("argmax", "argmin"):
    _position(_name)


@rule("as_strided")
def _as_strided(level: int, self: Any, size: Any, stride: Any, storage_offset: Any) -> Any:
    """Strides and offsets are those of one sample in memory of its own."""
    return aten.stack(
        [aten.as_strided(sample.contiguous().clone(), size, stride, storage_offset) for sample in self._value]
    )


@rule("t")
def _t(level: int, self: Any) -> Any:
    return self._value if self.dim() < 2 else self._value.transpose(1, 2)


@rule("cat")
def _cat(level: int, tensors: Any, dim: int) -> Any:
    used = [t for t in tensors if t.shape != (0,)] or list(tensors)
    n = used[0].dim()
    return aten.cat([in_batch(t, level) for t in used], dim % n + 1)


@rule("stack")
def _stack(level: int, tensors: Any, dim: int) -> Any:
    return aten.stack([in_batch(t, level) for t in tensors], dim % (tensors[0].dim() + 1) + 1)


for _name in ("zeros_like", "ones_like", "empty_like", "full_like"):
    RULES[_name] = lambda level, self, *rest, name=_name: call(find(name), (self._value, *rest))
for _name in ("new_zeros", "new_ones", "new_empty", "new_full"):
    RULES[_name] = lambda level, self, size, *rest, name=_name: call(
        find(name), (self._value, [size_of(level), *size], *rest)
    )


# --- indices
@rule("gather")
def _gather(level: int, self: Any, dim: int, index: Any, sparse_grad: Any) -> Any:
    value, where = in_batch(self, level), in_batch(index, level)
    if not self.dim():
        made = aten.gather(value.unsqueeze(1), 1, where.reshape([where.shape[0], -1]))
        return made.reshape(list(where.shape))
    return aten.gather(value, dim % self.dim() + 1, where)


@rule("index_select")
def _index_select(level: int, self: Any, dim: int, index: Any) -> Any:
    if not self.dim():  # the only index is 0
        return in_batch(self, level).clone()
    if not is_at(index, level):
        return aten.index_select(self._value, dim % self.dim() + 1, index)
    return _rows(level, self, dim, index)


def _rows(level: int, self: Any, dim: int, index: Any) -> Any:
    axis = dim % self.dim()
    value, where = in_batch(self, level), index._value
    shape = [*value.shape[: axis + 1], where.shape[1], *value.shape[axis + 2 :]]
    spread = where.reshape([where.shape[0], *[1] * axis, where.shape[1], *[1] * (value.dim() - axis - 2)]).expand(shape)
    return aten.gather(value, axis + 1, spread)


@rule("embedding")
def _embedding(level: int, weight: Any, indices: Any, padding_idx: Any, scale_grad_by_freq: Any, sparse: Any) -> Any:
    if not is_at(weight, level):
        return aten.embedding(weight, indices._value, padding_idx, scale_grad_by_freq, sparse)
    where = in_batch(indices, level)
    flat = where.reshape([where.shape[0], -1])
    rows = _rows(level, weight, 0, make_batched(flat, level))
    return rows.reshape([*where.shape, rows.shape[-1]])


@rule("index.Tensor")
def _index(level: int, self: Any, indices: Any) -> Any:
    """Indices of the batch itself make samples meet their own indices."""
    plain = [i for i in indices if i is not None]
    if any(i.dtype.category == 0 for i in plain):
        raise RuntimeError(
            "vmap: It looks like you're indexing with a mask, whose result has a different shape for every sample. Use "
            "torch.where instead."
        )
    if not any(is_at(i, level) for i in plain):
        whole: tuple[Any, ...] = (slice(None), *(slice(None) if i is None else i for i in indices))
        return self._value[whole]
    rank = max(i.dim() for i in plain)
    given = [slice(None) if i is None else pad_rank(i, level, rank) for i in indices]
    if not is_at(self, level):
        first = next(k for k, i in enumerate(indices) if i is not None)
        if any(i is None for i in indices[first : first + len(plain)]):
            raise RuntimeError("vmap: indices that do not stand side by side cannot be batched")
        made = self[tuple(given)]
        return made.movedim(first, 0)
    batch = aten.arange(size_of(level), device=self._value.device).reshape([-1, *[1] * rank])
    first = next(k for k, i in enumerate(indices) if i is not None)
    if first == 0:
        with_batch: tuple[Any, ...] = (batch, *given)
        return self._value[with_batch]
    value = self._value.movedim(0, first)  # the batch stands beside the indices
    beside: tuple[Any, ...] = (*given[:first], batch, *given[first:])
    return value[beside].movedim(first, 0)


# --- layers
@rule("convolution")
def _convolution(
    level: int,
    input: Any,
    weight: Any,
    bias: Any,
    stride: Any,
    padding: Any,
    dilation: Any,
    transposed: bool,
    output_padding: Any,
    groups: int,
) -> Any:
    """Samples are images of one large batch; weights that differ by sample are groups of one convolution."""
    size, options = size_of(level), (stride, padding, dilation, transposed, output_padding)
    if not is_at(weight, level) and not is_at(bias, level):
        value = input._value
        made = aten.convolution(value.reshape([-1, *value.shape[2:]]), weight, bias, *options, groups)
        return made.reshape([size, -1, *made.shape[1:]])
    value, kernels = in_batch(input, level).transpose(0, 1), in_batch(weight, level)
    flat = value.reshape([value.shape[0], -1, *value.shape[3:]])
    made = aten.convolution(
        flat,
        kernels.reshape([-1, *kernels.shape[2:]]),
        None if bias is None else in_batch(bias, level).reshape([-1]),
        *options,
        groups * size,
    )
    return made.reshape([made.shape[0], size, -1, *made.shape[2:]]).transpose(0, 1)


def _register_folding(name: str) -> None:
    """An operator on images: the batch joins the dimension of examples."""

    @rule(name)
    def fold(level: int, *args: Any) -> Any:
        if any(is_at(x, level) for x in args[1:]) or args[0].dim() < 3:
            raise RuntimeError(f"vmap: aten::{name} is batched over its first argument of 3 or more dimensions only")
        value = args[0]._value
        size, each = value.shape[:2]
        made = aten.overload(name)(value.reshape([size * each, *value.shape[2:]]), *args[1:])
        unfold = [
            m.reshape([size, m.shape[0] // max(size, 1), *m.shape[1:]])
            for m in (made if isinstance(made, (tuple, list)) else (made,))
        ]
        return unfold[0] if isinstance(made, Tensor) else tuple(unfold)


for _name in (
    "max_pool2d_with_indices",
    "max_pool3d_with_indices",
    "avg_pool2d",
    "avg_pool3d",
    "_adaptive_avg_pool2d",
    "_adaptive_avg_pool3d",
    "adaptive_max_pool2d",
    "adaptive_max_pool3d",
    "upsample_nearest2d",
    "upsample_bilinear2d",
    "upsample_nearest1d",
    "upsample_linear1d",
    "pixel_shuffle",
    "pixel_unshuffle",
):
    _register_folding(_name)


@rule("native_layer_norm")
def _layer_norm(level: int, input: Any, normalized_shape: Any, weight: Any, bias: Any, eps: float) -> Any:
    """Weights that differ by sample are applied after the normalisation."""
    out, mean, rstd = aten.native_layer_norm(in_batch(input, level), normalized_shape, None, None, eps)
    if weight is not None:
        out = out * pad_rank(weight, level, input.dim())
    if bias is not None:
        out = out + pad_rank(bias, level, input.dim())
    return out, mean, rstd


@rule("_scaled_dot_product_flash_attention_for_cpu")
def _attention(
    level: int, query: Any, key: Any, value: Any, dropout_p: float, is_causal: bool, attn_mask: Any, scale: Any
) -> Any:
    size = size_of(level)
    q, k, v = [in_batch(x, level).reshape([-1, *x.shape[1:]]) for x in (query, key, value)]
    mask = attn_mask
    if is_at(attn_mask, level) or (attn_mask is not None and attn_mask.dim() == 4 and attn_mask.shape[0] != 1):
        whole = pad_rank(attn_mask, level, 4) if is_at(attn_mask, level) else in_batch(attn_mask, level)
        mask = whole.expand([size, query.shape[0], *whole.shape[2:]]).reshape([-1, *whole.shape[2:]])
    made = aten._scaled_dot_product_flash_attention_for_cpu(q, k, v, dropout_p, is_causal, attn_mask=mask, scale=scale)
    return tuple(m.reshape([size, -1, *m.shape[1:]]) for m in made)


@rule("binary_cross_entropy_with_logits")
def _bce_with_logits(level: int, self: Any, target: Any, weight: Any, pos_weight: Any, reduction: int) -> Any:
    a, b, w, p = align_ranks((self, target, weight, pos_weight), level)
    return reduce_loss(aten.binary_cross_entropy_with_logits(*aten.broadcast_tensors([a, b]), w, p, 0), reduction)


@rule("copy_")
def _copy(level: int, self: Any, src: Any, non_blocking: Any) -> Any:
    if not is_at(self, level):
        raise Unwritable("vmap: copy_ of a batched tensor into one that is not batched")
    self._value.copy_(pad_rank(src, level, self.dim()))
    return self._value
