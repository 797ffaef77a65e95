"""Modules as functions of their parameters and buffers, in the form of functorch (`torch.func.functional_call` and
`torch.func.stack_module_state` are the newer ones).
"""

from __future__ import annotations

import copy
import warnings
from collections.abc import Sequence
from typing import Any

from .._tensor import Tensor
from ..func import functional_call, stack_module_state
from ..nn import Module

__all__ = [
    "FunctionalModule",
    "FunctionalModuleWithBuffers",
    "combine_state_for_ensemble",
    "make_functional",
    "make_functional_with_buffers",
]


class FunctionalModuleWithBuffers(Module):
    """A module without parameters and buffers of its own: it is called with both, then with the arguments."""

    def __init__(self, stateless_model: Module, param_names: Sequence[str], buffer_names: Sequence[str]) -> None:
        super().__init__()
        self.stateless_model = stateless_model
        self.param_names, self.buffer_names = tuple(param_names), tuple(buffer_names)

    def forward(self, params: Sequence[Tensor], buffers: Sequence[Tensor], *args: Any, **kwargs: Any) -> Any:
        """What the model gives with these parameters and buffers, in the order in which they were handed out."""
        given = _named(self.param_names, params, "parameters") | _named(self.buffer_names, buffers, "buffers")
        return functional_call(self.stateless_model, given, args, kwargs)


class FunctionalModule(Module):
    """A module without parameters of its own: it is called with them, then with the arguments. Buffers stay in it."""

    def __init__(self, stateless_model: Module, param_names: Sequence[str]) -> None:
        super().__init__()
        self.stateless_model, self.param_names = stateless_model, tuple(param_names)

    def forward(self, params: Sequence[Tensor], *args: Any, **kwargs: Any) -> Any:
        """What the model gives with these parameters, in the order in which they were handed out."""
        return functional_call(self.stateless_model, _named(self.param_names, params, "parameters"), args, kwargs)


def _named(names: Sequence[str], tensors: Sequence[Tensor], what: str) -> dict[str, Tensor]:
    tensors = tuple(tensors)
    if len(tensors) != len(names):
        raise RuntimeError(f"expected {len(names)} {what} ({', '.join(names)}), got {len(tensors)}")
    return dict(zip(names, tensors))


def _take_apart(model: Module, disable_autograd_tracking: bool) -> tuple[Module, dict[str, Tensor], dict[str, Tensor]]:
    """(a copy of the model whose tensors have no memory, its parameters, its buffers); tied tensors count once."""
    model = copy.deepcopy(model)
    params: dict[str, Tensor] = dict(model.named_parameters())
    buffers: dict[str, Tensor] = dict(model.named_buffers())
    if disable_autograd_tracking:
        for tensor in params.values():
            tensor.requires_grad_(False)
    empty = {id(tensor): tensor.to("meta") for tensor in [*params.values(), *buffers.values()]}
    for part in model.modules():
        for table in (part._parameters, part._buffers):
            for name, tensor in table.items():
                if tensor is not None:
                    table[name] = empty[id(tensor)]
    return model, params, buffers


def make_functional(
    model: Module, disable_autograd_tracking: bool = False
) -> tuple[FunctionalModule, tuple[Tensor, ...]]:
    """(the model as a function of its parameters, the parameters): `function(params, *args, **kwargs)`. The model
    itself stays as it is. RuntimeError where it has buffers.

    >>> from mindtorch_v2._functorch import make_functional
    >>> function, params = make_functional(nn.Linear(2, 1, bias=False))
    >>> function([torch.ones(1, 2)], torch.ones(1, 2))
    tensor([[2.]])
    """
    _tell_of_successor("make_functional", "functional_call")
    stateless, params, buffers = _take_apart(model, disable_autograd_tracking)
    if buffers:
        raise RuntimeError(
            "make_functional(model): `model` has buffers. Please use make_functional_with_buffers(model) instead."
        )
    return FunctionalModule(stateless, tuple(params)), tuple(params.values())


def make_functional_with_buffers(
    model: Module, disable_autograd_tracking: bool = False
) -> tuple[FunctionalModuleWithBuffers, tuple[Tensor, ...], tuple[Tensor, ...]]:
    """(the model as a function, its parameters, its buffers): `function(params, buffers, *args, **kwargs)`. Buffers
    that the model writes to are written to where they are given.

    >>> from mindtorch_v2._functorch import make_functional_with_buffers
    >>> function, params, buffers = make_functional_with_buffers(nn.BatchNorm1d(2))
    >>> [len(params), len(buffers), function(params, buffers, torch.eye(2)).shape]
    [2, 3, torch.Size([2, 2])]
    """
    _tell_of_successor("make_functional_with_buffers", "functional_call")
    stateless, params, buffers = _take_apart(model, disable_autograd_tracking)
    made = FunctionalModuleWithBuffers(stateless, tuple(params), tuple(buffers))
    return made, tuple(params.values()), tuple(buffers.values())


def combine_state_for_ensemble(
    models: Sequence[Module],
) -> tuple[FunctionalModuleWithBuffers, tuple[Tensor, ...], tuple[Tensor, ...]]:
    """(the first model as a function, parameters, buffers), the tensors of all models stacked in a new first
    dimension: for `vmap` over models of one class.

    >>> from mindtorch_v2._functorch import combine_state_for_ensemble
    >>> _, params, _ = combine_state_for_ensemble([nn.Linear(2, 1), nn.Linear(2, 1)])
    >>> params[0].shape
    torch.Size([2, 1, 2])
    """
    _tell_of_successor("combine_state_for_ensemble", "stack_module_state")
    models = list(models)
    params, buffers = stack_module_state(models)
    stateless, _, _ = _take_apart(models[0], False)
    made = FunctionalModuleWithBuffers(stateless, tuple(params), tuple(buffers))
    return made, tuple(params.values()), tuple(buffers.values())


def _tell_of_successor(name: str, successor: str) -> None:
    warnings.warn(f"functorch.{name} is deprecated: use torch.func.{successor}", FutureWarning, stacklevel=3)
