"""Options of optimizers: what they may be, and what a step makes of them."""

from __future__ import annotations

from typing import Any

from .. import _accelerators
from .._dispatch import aten
from .._dtype import float32, get_default_dtype
from .._python.creation import tensor
from .._tensor import Parameter, Tensor

_PLAIN = (Tensor, Parameter)


def _capturable() -> list[str]:
    """The devices whose optimizers may be captured: PyTorch's rule names accelerators."""
    return list(_accelerators.names())


def _fused_devices() -> list[str]:
    """The devices that have fused optimizers."""
    return [
        "cpu",
        *(
            name
            for name in _accelerators.names()
            if "_fused_adam_" in getattr(_accelerators.find(name), "composites", ())
        ),
    ]


def new_step(value: float = 0.0, fused: bool = False) -> Tensor:
    """A step counter: a 0-dim tensor, as checkpoints hold it."""
    kind = get_default_dtype()
    return tensor(float(value), dtype=kind if kind.itemsize == 8 and not fused else float32)


def check_range(name: str, value: Any, low: float = 0.0) -> None:
    """ValueError for a negative option, as PyTorch words it."""
    if not low <= value:
        raise ValueError(f"Invalid {name}: {value}")


def check_rate(lr: Any) -> None:
    """ValueError for a learning rate that is negative, or a tensor of several."""
    if isinstance(lr, Tensor) and lr.numel() != 1:
        raise ValueError("Tensor lr must be 1-element")
    check_range("learning rate", lr)


def check_fused(fused: bool | None, foreach: bool | None, differentiable: bool) -> None:
    """RuntimeError for flags that exclude each other."""
    if fused and differentiable:
        raise RuntimeError("`fused` does not support `differentiable`")
    if fused and foreach:
        raise RuntimeError("`fused` and `foreach` cannot be `True` together.")


def check_flags(group: dict[str, Any], params: list[Tensor], also: str = "") -> None:
    """The errors of a step whose flags do not fit its parameters; `also` names further state that capturing would
    need.
    """
    if group["differentiable"] and group["foreach"]:
        raise AssertionError("_foreach ops don't support autograd")
    if group.get("capturable"):
        for p in params:
            if p.device.type not in _capturable():
                raise AssertionError(
                    f"If capturable=True, params{also} and state_steps must be on supported devices: {_capturable()}."
                )
    if group.get("fused"):
        for p in params:
            if p.device.type not in _fused_devices() or not p.is_floating_point():
                raise RuntimeError(
                    "`fused=True` requires all the params to be floating point Tensors of supported devices: "
                    f"{_fused_devices()} but {p.dtype} and {p.device.type}"
                )


def gradients(group: dict[str, Any], also: str = "") -> tuple[list[Tensor], list[Tensor]]:
    """The group's parameters that have gradients, and those gradients."""
    params = [p for p in group["params"] if p._grad is not None]
    if group["differentiable"] or group.get("capturable") or group.get("fused"):
        check_flags(group, params, also)
    return params, [p._grad if type(p) in _PLAIN else p.grad for p in params]  # a DTensor's grad is one, too


def as_real(*tensors: Tensor) -> list[Tensor]:
    """Views of tensors in which a complex number is a pair of reals: moments are taken of each part on its own."""
    return [aten.view_as_real(t) if t.dtype.is_complex else t for t in tensors]


def real_state(state: dict[str, Any]) -> dict[str, Any]:
    """The state of a complex parameter, with its tensors as views of reals."""
    return {k: aten.view_as_real(v) if isinstance(v, Tensor) and v.dtype.is_complex else v for k, v in state.items()}


def number(value: Any) -> Any:
    """A learning rate or the like as a Python number."""
    return value.item() if isinstance(value, Tensor) else value


def coefficient(value: Any) -> Any:
    """A number, or a tensor without dimensions if it is one that wants a gradient."""
    if not isinstance(value, Tensor):
        return value
    return value.reshape(()) if value.requires_grad else value.item()
