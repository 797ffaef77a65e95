"""Rules of normalisations, class losses and searches on batched tensors (see _batching.py)."""

from __future__ import annotations

from typing import Any

from .._dispatch import aten
from ._batched import inner, is_at
from ._batching import in_batch, rule, size_of


@rule("constant_pad_nd")
def _constant_pad(level: int, self: Any, pad: Any, value: Any) -> Any:
    return NotImplemented if len(pad) > 2 * self.dim() else aten.constant_pad_nd(self._value, pad, value)


def _scale(out: Any, level: int, weight: Any, bias: Any) -> Any:
    """Weights and biases of channels, applied to values of shape (batch, examples, channels, ...)."""
    for factor, apply in ((weight, aten.mul), (bias, aten.add)):
        if factor is not None:
            lined = in_batch(factor, level)
            out = apply(out, lined.reshape([lined.shape[0], 1, -1, *[1] * (out.dim() - 3)]))
    return out


@rule("native_group_norm")
def _group_norm(
    level: int, input: Any, weight: Any, bias: Any, N: int, C: int, HxW: int, group: int, eps: float
) -> Any:
    """The batch joins the examples; weights are applied afterwards, since they may differ by sample."""
    size, value = size_of(level), in_batch(input, level)
    flat = value.reshape([size * N, *value.shape[2:]])
    made = aten.native_group_norm(flat, None, None, size * N, C, HxW, group, eps)
    out, mean, rstd = [m.reshape([size, N, *m.shape[1:]]) for m in made]
    return _scale(out, level, weight, bias), mean, rstd


@rule("native_batch_norm")
def _batch_norm(
    level: int,
    input: Any,
    weight: Any,
    bias: Any,
    running_mean: Any,
    running_var: Any,
    training: bool,
    momentum: float,
    eps: float,
) -> Any:
    """The batch joins the channels; weights are applied afterwards, since they may differ by sample."""
    kept = (running_mean, running_var)
    if training and any(k is not None and not is_at(k, level) for k in kept):
        raise RuntimeError(
            "Batch norm got a batched tensor as input while the running_mean or running_var, which will be updated in "
            "place, were not batched.\nIf you are using modules and do not need eval mode, please set "
            "`track_running_stats` to be False.If you are using a prebuilt module and do not need eval mode, please "
            "see the functorch website for resources on how to patch your module to work with vmap"
        )
    size, value = size_of(level), in_batch(input, level)
    rest = list(value.shape[3:])
    channels = value.transpose(0, 1).reshape([value.shape[1], size * value.shape[2], *rest])
    stats: list[Any] = [None if k is None else in_batch(k, level).reshape([-1]) for k in kept]
    made, mean, rstd = aten.native_batch_norm(channels, None, None, *stats, training, momentum, eps)
    if training:
        for k, updated in zip(kept, stats):
            if k is not None:
                k._value.copy_(updated.reshape(list(k._value.shape)))
    out = made.reshape([value.shape[1], size, value.shape[2], *rest]).transpose(0, 1)
    if not mean.numel():
        mean, rstd = [m.reshape([1, 0]).expand([size, 0]) for m in (mean, rstd)]
    return _scale(out, level, weight, bias), mean.reshape([size, -1]), rstd.reshape([size, -1])


@rule("nll_loss_forward", "nll_loss2d_forward")
def _nll_loss(level: int, self: Any, target: Any, weight: Any, reduction: int, ignore_index: int) -> Any:
    if is_at(weight, level):
        raise RuntimeError("vmap: class weights that differ by sample are not supported by nll_loss")
    scores, classes = in_batch(self, level), in_batch(target, level)
    axis = 1 if self.dim() == 1 else 2
    kept = classes != ignore_index
    safe = aten.where(kept, classes, 0)
    factors = kept.to(scores.dtype) if weight is None else weight[safe] * kept.to(scores.dtype)
    loss = -scores.gather(axis, safe.unsqueeze(axis)).squeeze(axis) * factors
    total, summed = [x if x.dim() == 1 else x.flatten(1).sum(-1) for x in (factors, loss)]
    if reduction == 0:
        return loss, aten.zeros_like(total)
    return (summed / total if reduction == 1 else summed), total


@rule("bucketize.Tensor")
def _bucketize(level: int, self: Any, boundaries: Any, out_int32: bool, right: bool) -> Any:
    if not is_at(boundaries, level):
        return aten.bucketize(self._value, boundaries, out_int32=out_int32, right=right)
    return _search(level, boundaries, self, out_int32, right, None, None)


@rule("searchsorted.Tensor")
def _search(level: int, sequence: Any, self: Any, out_int32: bool, right: bool, side: Any, sorter: Any) -> Any:
    """A row to search in for each sample; values of any shape are one row while they are searched for."""
    options = {"out_int32": out_int32, "right": right, "side": side}
    alone = not is_at(sequence, level) and not is_at(sorter, level)
    if sequence.dim() == 1 and alone:
        return aten.searchsorted(sequence, inner(self, level), sorter=sorter, **options)
    if sequence.dim() > 1 and sequence.dim() != self.dim():
        return NotImplemented
    rows, values = in_batch(sequence, level), in_batch(self, level)
    order = None if sorter is None else in_batch(sorter, level)
    if sequence.dim() > 1:
        return aten.searchsorted(rows, values, sorter=order, **options)
    flat = values.reshape([values.shape[0], self.numel()])
    return aten.searchsorted(rows, flat, sorter=order, **options).reshape(list(values.shape))
