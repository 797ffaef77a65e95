"""Pruning: parts of a parameter are held at zero by a mask.

Pruning `weight` replaces the parameter by three things: the parameter `weight_orig` (trained), the buffer
`weight_mask` (1 where kept, 0 where pruned) and the plain attribute `weight`, their product, computed anew before
every call of the module. `remove` turns the product into a parameter again. Pruning twice combines the masks: the
second method sees only what the first one kept.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator
from typing import Any

from ..._dispatch.namespace import public as torch
from ..._tensor import Tensor
from ..parameter import Parameter
from ._prune_amounts import channel_norms, check_amount, without_channels, without_entries

__all__ = [
    "BasePruningMethod",
    "CustomFromMask",
    "Identity",
    "L1Unstructured",
    "LnStructured",
    "PruningContainer",
    "RandomStructured",
    "RandomUnstructured",
    "custom_from_mask",
    "global_unstructured",
    "identity",
    "is_pruned",
    "l1_unstructured",
    "ln_structured",
    "random_structured",
    "random_unstructured",
    "remove",
]


class BasePruningMethod(ABC):
    """A way of choosing what is pruned, and the forward pre-hook that applies the mask.

    A subclass sets `PRUNING_TYPE` ("unstructured": single entries, "structured": whole channels, "global": a mask made
    elsewhere) and defines `compute_mask(t, default_mask)`: a mask of the shape of `t` whose zeros include those of
    `default_mask`.
    """

    PRUNING_TYPE: str
    _tensor_name: str

    @abstractmethod
    def compute_mask(self, t: Tensor, default_mask: Tensor) -> Tensor:
        """The new mask for importances `t`, given the one that holds already."""

    def __call__(self, module: Any, inputs: Any) -> None:
        setattr(module, self._tensor_name, self.apply_mask(module))

    def apply_mask(self, module: Any) -> Tensor:
        """The original parameter times the mask, of the parameter's type."""
        if self._tensor_name is None:
            raise AssertionError(f"Module {module} has to be pruned")
        original = getattr(module, f"{self._tensor_name}_orig")
        return getattr(module, f"{self._tensor_name}_mask").to(dtype=original.dtype) * original

    def prune(self, t: Tensor, default_mask: Tensor | None = None, importance_scores: Tensor | None = None) -> Tensor:
        """`t` with the chosen entries at zero; no module is involved. Scores of its shape say which entries matter,
        else `t` itself."""
        if importance_scores is not None and importance_scores.shape != t.shape:
            raise AssertionError("importance_scores should have the same shape as tensor t")
        scores = t if importance_scores is None else importance_scores
        held = torch.ones_like(t) if default_mask is None else default_mask
        return t * self.compute_mask(scores, default_mask=held)

    def remove(self, module: Any) -> None:
        """Makes the pruned tensor a parameter again, without original and mask. The zeros stay."""
        name = self._tensor_name
        if name is None:
            raise AssertionError(f"Module {module} has to be pruned before pruning can be removed")
        pruned = self.apply_mask(module)
        if hasattr(module, name):
            delattr(module, name)
        original = module._parameters.pop(f"{name}_orig")
        original.data = pruned.data
        del module._buffers[f"{name}_mask"]
        setattr(module, name, original)

    @classmethod
    def apply(cls, module: Any, name: str, *args: Any, importance_scores: Tensor | None = None, **kwargs: Any) -> Any:
        """Prunes the parameter `name` of a module by an instance of this class, made of the other arguments.

        Returns the method that is registered as a hook. Where a method was registered before, both are kept in a
        PruningContainer.
        """
        method = cls(*args, **kwargs)
        method._tensor_name = name
        earlier = _find_method(module, name)
        parameter = getattr(module, name) if earlier is None else getattr(module, f"{name}_orig")
        if importance_scores is not None and importance_scores.shape != parameter.shape:
            raise AssertionError(
                f"importance_scores should have the same shape as parameter {name} of {module}, got "
                f"{importance_scores.shape} vs {parameter.shape}"
            )
        scores = parameter if importance_scores is None else importance_scores
        if earlier is None:
            held = torch.ones_like(parameter)
            registered: Any = method
        else:
            held = getattr(module, f"{name}_mask").detach().clone()
            registered = PruningContainer(*(earlier[1] if isinstance(earlier[1], PruningContainer) else earlier[1:]))
            registered.add_pruning_method(method)
        mask = registered.compute_mask(scores, default_mask=held)
        if earlier is None:
            _split(module, name, parameter)
        else:
            del module._forward_pre_hooks[earlier[0]]
        module.register_buffer(f"{name}_mask", mask)
        setattr(module, name, registered.apply_mask(module))
        module.register_forward_pre_hook(registered)
        return registered


