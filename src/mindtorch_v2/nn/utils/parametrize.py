"""Parametrizations: a parameter or buffer computed by modules from an original that is trained instead."""

from __future__ import annotations

import contextlib
from collections.abc import Sequence
from contextlib import contextmanager
from typing import Any

from ..._autograd.grad_mode import no_grad
from ..._tensor import Parameter, Tensor
from ..modules.container import ModuleDict, ModuleList
from ..modules.module import Module

__all__ = ["ParametrizationList", "cached", "is_parametrized", "register_parametrization", "remove_parametrizations"]

_cache_depth = [0]
_cache: dict[tuple[int, str], Any] = {}


@contextmanager
def cached() -> Any:
    """Inside, a parametrized tensor is computed once and then reused.

    >>> with nn.utils.parametrize.cached():
    ...     nn.Linear(2, 1)(torch.ones(1, 2)).shape
    torch.Size([1, 1])
    """
    _cache_depth[0] += 1
    try:
        yield
    finally:
        _cache_depth[0] -= 1
        if not _cache_depth[0]:
            _cache.clear()


class ParametrizationList(ModuleList):
    """The original value of one tensor and the modules that are applied to it in turn.

    >>> layer = nn.utils.parametrize.register_parametrization(nn.Linear(2, 1), "weight", nn.ReLU())
    >>> layer.parametrizations["weight"][0]
    ReLU()
    """

    original: Any

    def __init__(self, modules: Sequence[Module], original: Tensor, unsafe: bool = False) -> None:
        super().__init__(modules)
        self.unsafe = unsafe
        value = original
        with no_grad():
            for module in reversed(list(self)):
                # where it is not implemented the original is what is there
                with contextlib.suppress(NotImplementedError):
                    if hasattr(module, "right_inverse"):
                        value = module.right_inverse(value)
        self.is_tensor = isinstance(value, Tensor)
        self.ntensors = 1 if self.is_tensor else len(value)
        if self.is_tensor:
            self._keep("original", value, original)
        else:
            for i, part in enumerate(value):
                self._keep(f"original{i}", part, original)

    def _keep(self, name: str, value: Tensor, original: Tensor) -> None:
        if isinstance(original, Parameter):
            self.register_parameter(
                name,
                value
                if isinstance(value, Parameter) and value is original
                else Parameter(value.detach(), requires_grad=original.requires_grad),
            )
        else:
            self.register_buffer(name, value)

    def _originals(self) -> list[Tensor]:
        return [self.original] if self.is_tensor else [getattr(self, f"original{i}") for i in range(self.ntensors)]

    def right_inverse(self, value: Tensor) -> None:
        """Sets the original such that the parametrized tensor becomes `value`."""
        with no_grad():
            made: Any = value
            for module in reversed(list(self)):
                if not hasattr(module, "right_inverse"):
                    raise RuntimeError(f"parametrization {type(module).__name__} does not implement right_inverse.")
                made = module.right_inverse(made)
            for original, part in zip(self._originals(), [made] if self.is_tensor else made):
                original.data = part.detach()

    def forward(self) -> Any:
        first, *others = self
        value = first(*self._originals())
        for module in others:
            value = module(value)
        return value


def _parametrized_class(module: Module) -> type:
    """A class of the module's own, on which parametrized tensors are properties."""
    kind = type(module)
    if not kind.__name__.startswith("Parametrized"):
        kind = type(f"Parametrized{kind.__name__}", (kind,), {"__deepcopy__": None, "_parametrized_base": kind})
        del kind.__deepcopy__  # type: ignore[attr-defined]
        module.__class__ = kind
    return kind


def _install(module: Module, name: str) -> None:
    def get(self: Any) -> Any:
        if not _cache_depth[0]:
            return self.parametrizations[name]()
        key = (id(self), name)
        if key not in _cache:
            _cache[key] = self.parametrizations[name]()
        return _cache[key]

    def put(self: Any, value: Tensor) -> None:
        self.parametrizations[name].right_inverse(value)

    setattr(_parametrized_class(module), name, property(get, put))


