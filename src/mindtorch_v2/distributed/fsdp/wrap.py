"""Which modules inside a model `FullyShardedDataParallel` gathers by themselves: functions and objects for its
`auto_wrap_policy`, called as policy(module=..., recurse=..., nonwrapped_numel=...). With `recurse` they say whether to
look into a module, without it whether to take it; `nonwrapped_numel` is how many elements of its parameters belong to
no module that was taken already.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any

from ...nn.modules.module import Module

__all__ = [
    "CustomPolicy",
    "ModuleWrapPolicy",
    "always_wrap_policy",
    "enable_wrap",
    "lambda_auto_wrap_policy",
    "size_based_auto_wrap_policy",
    "transformer_auto_wrap_policy",
    "wrap",
]


def always_wrap_policy(*args: Any, **kwargs: Any) -> bool:
    """Takes every module."""
    return True


def lambda_auto_wrap_policy(
    module: Module, recurse: bool, nonwrapped_numel: int, lambda_fn: Callable[[Module], bool]
) -> bool:
    """Takes modules for which `lambda_fn` is true."""
    return recurse or bool(lambda_fn(module))


def transformer_auto_wrap_policy(
    module: Module, recurse: bool, nonwrapped_numel: int, transformer_layer_cls: Iterable[type[Module]]
) -> bool:
    """Takes modules of the given classes, such as a transformer's block."""
    return recurse or isinstance(module, tuple(transformer_layer_cls))


def size_based_auto_wrap_policy(
    module: Module,
    recurse: bool,
    nonwrapped_numel: int,
    min_num_params: int = 100_000_000,
    force_leaf_modules: Iterable[type[Module]] | None = None,
    exclude_wrap_modules: Iterable[type[Module]] | None = None,
) -> bool:
    """Takes modules with at least `min_num_params` elements in parameters that no module inside has taken. Lists and
    dictionaries of modules are not taken themselves, and attention is taken whole or not at all.
    """
    from ...nn import ModuleDict, ModuleList, MultiheadAttention

    whole = tuple(force_leaf_modules) if force_leaf_modules is not None else (MultiheadAttention,)
    holders = tuple(exclude_wrap_modules) if exclude_wrap_modules is not None else (ModuleList, ModuleDict)
    is_large = nonwrapped_numel >= min_num_params
    return is_large and not isinstance(module, whole if recurse else holders)


class ModuleWrapPolicy:
    """Takes modules of some classes."""

    def __init__(self, module_classes: Iterable[type[Module]]) -> None:
        self._classes = tuple(module_classes)

    def __call__(self, module: Module, recurse: bool, nonwrapped_numel: int = -1) -> bool:
        """Whether to look into the module, or to take it."""
        return recurse or isinstance(module, self._classes)


class CustomPolicy:
    """Takes modules for which `lambda_fn` is true. Settings of each module's own, a dictionary as its answer, are not
    supported.
    """

    def __init__(self, lambda_fn: Callable[[Module], Any]) -> None:
        self._choose = lambda_fn

    def __call__(self, module: Module, recurse: bool, nonwrapped_numel: int = -1) -> bool:
        """Whether to look into the module, or to take it."""
        answer = recurse or self._choose(module)
        if isinstance(answer, dict) and answer:
            raise NotImplementedError("CustomPolicy: settings of single modules are not supported")
        return bool(answer)


_wrapper: ContextVar[tuple[Any, dict[str, Any]] | None] = ContextVar("wrapper", default=None)


@contextmanager
def enable_wrap(*, wrapper_cls: Any, **wrapper_kwargs: Any) -> Iterator[None]:
    """Inside it `wrap(module)` is `wrapper_cls(module, **wrapper_kwargs)`."""
    token = _wrapper.set((wrapper_cls, wrapper_kwargs))
    try:
        yield
    finally:
        _wrapper.reset(token)


def wrap(module: Module, **wrap_overrides: Any) -> Module:
    """The module in the wrapper of the surrounding `enable_wrap`; outside of any the module itself."""
    chosen = _wrapper.get()
    return module if chosen is None else chosen[0](module, **{**chosen[1], **wrap_overrides})