def _split(module: Any, name: str, parameter: Any) -> None:
    """Moves a parameter to `<name>_orig`, so that `<name>` is free for the product."""
    if not isinstance(parameter, Parameter):
        raise TypeError(f"cannot prune '{name}' of {module}: expected a parameter, got {type(parameter).__name__}")
    del module._parameters[name]
    module.register_parameter(f"{name}_orig", parameter)


def _find_method(module: Any, name: str) -> tuple[int, BasePruningMethod] | None:
    """The pruning method that is registered for a parameter, with its key."""
    for key, hook in module._forward_pre_hooks.items():
        if isinstance(hook, BasePruningMethod) and hook._tensor_name == name:
            return key, hook
    return None


class PruningContainer(BasePruningMethod):
    """Several methods that pruned one parameter after another; the last one makes the next mask."""

    def __init__(self, *args: BasePruningMethod) -> None:
        self._pruning_methods: tuple[BasePruningMethod, ...] = ()
        if args and not isinstance(args[0], BasePruningMethod) and len(args) == 1 and isinstance(args[0], Iterable):
            args = tuple(args[0])
        for method in args:
            if not self._pruning_methods:
                self._tensor_name = method._tensor_name
            self.add_pruning_method(method)

    def add_pruning_method(self, method: BasePruningMethod) -> None:
        """Adds a method for the same parameter."""
        if not isinstance(method, BasePruningMethod) and method is not None:
            raise TypeError(f"{type(method)} is not a BasePruningMethod subclass")
        if method is not None and self._tensor_name != method._tensor_name:
            raise ValueError(
                "Can only add pruning methods acting on the parameter named "
                f"'{self._tensor_name}' to PruningContainer {self}. Found '{method._tensor_name}'"
            )
        self._pruning_methods += (method,)

    def __len__(self) -> int:
        return len(self._pruning_methods)

    def __iter__(self) -> Iterator[BasePruningMethod]:
        return iter(self._pruning_methods)

    def __getitem__(self, index: Any) -> Any:
        return self._pruning_methods[index]

    def compute_mask(self, t: Tensor, default_mask: Tensor) -> Tensor:
        """The mask of the last method, computed on what `default_mask` keeps."""
        method = self._pruning_methods[-1]
        mask = default_mask.to(dtype=t.dtype)
        if method.PRUNING_TYPE == "unstructured":
            kept: Any = mask == 1
        elif method.PRUNING_TYPE == "structured":
            dim = method.dim % t.dim()  # type: ignore[attr-defined]
            others = [d for d in range(t.dim()) if d != dim]
            alive = mask.sum(dim=others) != 0
            kept = (*(slice(None),) * dim, alive)
        elif method.PRUNING_TYPE == "global":
            kept = (slice(None),) * t.dim()
        else:
            raise ValueError(f"Unrecognized PRUNING_TYPE {method.PRUNING_TYPE}")
        combined = mask.clone()
        combined[kept] = method.compute_mask(t[kept], default_mask=mask[kept]).to(dtype=mask.dtype)
        return combined


class Identity(BasePruningMethod):
    """Prunes nothing, but splits the parameter as pruning does."""

    PRUNING_TYPE = "unstructured"

    def compute_mask(self, t: Tensor, default_mask: Tensor) -> Tensor:
        return default_mask


