"""How a module's parameter is replaced by a converted one."""

from __future__ import annotations

from collections.abc import Callable

from ... import __future__ as switches
from ..._autograd.grad_mode import no_grad
from ..._tensor import Parameter, Tensor


def convert_parameter(param: Parameter, fn: Callable[[Tensor], Tensor]) -> Parameter:
    """The parameter with the contents that `fn` makes of it and of its gradient.

    It is the same object, unless `torch.__future__.set_overwrite_module_params_on_conversion(True)` asked for new ones.
    """
    with no_grad():
        if switches.get_swap_module_params_on_conversion():
            return _swapped(param, fn)
        made = fn(param)
        grad = None if param.grad is None else fn(param.grad)
        if switches.get_overwrite_module_params_on_conversion():
            new = Parameter(made, param.requires_grad)
            if grad is not None:
                new.grad = grad.requires_grad_(param.grad.requires_grad)  # type: ignore[union-attr]
            return new
        param.data = made
        if grad is not None:
            kept = param.grad
            assert kept is not None
            wanted = kept.requires_grad
            param.grad = None
            kept.data = grad
            param.grad = kept.requires_grad_(wanted)
    return param


def _swapped(param: Parameter, fn: Callable[[Tensor], Tensor]) -> Parameter:
    from ...utils import swap_tensors

    kept, param.grad = param.grad, None
    new = Parameter(fn(param), param.requires_grad)
    if kept is not None:
        new.grad = fn(kept).requires_grad_(kept.requires_grad)
    swap_tensors(param, new)
    return param
