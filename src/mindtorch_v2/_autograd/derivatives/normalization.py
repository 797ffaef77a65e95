"""Derivatives of the normalizations, and the derivatives of those.

All of them are one map. With h the output's gradient times the weight, M the mean over what is normalized together and
y = (x - mean) * rstd, the input receives rstd * P(h), where P(t) = t - M(t) - y * M(t * y) is symmetric.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ..._dispatch import aten
from ..rules import derivative

Ints = Sequence[int]
Mask = Sequence[bool]


def _plus(a: Any, b: Any) -> Any:
    return b if a is None else a + b


def _sum(t: Any, dims: Ints) -> Any:
    """The sum over these dimensions; over none of them if there are none, where the op would take all."""
    return aten.sum(t, dims, keepdim=True) if dims else t


def _second(
    G: Any, Gw: Any, Gb: Any, g: Any, x: Any, mean: Any, rstd: Any, weight: Any, together: Ints, shared: Ints
) -> list[Any]:
    """What g, x and the weight receive from the gradients G, Gw, Gb of (input's, weight's, bias's gradient).

    Everything broadcasts to x. `together` are the dimensions that a mean is taken over, `shared` those over which
    the weight's gradient is summed.
    """

    def mean_of(t: Any) -> Any:
        return aten.mean(t, together, keepdim=True)

    y = (x - mean) * rstd

    def project(t: Any) -> Any:
        return t - mean_of(t) - y * mean_of(t * y)

    h = g if weight is None else g * weight
    to_g = to_x = to_weight = toward_y = None
    if G is not None:
        back = rstd * project(G)
        to_g = back if weight is None else back * weight
        to_weight = _sum(g * back, shared) if weight is not None else None
        toward_y = -rstd * (G * mean_of(h * y) + h * mean_of(G * y))
        to_x = -rstd * y * mean_of(G * (rstd * project(h)))
    if Gw is not None:
        to_g = _plus(to_g, Gw * y)
        toward_y = _plus(toward_y, Gw * g)
    if Gb is not None:
        to_g = _plus(to_g, aten.expand_as(Gb, g))
    if toward_y is not None:
        to_x = _plus(to_x, rstd * project(toward_y))
    return [to_g, to_x, to_weight]


def _second_fixed(
    G: Any, Gw: Any, Gb: Any, g: Any, x: Any, mean: Any, rstd: Any, weight: Any, shared: Ints
) -> list[Any]:
    """The same where mean and rstd do not depend on x."""
    to_g = to_x = to_weight = None
    if G is not None:
        to_g = G * rstd if weight is None else G * (rstd * weight)
        to_weight = _sum(G * g * rstd, shared) if weight is not None else None
    if Gw is not None:
        to_g = _plus(to_g, Gw * ((x - mean) * rstd))
        to_x = Gw * g * rstd
    if Gb is not None:
        to_g = _plus(to_g, aten.expand_as(Gb, g))
    return [to_g, to_x, to_weight]


def _reshape_like(grads: Sequence[Any], like: Sequence[Any]) -> tuple[Any, ...]:
    """The gradients in the shapes of what they belong to."""
    return tuple(None if t is None else aten.reshape(t, shape) for t, shape in zip(grads, like))


# --- layer
def _layer(
    g: Sequence[Any],
    needs: Mask,
    input: Any,
    normalized_shape: Ints,
    weight: Any,
    bias: Any,
    result1: Any,
    result2: Any,
) -> Sequence[Any]:
    if g[0] is None:
        return (None, None, None)
    return aten.native_layer_norm_backward(g[0], input, normalized_shape, result1, result2, weight, bias, needs)


def _layer_second(
    g: Sequence[Any], grad_out: Any, input: Any, normalized_shape: Ints, mean: Any, rstd: Any, weight: Any
) -> Sequence[Any]:
    first = input.dim() - len(normalized_shape)
    shared = list(range(first))
    grads = _second(g[0], g[1], g[2], grad_out, input, mean, rstd, weight, list(range(first, input.dim())), shared)
    if grads[2] is not None:
        grads[2] = aten.reshape(grads[2], normalized_shape)
    return grads


# --- batch
def _batch(
    g: Sequence[Any],
    needs: Mask,
    input: Any,
    weight: Any,
    running_mean: Any,
    running_var: Any,
    training: bool,
    eps: float,
    result1: Any,
    result2: Any,
) -> Sequence[Any]:
    if g[0] is None:
        return (None, None, None)
    return aten.native_batch_norm_backward(
        g[0], input, weight, running_mean, running_var, result1, result2, training, eps, needs
    )


def _batch_second(
    g: Sequence[Any],
    grad_out: Any,
    input: Any,
    weight: Any,
    running_mean: Any,
    running_var: Any,
    save_mean: Any,
    save_invstd: Any,
    train: bool,
    eps: float,
) -> Sequence[Any]:
    per_channel = (1, -1, *(1,) * (input.dim() - 2))
    dims = [i for i in range(input.dim()) if i != 1]

    def spread(t: Any) -> Any:
        return None if t is None else aten.reshape(t, per_channel)

    directions = g[0], spread(g[1]), spread(g[2])
    if train:
        grads = _second(
            *directions, grad_out, input, spread(save_mean), spread(save_invstd), spread(weight), dims, dims
        )
    else:
        rstd = aten.rsqrt(running_var + eps)
        grads = _second_fixed(*directions, grad_out, input, spread(running_mean), spread(rstd), spread(weight), dims)
    return _reshape_like(grads, (grad_out.shape, input.shape, (-1,)))


# --- group
def _group(
    g: Sequence[Any],
    needs: Mask,
    input: Any,
    weight: Any,
    N: int,
    C: int,
    HxW: int,
    group: int,
    result1: Any,
    result2: Any,
) -> Sequence[Any]:
    grads: Sequence[Any] = (None, None, None)
    if g[0] is not None:
        plain = g[0] if g[0].is_contiguous() else aten.contiguous(g[0])
        grads = aten.native_group_norm_backward(plain, input, result1, result2, weight, N, C, HxW, group, needs)
    if needs[0] and (g[1] is not None or g[2] is not None):
        grads = (_plus(grads[0], _group_statistics(g[1], g[2], input, result1, result2)), *grads[1:])
    return grads


def _group_statistics(by_mean: Any, by_rstd: Any, input: Any, mean: Any, rstd: Any) -> Any:
    """What the input receives through its groups' means, d mean = 1/n, and through d rstd = -rstd ** 3 * (x - mean)
    / n.
    """
    shape = (*mean.shape, input.numel() // mean.numel() if mean.numel() else 0)
    rows = aten.reshape(input, shape)
    n = rows.shape[-1]
    out = aten.expand_as(aten.div(aten.unsqueeze(by_mean, -1), n), rows) if by_mean is not None else None
    if by_rstd is not None:
        slope = aten.div(aten.mul(by_rstd, aten.pow(rstd, 3)), -n)
        out = _plus(out, aten.mul(aten.unsqueeze(slope, -1), aten.sub(rows, aten.unsqueeze(mean, -1))))
    return aten.reshape(out, input.shape)


def _group_second(
    g: Sequence[Any], grad_out: Any, input: Any, mean: Any, rstd: Any, weight: Any, N: int, C: int, HxW: int, group: int
) -> Sequence[Any]:
    whole, per_group, per_channel = (N, group, C // group, HxW), (N, group, 1, 1), (1, group, C // group, 1)

    def reshape_or_none(t: Any, shape: Ints) -> Any:
        return None if t is None else aten.reshape(t, shape)

    grads = _second(
        reshape_or_none(g[0], whole),
        reshape_or_none(g[1], per_channel),
        reshape_or_none(g[2], per_channel),
        reshape_or_none(grad_out, whole),
        reshape_or_none(input, whole),
        reshape_or_none(mean, per_group),
        reshape_or_none(rstd, per_group),
        reshape_or_none(weight, per_channel),
        [2, 3],
        [0, 3],
    )
    return _reshape_like(grads, (grad_out.shape, input.shape, (C,)))


_PARAMETERS = ("input", "weight", "bias")
_SECOND = ("grad_out", "input", "weight")
derivative("native_layer_norm", inputs=_PARAMETERS, joint=_layer, constant=(1, 2))
derivative("native_layer_norm_backward", inputs=_SECOND, joint=_layer_second)
derivative("native_batch_norm", inputs=_PARAMETERS, joint=_batch, constant=(1, 2))
derivative("native_batch_norm_backward", inputs=_SECOND, joint=_batch_second)
derivative("native_group_norm", inputs=_PARAMETERS, joint=_group)
derivative("native_group_norm_backward", inputs=_SECOND, joint=_group_second)