class RandomUnstructured(BasePruningMethod):
    """Prunes entries drawn at random: a fraction (float) or a number (int) of them."""

    PRUNING_TYPE = "unstructured"

    def __init__(self, amount: float) -> None:
        check_amount(amount)
        self.amount = amount

    def compute_mask(self, t: Tensor, default_mask: Tensor) -> Tensor:
        return without_entries(self.amount, t, default_mask, lambda: torch.rand_like(t), largest=True)


class L1Unstructured(BasePruningMethod):
    """Prunes the entries of smallest absolute value: a fraction (float) or a number (int) of them."""

    PRUNING_TYPE = "unstructured"

    def __init__(self, amount: float) -> None:
        check_amount(amount)
        self.amount = amount

    def compute_mask(self, t: Tensor, default_mask: Tensor) -> Tensor:
        return without_entries(self.amount, t, default_mask, lambda: torch.abs(t), largest=False)


class RandomStructured(BasePruningMethod):
    """Prunes channels (slices along `dim`) drawn at random: a fraction (float) or a number (int) of them."""

    PRUNING_TYPE = "structured"

    def __init__(self, amount: float, dim: int = -1) -> None:
        check_amount(amount)
        self.amount, self.dim = amount, dim

    def compute_mask(self, t: Tensor, default_mask: Tensor) -> Tensor:
        return without_channels(self.amount, t, self.dim, default_mask, lambda: torch.rand(t.shape[self.dim]))


class LnStructured(BasePruningMethod):
    """Prunes the channels (slices along `dim`) of the smallest n-norm: a fraction (float) or a number (int) of them."""

    PRUNING_TYPE = "structured"

    def __init__(self, amount: float, n: Any, dim: int = -1) -> None:
        check_amount(amount)
        self.amount, self.n, self.dim = amount, n, dim

    def compute_mask(self, t: Tensor, default_mask: Tensor) -> Tensor:
        return without_channels(self.amount, t, self.dim, default_mask, lambda: channel_norms(t, self.n, self.dim))


class CustomFromMask(BasePruningMethod):
    """Prunes what a given mask has as zero."""

    PRUNING_TYPE = "global"

    def __init__(self, mask: Tensor) -> None:
        self.mask = mask

    def compute_mask(self, t: Tensor, default_mask: Tensor) -> Tensor:
        if default_mask.shape != self.mask.shape:
            raise AssertionError(
                f"the mask has shape {tuple(self.mask.shape)}, the parameter {tuple(default_mask.shape)}"
            )
        return default_mask * self.mask.to(dtype=default_mask.dtype)


# --- functions
# ----------------------------------------------------------------------------------------------------------------
def identity(module: Any, name: str) -> Any:
    """Splits a parameter as pruning does, without pruning anything. Returns the module."""
    Identity.apply(module, name)
    return module


def random_unstructured(module: Any, name: str, amount: float) -> Any:
    """Prunes entries of a parameter drawn at random. Returns the module.

    >>> layer = nn.utils.prune.random_unstructured(nn.Linear(4, 1), "weight", amount=2)
    >>> layer.weight_mask.sum()
    tensor(2.)
    """
    RandomUnstructured.apply(module, name, amount)
    return module


def l1_unstructured(module: Any, name: str, amount: float, importance_scores: Tensor | None = None) -> Any:
    """Prunes the entries of a parameter of smallest absolute value (or score). Returns the module.

    >>> layer = nn.utils.prune.l1_unstructured(nn.Linear(4, 1), "weight", amount=2)
    >>> layer.weight_mask.sum()
    tensor(2.)
    """
    L1Unstructured.apply(module, name, amount=amount, importance_scores=importance_scores)
    return module


def random_structured(module: Any, name: str, amount: float, dim: int) -> Any:
    """Prunes channels of a parameter drawn at random. Returns the module.

    >>> layer = nn.utils.prune.random_structured(nn.Linear(4, 2), "weight", amount=1, dim=0)
    >>> layer.weight_mask.sum()
    tensor(4.)
    """
    RandomStructured.apply(module, name, amount, dim)
    return module