def register_parametrization(
    module: Module, tensor_name: str, parametrization: Module, *, unsafe: bool = False
) -> Module:
    """Makes `module.<tensor_name>` the output of `parametrization` applied to the tensor that was there.

    The original moves to `module.parametrizations.<tensor_name>.original`. Further parametrizations are applied after
    the ones that are there. Unless `unsafe`, the result must have the shape and type of the original.

    >>> layer = nn.utils.parametrize.register_parametrization(nn.Linear(2, 1), "weight", nn.ReLU())
    >>> nn.utils.parametrize.is_parametrized(layer, "weight")
    True
    """
    if is_parametrized(module, tensor_name):
        parts = module.parametrizations[tensor_name]
        before = getattr(module, tensor_name)
        parts.append(parametrization)
        _check(parts, before, unsafe)
        return module
    if tensor_name not in module._parameters and tensor_name not in module._buffers:
        raise ValueError(
            f"Module '{module}' does not have a parameter, a buffer, or a parametrized element with name "
            f"'{tensor_name}'"
        )
    original = getattr(module, tensor_name)
    parts = ParametrizationList([parametrization], original, unsafe=unsafe)
    _check(parts, original, unsafe)
    delattr(module, tensor_name)
    if not hasattr(module, "parametrizations"):
        module.parametrizations = ModuleDict()
    module.parametrizations[tensor_name] = parts
    _install(module, tensor_name)
    return module


def _check(parts: ParametrizationList, original: Tensor, unsafe: bool) -> None:
    if unsafe:
        return
    with no_grad():
        made = parts()
    if not isinstance(made, Tensor):
        raise ValueError(f"A parametrization must return a tensor. Got {type(made).__name__}.")
    if made.dtype is not original.dtype:
        raise ValueError(
            "Registering a parametrization may not change the dtype of the tensor, unless `unsafe` flag is enabled.\n"
            f"original.dtype: {original.dtype}\nparametrized dtype: {made.dtype}"
        )
    if made.shape != original.shape:
        raise ValueError(
            "Registering a parametrization may not change the shape of the tensor, unless `unsafe` flag is enabled.\n"
            f"original.shape: {original.shape}\nparametrized shape: {made.shape}"
        )


def is_parametrized(module: Module, tensor_name: str | None = None) -> bool:
    """Whether the module has parametrizations (of this tensor).

    >>> nn.utils.parametrize.is_parametrized(nn.Linear(2, 1))
    False
    """
    parts = getattr(module, "parametrizations", None)
    if not isinstance(parts, ModuleDict):
        return False
    return len(parts) > 0 if tensor_name is None else tensor_name in parts


def remove_parametrizations(module: Module, tensor_name: str, leave_parametrized: bool = True) -> Module:
    """Takes the parametrizations of a tensor away; its value stays as computed, or goes back to the original.

    >>> layer = nn.utils.parametrize.register_parametrization(nn.Linear(2, 1), "weight", nn.ReLU())
    >>> _ = nn.utils.parametrize.remove_parametrizations(layer, "weight")
    >>> nn.utils.parametrize.is_parametrized(layer)
    False
    """
    if not is_parametrized(module, tensor_name):
        raise ValueError(f"Module {module} does not have a parametrization on {tensor_name}")
    parts = module.parametrizations[tensor_name]
    if not leave_parametrized and not parts.is_tensor:
        raise ValueError(
            "Cannot leave unparametrized (`leave_parametrized=False`) a tensor that is parametrized in terms of a "
            "sequence of tensors."
        )
    first = parts._originals()[0]
    with no_grad():
        value = parts() if leave_parametrized else first
    delattr(type(module), tensor_name)
    del module.parametrizations[tensor_name]
    if isinstance(first, Parameter):
        if not leave_parametrized or (parts.is_tensor and value.shape == first.shape):
            first.data = value.detach()
            module.register_parameter(tensor_name, first)
        else:
            module.register_parameter(tensor_name, Parameter(value.detach(), requires_grad=first.requires_grad))
    else:
        module.register_buffer(tensor_name, value)
    if not is_parametrized(module):
        delattr(module, "parametrizations")
        module.__class__ = type(module)._parametrized_base  # type: ignore[attr-defined]
    return module
