"""Limiting gradients."""

from __future__ import annotations

import types
import warnings
from collections import defaultdict
from collections.abc import Iterable
from typing import Any

from ... import _observer
from ..._autograd.grad_mode import no_grad
from ..._dispatch import aten
from ..._tensor import PART_NAME, Tensor

__all__ = ["clip_grad_norm_", "clip_grad_value_", "clip_grads_with_norm_", "get_total_norm"]


def _by_device_and_type(tensors: list[Tensor]) -> list[list[Tensor]]:
    device, dtype = (tensors[0].device, tensors[0].dtype) if tensors else (None, None)
    if tensors and all([t.dtype is dtype and t.device is device for t in tensors]):  # noqa: C419 - a list is quicker
        return [tensors]
    groups: dict[Any, list[Tensor]] = defaultdict(list)
    for t in tensors:
        groups[t.device, t.dtype].append(t)
    return list(groups.values())


def _on(t: Tensor, device: Any) -> Tensor:
    """The tensor on a device; a profile lists the conversion, needed or not."""
    return t if t.device is device and _observer.active is None else t.to(device)


def _as_list(parameters: Tensor | Iterable[Tensor]) -> list[Tensor]:
    if isinstance(parameters, Tensor):
        return [parameters]
    generator = isinstance(parameters, types.GeneratorType)
    made = list(parameters)
    if generator and not made:
        warnings.warn("`parameters` is an empty generator, no gradient clipping will occur.", stacklevel=4)
    return made


@no_grad()
def get_total_norm(
    tensors: Tensor | Iterable[Tensor],
    norm_type: float = 2.0,
    error_if_nonfinite: bool = False,
    foreach: bool | None = None,
) -> Tensor:
    """The norm of all tensors together, as if they were one vector.

    Of gradients of parameters that `fully_shard` spread it is the norm of the whole gradients: all processes call it
    and get the same.

    >>> nn.utils.get_total_norm([torch.tensor([3.]), torch.tensor([4.])])
    tensor(5.)
    """
    tensors = [tensors] if isinstance(tensors, Tensor) else list(tensors)
    norm_type = float(norm_type)
    if not tensors:
        return aten.full((), 0.0)
    parts = [t for t in tensors if hasattr(t, PART_NAME)]
    norms: list[Tensor] = []
    for group in _by_device_and_type([t for t in tensors if not hasattr(t, PART_NAME)] if parts else tensors):
        if foreach is None or foreach:
            norms.extend(aten._foreach_norm(group, norm_type))
        else:
            norms.extend(aten.linalg_vector_norm(t, norm_type) for t in group)
    if parts:
        from ...distributed._shards import whole_norms

        norms.extend(whole_norms(parts, norm_type))
    norms = [n.full_tensor() if hasattr(n, "full_tensor") else n for n in norms]
    device = tensors[0].device
    total = aten.linalg_vector_norm(aten.stack([_on(n, device) for n in norms]), norm_type)
    if error_if_nonfinite and bool(aten.logical_or(total.isnan(), total.isinf())):
        raise RuntimeError(
            f"The total norm of order {norm_type} for gradients from `parameters` is non-finite, so it cannot be "
            "clipped. To disable this error and scale the gradients by the non-finite norm anyway, set "
            "`error_if_nonfinite=False`"
        )
    return total


@no_grad()
def clip_grads_with_norm_(
    parameters: Tensor | Iterable[Tensor], max_norm: float, total_norm: Tensor, foreach: bool | None = None
) -> None:
    """Scales the gradients by max_norm / total_norm if that is below one.

    >>> w = nn.Parameter(torch.zeros(2))
    >>> w.grad = torch.tensor([3., 4.])
    >>> nn.utils.clip_grads_with_norm_([w], 1., torch.tensor(5.))
    >>> w.grad
    tensor([0.6000, 0.8000])
    """
    grads = [p.grad for p in _as_list(parameters) if p.grad is not None]
    if not grads:
        return
    factor = aten.clamp(float(max_norm) / (total_norm + 1e-6), max=1.0)
    for group in _by_device_and_type(grads):
        local = _on(factor, group[0].device)
        if foreach is None or foreach:
            aten._foreach_mul_(group, local)
        else:
            for g in group:
                g.mul_(local)


@no_grad()
def clip_grad_norm_(
    parameters: Tensor | Iterable[Tensor],
    max_norm: float,
    norm_type: float = 2.0,
    error_if_nonfinite: bool = False,
    foreach: bool | None = None,
) -> Tensor:
    """Scales the gradients of all parameters together so that their norm is at most `max_norm`; returns the norm they
    had.

    >>> w = nn.Parameter(torch.zeros(2))
    >>> w.grad = torch.tensor([3., 4.])
    >>> nn.utils.clip_grad_norm_([w], max_norm=1.)
    tensor(5.)
    >>> w.grad
    tensor([0.6000, 0.8000])
    """
    found = _as_list(parameters)
    total = get_total_norm([p.grad for p in found if p.grad is not None], norm_type, error_if_nonfinite, foreach)
    clip_grads_with_norm_(found, max_norm, total, foreach)
    return total


@no_grad()
def clip_grad_value_(parameters: Tensor | Iterable[Tensor], clip_value: float, foreach: bool | None = None) -> None:
    """Cuts every element of the gradients to [-clip_value, clip_value].

    >>> w = nn.Parameter(torch.zeros(2))
    >>> w.grad = torch.tensor([3., -0.5])
    >>> nn.utils.clip_grad_value_([w], 1.)
    >>> w.grad
    tensor([ 1.0000, -0.5000])
    """
    limit = float(clip_value)
    found: Iterable[Tensor] = [parameters] if isinstance(parameters, Tensor) else parameters
    for group in _by_device_and_type([p.grad for p in found if p.grad is not None]):
        if foreach is None or foreach:
            aten._foreach_clamp_min_(group, -limit)
            aten._foreach_clamp_max_(group, limit)
        else:
            for g in group:
                g.clamp_(min=-limit, max=limit)


def clip_grad_norm(
    parameters: Tensor | Iterable[Tensor],
    max_norm: float,
    norm_type: float = 2.0,
    error_if_nonfinite: bool = False,
    foreach: bool | None = None,
) -> Tensor:
    """Deprecated name of `clip_grad_norm_`.

    >>> w = nn.Parameter(torch.zeros(2))
    >>> w.grad = torch.tensor([3., 4.])
    >>> nn.utils.clip_grad_norm([w], max_norm=1.)
    tensor(5.)
    """
    warnings.warn(
        "`torch.nn.utils.clip_grad_norm` is now deprecated in favor of `torch.nn.utils.clip_grad_norm_`.",
        FutureWarning,
        stacklevel=2,
    )
    return clip_grad_norm_(parameters, max_norm, norm_type, error_if_nonfinite, foreach)