def ln_structured(
    module: Any, name: str, amount: float, n: Any, dim: int, importance_scores: Tensor | None = None
) -> Any:
    """Prunes the channels of a parameter of smallest n-norm (of the scores). Returns the module.

    >>> layer = nn.utils.prune.ln_structured(nn.Linear(4, 2), "weight", amount=1, n=2, dim=0)
    >>> layer.weight_mask.sum()
    tensor(4.)
    """
    LnStructured.apply(module, name, amount, n, dim, importance_scores=importance_scores)
    return module


def custom_from_mask(module: Any, name: str, mask: Tensor) -> Any:
    """Prunes a parameter where `mask` is zero. Returns the module.

    >>> layer = nn.utils.prune.custom_from_mask(nn.Linear(2, 1), "weight", torch.tensor([[1., 0.]]))
    >>> layer.weight_mask
    tensor([[1., 0.]])
    """
    CustomFromMask.apply(module, name, mask)
    return module


def global_unstructured(
    parameters: Iterable[tuple[Any, str]],
    pruning_method: Any,
    importance_scores: dict[Any, Tensor] | None = None,
    **kwargs: Any,
) -> None:
    """Prunes entries of several parameters as if they were one: `amount` counts over all of them.

    `parameters` are pairs of module and name; `importance_scores` may have a tensor for a pair.

    >>> layer = nn.Linear(4, 1)
    >>> nn.utils.prune.global_unstructured([(layer, "weight")], nn.utils.prune.L1Unstructured, amount=2)
    >>> layer.weight_mask.sum()
    tensor(2.)
    """
    if not isinstance(parameters, Iterable):
        raise TypeError("global_unstructured(): parameters is not an Iterable")
    given = importance_scores or {}
    if not isinstance(given, dict):
        raise TypeError("global_unstructured(): importance_scores must be of type dict")
    pairs = [(module, name) for module, name in parameters]
    scores = [given.get((m, n), getattr(m, n)) for m, n in pairs]
    held = [getattr(m, f"{n}_mask", None) for m, n in pairs]
    masks = [torch.ones_like(getattr(m, n)) if mask is None else mask for (m, n), mask in zip(pairs, held)]
    container = PruningContainer()
    container._tensor_name = "temp"
    method = pruning_method(**kwargs)
    method._tensor_name = "temp"
    if method.PRUNING_TYPE != "unstructured":
        raise TypeError(
            'Only "unstructured" PRUNING_TYPE supported for the `pruning_method`. '
            f"Found method {pruning_method} of type {method.PRUNING_TYPE}"
        )
    container.add_pruning_method(method)
    flat = torch.cat([s.reshape(-1) for s in scores])
    mask = container.compute_mask(flat, torch.cat([m.reshape(-1) for m in masks]))
    start = 0
    for module, name in pairs:
        parameter = getattr(module, name)
        custom_from_mask(module, name, mask=mask[start : start + parameter.numel()].view_as(parameter))
        start += parameter.numel()


def remove(module: Any, name: str) -> Any:
    """Makes a pruned tensor a parameter again; the zeros stay. ValueError if it is not pruned. Returns the module.

    >>> layer = nn.utils.prune.remove(nn.utils.prune.identity(nn.Linear(2, 1), "weight"), "weight")
    >>> nn.utils.prune.is_pruned(layer)
    False
    """
    found = _find_method(module, name)
    if found is None:
        raise ValueError(f"Parameter '{name}' of module {module} has to be pruned before pruning can be removed")
    del module._forward_pre_hooks[found[0]]
    found[1].remove(module)
    return module


def is_pruned(module: Any) -> bool:
    """Whether a parameter of the module, or of one below it, is pruned."""
    return any(
        isinstance(hook, BasePruningMethod) for inner in module.modules() for hook in inner._forward_pre_hooks.values()
    )
