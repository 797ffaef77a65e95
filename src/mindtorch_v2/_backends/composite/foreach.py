"""Ops on lists of tensors, as loops over the ops on single tensors; optimizer steps on whole lists."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import isfinite
from typing import Any

from ... import _accelerators
from ... import _dtype as dt
from ..._dispatch import aten, modes
from ..._dispatch.outputs import flat_tensors
from ..._dispatch.registry import composite
from ..._keys import CPU, META
from ..._ops.foreach import ALPHA, BINARY, TENSOR, TERNARY, UNARY
from ..._tensor import Tensor, bump_version
from ..cpu.foreach import adam_step, sgd_step

_SINGLE = {"maximum": "clamp_min", "minimum": "clamp_max"}  # PyTorch's loops call these


def _check(tensors: Sequence[Any], others: Sequence[Sequence[Any]]) -> None:
    if not tensors:
        raise RuntimeError("Tensor list must have at least one tensor.")
    for other in others:
        if len(other) == len(tensors):
            continue
        if other and isinstance(other[0], Tensor):
            raise RuntimeError(
                f"Tensor lists must have the same number of tensors, got {len(tensors)} and {len(other)}"
            )
        raise RuntimeError("Tensor list must have same number of elements as scalar list.")


def _loop_over(single: str, keyword: str = "") -> tuple[Callable[..., tuple[Any, ...]], Callable[..., Any]]:
    """The functional and the in-place loop over the op `single`; its last argument is passed as `keyword` if one is
    given. The in-place one returns the list that it was given.
    """

    def loop(name: str, tensors: Sequence[Any], args: tuple[Any, ...]) -> tuple[Any, ...]:
        _check(tensors, [a for a in args if isinstance(a, (list, tuple))])
        function = getattr(aten, name)
        made = []
        for i, t in enumerate(tensors):
            given = [a[i] if isinstance(a, (list, tuple)) else a for a in args]
            made.append(function(t, *given[:-1], **{keyword: given[-1]}) if keyword else function(t, *given))
        return tuple(made)

    def functional(self: Sequence[Any], *args: Any) -> tuple[Any, ...]:
        return loop(single, self, args)

    def inplace(self: Sequence[Any], *args: Any) -> Sequence[Any]:
        loop(f"{single}_", self, args)
        return self

    return functional, inplace


def _extremes(base: str) -> tuple[Callable[..., tuple[Any, ...]], Callable[..., Any]]:
    """The loops of maximum and minimum: in a graph ties share their gradient, which clamp_min and clamp_max give to
    self.
    """
    functional, inplace = _loop_over(_SINGLE[base])
    function = getattr(aten, base)

    def shared(tensors: Sequence[Any], others: Any) -> list[Any]:
        _check(tensors, [others] if isinstance(others, (list, tuple)) else [])
        each = others if isinstance(others, (list, tuple)) else [others] * len(tensors)
        return [
            function(t, o if isinstance(o, Tensor) else aten.scalar_tensor(o, dtype=t.dtype, device=t.device))
            for t, o in zip(tensors, each)
        ]

    def in_graph(tensors: Sequence[Any], others: Any) -> bool:
        return modes.grad_enabled() and any(t.requires_grad for t in flat_tensors((tensors, others)))

    def inplace_shared(self: Sequence[Any], other: Any) -> Sequence[Any]:
        if not in_graph(self, other):
            return inplace(self, other)
        return foreach_copy_(self, shared([aten.clone(t) for t in self], other), False)

    return (
        lambda self, other: tuple(shared(self, other)) if in_graph(self, other) else functional(self, other),
        inplace_shared,
    )


def _register(overload: str, keyword: str = "") -> None:
    base, dot, rest = overload.partition(".")
    functional, inplace = _extremes(base) if base in _SINGLE else _loop_over(base, keyword)
    composite(f"_foreach_{overload}")(functional)
    composite(f"_foreach_{base}_{dot}{rest}")(inplace)


for _name in UNARY:
    _register(_name)
for _name in BINARY:
    _register(f"{_name}.List", "alpha" if _name in ALPHA else "")
    _register(f"{_name}.Scalar")
    _register(f"{_name}.ScalarList")
    if _name in TENSOR:
        _register(f"{_name}.Tensor", "alpha" if _name == "add" else "")
for _name in TERNARY:
    _register(f"{_name}.Scalar", "value")
    _register(f"{_name}.ScalarList", "value")
for _overload in ("lerp.List", "lerp.Scalar", "lerp.ScalarList", "pow.List", "pow.Scalar", "pow.ScalarList"):
    _register(_overload)


def _register_packed(name: str) -> None:
    """addcdiv and addcmul with their factors packed in one tensor."""
    functional, inplace = _loop_over(name, "value")
    composite(f"_foreach_{name}.Tensor")(
        lambda self, tensor1, tensor2, scalars: functional(self, tensor1, tensor2, scalars.tolist())
    )
    composite(f"_foreach_{name}_.Tensor")(
        lambda self, tensor1, tensor2, scalars: inplace(self, tensor1, tensor2, scalars.tolist())
    )


for _name in TERNARY:
    _register_packed(_name)


@composite("_foreach_pow.ScalarAndTensor")
def foreach_power_of_number(self: Any, exponent: Sequence[Any]) -> tuple[Any, ...]:
    _check(exponent, ())
    return tuple([aten.pow(self, e) for e in exponent])


@composite("_foreach_norm.Scalar")
def foreach_norm(self: Sequence[Any], ord: Any, dtype: Any) -> tuple[Any, ...]:
    _check(self, ())
    return tuple([aten.linalg_vector_norm(t, ord, dtype=dtype) for t in self])


@composite("_foreach_max")
def foreach_max(self: Sequence[Any]) -> tuple[Any, ...]:
    _check(self, ())
    return tuple([aten.max(t) for t in self])


@composite("_foreach_clone")
def foreach_clone(self: Sequence[Any], memory_format: Any) -> tuple[Any, ...]:
    _check(self, ())
    return tuple([aten.clone(t, memory_format=memory_format) for t in self])


@composite("_foreach_copy_")
def foreach_copy_(self: Sequence[Any], src: Sequence[Any], non_blocking: bool) -> Sequence[Any]:
    _check(self, (src,))
    for t, s in zip(self, src):
        aten.copy_(t, s, non_blocking)
    return self


@composite("_foreach_zero_")
def foreach_zero_(self: Sequence[Any]) -> Sequence[Any]:
    _check(self, ())
    for t in self:
        aten.zero_(t)
    return self


# --- optimizer steps
def _number(value: Any) -> Any:
    return value.item() if isinstance(value, Tensor) else value


def _may_run(name: str, params: Sequence[Any], found_inf: Any) -> bool:
    """Whether there is something to do: real memory, and gradients that did not overflow."""
    keys = 0
    for p in params:
        keys |= p._keys
    if keys & META:
        return False
    if not keys & CPU and _accelerators.replacement(keys, _step_name(name)) is None:
        raise NotImplementedError(f"aten::{name} has no form for this device; use foreach=True or the plain loop")
    return found_inf is None or _number(found_inf) == 0


def _step_name(name: str) -> str:
    """By what name a backend offers the step of one parameter: AdamW's is Adam's, with `decoupled=True`."""
    return "_fused_adam_" if name == "_fused_adamw_" else name


def _count_writes(*lists: Sequence[Any]) -> None:
    for tensors in lists:
        for t in tensors:
            bump_version(t)


@composite("_fused_sgd_", "_fused_sgd_.tensor_lr")
def fused_sgd_(
    self: Sequence[Any],
    grads: Sequence[Any],
    momentum_buffer_list: Sequence[Any],
    weight_decay: float,
    momentum: float,
    lr: Any,
    dampening: float,
    nesterov: bool,
    maximize: bool,
    is_first_step: bool,
    grad_scale: Any,
    found_inf: Any,
) -> None:
    if not _may_run("_fused_sgd_", self, found_inf):
        return
    rate, scale = _number(lr), _number(grad_scale)
    buffers = momentum_buffer_list or [None] * len(self)
    for p, g, b in zip(self, grads, buffers):
        if (on_device := _accelerators.replacement(p._keys, "_fused_sgd_")) is not None:
            on_device(
                p,
                g,
                b,
                weight_decay=weight_decay,
                momentum=momentum,
                lr=rate,
                dampening=dampening,
                nesterov=nesterov,
                maximize=maximize,
                is_first_step=is_first_step,
                grad_scale=scale,
            )
            continue
        sgd_step(
            p._array,
            g._array,
            None if b is None else b._array,
            weight_decay=weight_decay,
            momentum=momentum,
            lr=rate,
            dampening=dampening,
            nesterov=nesterov,
            maximize=maximize,
            is_first_step=is_first_step,
            grad_scale=scale,
        )
    _count_writes(self, momentum_buffer_list, () if scale is None else grads)


def _register_adam(name: str, decoupled: bool) -> None:
    @composite(name, f"{name}.tensor_lr")
    def fused(
        self: Sequence[Any],
        grads: Sequence[Any],
        exp_avgs: Sequence[Any],
        exp_avg_sqs: Sequence[Any],
        max_exp_avg_sqs: Sequence[Any],
        state_steps: Sequence[Any],
        lr: Any,
        beta1: float,
        beta2: float,
        weight_decay: float,
        eps: float,
        amsgrad: bool,
        maximize: bool,
        grad_scale: Any,
        found_inf: Any,
    ) -> None:
        if not _may_run(name, self, found_inf):
            return
        scale = _number(grad_scale)
        options: dict[str, Any] = {
            "lr": _number(lr),
            "beta1": _number(beta1),
            "beta2": _number(beta2),
            "weight_decay": weight_decay,
            "eps": eps,
            "maximize": maximize,
            "decoupled": decoupled,
            "grad_scale": scale,
        }
        for i, (p, g, m, s, step) in enumerate(zip(self, grads, exp_avgs, exp_avg_sqs, state_steps)):
            largest = max_exp_avg_sqs[i] if amsgrad else None
            if (on_device := _accelerators.replacement(p._keys, "_fused_adam_")) is not None:
                on_device(p, g, m, s, largest, step=step, **options)
                continue
            most = None if largest is None else largest._array
            adam_step(p._array, g._array, m._array, s._array, most, step=_number(step), **options)
        _count_writes(self, exp_avgs, exp_avg_sqs, max_exp_avg_sqs if amsgrad else (), () if scale is None else grads)


_register_adam("_fused_adam_", decoupled=False)
_register_adam("_fused_adamw_", decoupled=True)


# --- gradient scaling
@composite("_amp_foreach_non_finite_check_and_unscale_")
def amp_unscale_(self: Sequence[Any], found_inf: Any, inv_scale: Any) -> None:
    """Multiplies tensors by `inv_scale` in place; `found_inf` becomes 1 where one of them holds an inf or a nan."""
    if inv_scale.numel() != 1 or found_inf.numel() != 1:
        raise RuntimeError("inv_scale and found_inf must be 1-element tensors.")
    for t in self:
        if not bool(aten.all(aten.isfinite(t))):
            aten.fill_(found_inf, 1.0)
        if float(inv_scale) != 1.0:
            aten.mul_(t, inv_scale)


@composite("_amp_update_scale_")
def amp_update_scale_(
    self: Any,
    growth_tracker: Any,
    found_inf: Any,
    scale_growth_factor: float,
    scale_backoff_factor: float,
    growth_interval: int,
) -> Any:
    """Shrinks the scale after a step that was not finite, else counts good steps and grows it after
    `growth_interval` of them.
    """
    if found_inf.item():
        aten.mul_(self, scale_backoff_factor)
        aten.fill_(growth_tracker, 0)
        return self
    good = growth_tracker.item() + 1
    if good < growth_interval:
        aten.fill_(growth_tracker, good)
        return self
    grown = self.item() * scale_growth_factor
    if isfinite(grown) and grown <= dt.finfo(dt.float32).max:
        aten.fill_(self, grown)
    aten.fill_(growth_tracker, 0)
    return self
