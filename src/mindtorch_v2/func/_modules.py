"""Modules as functions: `functional_call` with other parameters, `stack_module_state` for ensembles."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

from .._dispatch import aten
from .._tensor import Tensor

__all__ = ["functional_call", "replace_all_batch_norm_modules_", "stack_module_state"]


def functional_call(
    module: Any,
    parameter_and_buffer_dicts: Any,
    args: Any = None,
    kwargs: Mapping[str, Any] | None = None,
    *,
    tie_weights: bool = True,
    strict: bool = False,
) -> Any:
    """`module(*args, **kwargs)` with the given tensors in place of the parameters and buffers of these names, which
    are back afterwards.

    Several dicts are taken together. With `tie_weights` a tensor that the module holds under several names is
    replaced under all of them; with `strict` every parameter and buffer must be given.

    >>> layer = nn.Linear(2, 1, bias=False)
    >>> torch.func.functional_call(layer, {"weight": torch.ones(1, 2)}, (torch.ones(1, 2),))
    tensor([[2.]])
    """
    given: dict[str, Any] = {}
    for part in (
        (parameter_and_buffer_dicts,) if isinstance(parameter_and_buffer_dicts, Mapping) else parameter_and_buffer_dicts
    ):
        twice = given.keys() & part.keys()
        if twice:
            raise ValueError(
                f"{sorted(twice)[0]} appears in multiple dictionaries; behavior of functional call is ambiguous"
            )
        given.update(part)
    positional = () if args is None else args if isinstance(args, tuple) else (args,)
    with _replace_tensors(module, _add_tied_names(module, given) if tie_weights else given, strict):
        return module(*positional, **(kwargs or {}))


def _all_tensors(module: Any) -> dict[str, Any]:
    return {
        **dict(module.named_parameters(remove_duplicate=False)),
        **dict(module.named_buffers(remove_duplicate=False)),
    }


def _add_tied_names(module: Any, given: dict[str, Any]) -> dict[str, Any]:
    """The same, for every name that a replaced tensor has; ValueError where two names of one tensor were given
    different ones.
    """
    names: dict[int, list[str]] = {}
    for name, tensor in _all_tensors(module).items():
        names.setdefault(id(tensor), []).append(name)
    made = dict(given)
    for group in names.values():
        chosen = [name for name in group if name in given]
        if len({id(given[name]) for name in chosen}) > 1:
            raise ValueError(
                f"functional_call got multiple values for keys {sorted(chosen)}, which are tied. Consider using "
                "tie_weights=False"
            )
        if chosen:
            made.update(dict.fromkeys(group, given[chosen[0]]))
    return made


@contextlib.contextmanager
def _replace_tensors(module: Any, given: dict[str, Any], strict: bool) -> Iterator[None]:
    known = _all_tensors(module)
    if strict:
        missing, unexpected = sorted(known.keys() - given.keys()), sorted(given.keys() - known.keys())
        if missing or unexpected:
            words = [
                f"{word} key(s): {', '.join(names)}."
                for word, names in (("Unexpected", unexpected), ("Missing", missing))
                if names
            ]
            raise RuntimeError(f"Error(s) in reparametrizing for {type(module).__name__}:\n\t" + "\n\t".join(words))
    changes = []
    for name in given:
        owner, _, last = name.rpartition(".")
        holder = module.get_submodule(owner) if owner else module
        table = (
            holder._parameters if last in holder._parameters else holder._buffers if last in holder._buffers else None
        )
        if table is None:
            raise AttributeError(f"{type(module).__name__} has no parameter or buffer called {name!r}")
        changes.append((table, last, table[last], given[name]))
    try:
        for table, last, _, tensor in changes:
            table[last] = tensor
        yield
    finally:
        for table, last, before, _ in changes:
            table[last] = before


def stack_module_state(models: Sequence[Any]) -> tuple[dict[str, Any], dict[str, Any]]:
    """(parameters, buffers) of modules of one class, stacked along a new first dimension: for `vmap` over
    `functional_call`.

    >>> params, buffers = torch.func.stack_module_state([nn.Linear(2, 1), nn.Linear(2, 1)])
    >>> params["weight"].shape
    torch.Size([2, 1, 2])
    """
    models = list(models)
    if not models:
        raise RuntimeError("stack_module_state: Expected at least one model, got 0.")
    if not (all(m.training for m in models) or not any(m.training for m in models)):
        raise RuntimeError("stack_module_state: Expected all models to have the same training/eval mode.")
    if any(type(m) is not type(models[0]) for m in models):
        raise RuntimeError("stack_module_state: Expected all models to be of the same class.")
    return _stack_tables([dict(m.named_parameters()) for m in models]), _stack_tables(
        [dict(m.named_buffers()) for m in models]
    )


def _stack_tables(tables: list[dict[str, Any]]) -> dict[str, Any]:
    made = {}
    for name in tables[0]:
        tensors = [table[name] for table in tables]
        wants = {t.requires_grad for t in tensors}
        if len(wants) > 1:
            raise RuntimeError(f"Expected {name} from each model to have the same .requires_grad")
        stacked: Tensor = aten.stack([t.detach() for t in tensors])
        made[name] = stacked.requires_grad_(wants.pop())
    return made


def replace_all_batch_norm_modules_(root: Any) -> Any:
    """Makes every batch normalisation of a module forget running statistics, which `vmap` cannot update; returns the
    module.

    >>> torch.func.replace_all_batch_norm_modules_(nn.Sequential(nn.BatchNorm1d(2)))[0].track_running_stats
    False
    """
    from ..nn.modules.batchnorm import _BatchNorm

    change: Callable[[Any], None] = _without_statistics
    for m in root.modules():
        if isinstance(m, _BatchNorm):
            change(m)
    return root


def _without_statistics(m: Any) -> None:
    m.running_mean = m.running_var = m.num_batches_tracked = None
    m.track_running_stats = False
