"""`torch.vmap`: a function of samples becomes one of batches."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

from .._dispatch import aten, modes
from .._ops.table import Op
from .._tensor import Tensor
from ..utils._pytree import TreeSpec, tree_flatten, tree_map, tree_unflatten
from . import _batching, _functions
from . import _batching_layers as _batching_layers  # these register the rules
from . import _batching_linalg as _batching_linalg
from . import _batching_rules as _batching_rules
from ._batched import Level, inner, is_at, levels, make_batched

__all__ = ["vmap"]
_RANDOMNESS = ("error", "different", "same")


class _Mapping(modes.Switch):
    """While a function is mapped: random operators without batched arguments are asked about, too."""

    _special = True

    def __init__(self, level: Level) -> None:
        self._changes = {"batching": functools.partial(_random_without_batch, level)}


class _Paused(modes.Switch):
    _changes: dict[str, Any] = {"batching": None}  # noqa: RUF012 - read, never written
    _special = False


def _random_without_batch(level: Level, op: Op, args: tuple[Any, ...], run: Callable[[], Any]) -> Any:
    """A random operator none of whose arguments is batched."""
    if level.randomness == "error":
        raise RuntimeError(
            "vmap: called random operation while in randomness error mode. Please either use the 'same' or 'different' "
            "randomness flags on vmap or perform the randomness operation out of vmap"
        )
    if level.randomness == "same":
        return _Paused().run(run)
    if op.writes:
        raise RuntimeError(
            f"vmap: aten::{op.base} draws different numbers for every sample, but the tensor that it writes into is "
            "not batched. Use an out-of-place random operator, or randomness='same'."
        )
    drawn = [_Paused().run(run) for _ in range(level.size)]
    return make_batched(aten.stack(drawn), level.id)


_batching.paused = _functions._without_random_rules = _Paused


# --- arguments and results
def broadcast_tree(prefix: Any, spec: TreeSpec) -> list[Any] | None:
    """One entry of `prefix` for each leaf of a tree: a value stands for everything below it.

    None where they do not fit.
    """
    if prefix is None or isinstance(prefix, int):
        return [prefix] * spec.num_leaves
    leaves, own = tree_flatten(prefix, is_leaf=lambda v: v is None or isinstance(v, int))
    if own == spec:
        return leaves
    if own.type is not spec.type or own.context != spec.context or len(own.children_specs) != len(spec.children_specs):
        return None
    parts = list(prefix.values()) if isinstance(prefix, dict) else list(prefix)
    found: list[Any] = []
    for part, child in zip(parts, spec.children_specs):
        below = broadcast_tree(part, child)
        if below is None:
            return None
        found += below
    return found


def _where(name: str, in_dims: Any) -> str:
    return f"vmap({name}, in_dims={in_dims}, ...)(<inputs>)"


def _checked_inputs(name: str, in_dims: Any, args: tuple[Any, ...]) -> tuple[int, list[Any], list[Any], TreeSpec]:
    """(batch size, flat arguments, their batch dimensions, their tree); ValueError says what does not fit."""
    if not isinstance(in_dims, (int, tuple, list)):
        raise ValueError(
            f"{_where(name, in_dims)}: expected `in_dims` to be int or a (potentially nested) tuple matching the "
            f"structure of inputs, got: {type(in_dims)}."
        )
    if not args:
        raise ValueError(
            f"vmap({name})(<inputs>): got no inputs. Maybe you forgot to add inputs, or you are trying to vmap over a "
            "function with no inputs. The latter is unsupported."
        )
    flat, spec = tree_flatten(args)
    dims = broadcast_tree(tuple(in_dims) if isinstance(in_dims, list) else in_dims, spec)
    if dims is None:
        raise ValueError(
            f"{_where(name, in_dims)}: in_dims is not compatible with the structure of `inputs`. in_dims has structure "
            f"{tree_flatten(in_dims)[1]} but inputs has structure {spec}."
        )
    sizes = []
    for i, (x, d) in enumerate(zip(flat, dims)):
        if d is None:
            continue
        if not isinstance(d, int):
            raise ValueError(
                f"{_where(name, in_dims)}: Got in_dim={d} for an input but in_dim must be either an integer dimension "
                "or None."
            )
        if not isinstance(x, Tensor):
            raise ValueError(
                f"{_where(name, in_dims)}: Got in_dim={d} for an input but the input is of type {type(x)}. We cannot "
                "vmap over non-Tensor arguments, please use None as the respective in_dim"
            )
        if not -x.dim() <= d < x.dim():
            raise ValueError(
                f"{_where(name, in_dims)}: Got in_dim={d} for some input, but that input is a Tensor of dimensionality "
                f"{x.dim()} so expected in_dim to satisfy -{x.dim()} <= in_dim < {x.dim()}."
            )
        dims[i] = d % x.dim()
        sizes.append(x.shape[dims[i]])
    if not sizes:
        raise ValueError("vmap: at least one input must have a mapped dimension: every in_dim is None")
    if len(set(sizes)) > 1:
        raise ValueError(
            f"vmap: Expected all tensors to have the same size in the mapped dimension, got sizes {sizes} for the "
            "mapped dimension"
        )
    return sizes[0], flat, dims, spec


def _results(name: str, made: Any, out_dims: Any, level: Level) -> Any:
    flat, spec = tree_flatten(made)
    dims = broadcast_tree(out_dims, spec)
    if dims is None:
        raise ValueError(
            f"vmap({name}, ..., out_dims={out_dims})(<inputs>): out_dims is not compatible with the structure of "
            f"`outputs`. out_dims has structure {tree_flatten(out_dims)[1]} but outputs has structure {spec}."
        )
    return tree_unflatten([_result(name, x, d, level) for x, d in zip(flat, dims)], spec)


def _result(name: str, x: Any, dim: Any, level: Level) -> Any:
    if dim is None:
        if is_at(x, level.id):
            raise ValueError(f"vmap({name}, ...): `{name}` can not return a BatchedTensor when out_dim is None")
        return x
    if not isinstance(x, Tensor):
        raise ValueError(
            f"vmap({name}, ...): `{name}` must only return Tensors, got type {type(x)}. Did you mean to set out_dims= "
            "to None for output?"
        )
    value: Any = inner(x, level.id) if is_at(x, level.id) else x.unsqueeze(0).expand([level.size, *x.shape])
    return value if dim == 0 else value.movedim(0, dim)


# --- the transform
def vmap(
    func: Callable[..., Any],
    in_dims: Any = 0,
    out_dims: Any = 0,
    randomness: str = "error",
    *,
    chunk_size: int | None = None,
) -> Callable[..., Any]:
    """A function of batches that gives what `func`, called on every sample, would give stacked.

    in_dims     the batch dimension of every argument: a number for all, or a tree like the arguments; None: the same
    for all samples out_dims    where the batch stands in the results
    randomness  random operators: "error", "different" numbers for every sample, or the "same"
    chunk_size  how many samples are computed at once; None: all

    Inside, tensors show the shape of one sample. Operators without a rule run once for each sample, and say so in a
    warning.

    >>> torch.vmap(torch.dot)(torch.ones(4, 3), torch.ones(4, 3))
    tensor([3., 3., 3., 3.])
    """
    if randomness not in _RANDOMNESS:
        raise RuntimeError(f"Only allowed values for randomness are 'error', 'different', or 'same'. Got {randomness}")
    if chunk_size is not None and not chunk_size > 0:
        raise ValueError(f"vmap: chunk_size should be None or greater than 0. (got {chunk_size})")
    name = getattr(func, "__name__", repr(func))

    @functools.wraps(func, updated=())
    def mapped(*args: Any, **kwargs: Any) -> Any:
        size, flat, dims, spec = _checked_inputs(name, in_dims, args)
        if chunk_size is None or size <= chunk_size:
            return _map_once(func, name, size, flat, dims, spec, out_dims, randomness, kwargs)
        made = []
        for start in range(0, size, chunk_size):
            part = min(chunk_size, size - start)
            pieces = [x if d is None else x.narrow(d, start, part) for x, d in zip(flat, dims)]
            made.append(_map_once(func, name, part, pieces, dims, spec, out_dims, randomness, kwargs))
        return _join_chunks(made, out_dims)

    return mapped


def _map_once(
    func: Callable[..., Any],
    name: str,
    size: int,
    flat: list[Any],
    dims: list[Any],
    spec: TreeSpec,
    out_dims: Any,
    randomness: str,
    kwargs: dict[str, Any],
) -> Any:
    level = Level(len(levels.stack) + 1, size, randomness)
    before = levels.stack
    levels.stack = (*before, level)
    try:
        given = [x if d is None else make_batched(x.movedim(d, 0) if d else x, level.id) for x, d in zip(flat, dims)]
        made = _Mapping(level).run(func, *tree_unflatten(given, spec), **_mapped_keywords(kwargs, level))
        return _results(name, made, out_dims, level)
    finally:
        levels.stack = before


def _mapped_keywords(kwargs: dict[str, Any], level: Level) -> dict[str, Any]:
    """Tensors among keyword arguments are mapped over their first dimension."""
    made: dict[str, Any] = tree_map(lambda x: make_batched(x, level.id) if isinstance(x, Tensor) else x, kwargs)
    return made


def _join_chunks(made: list[Any], out_dims: Any) -> Any:
    """Results of pieces of the batch, put together."""
    flats = [tree_flatten(m) for m in made]
    dims = broadcast_tree(out_dims, flats[0][1]) or [0] * len(flats[0][0])
    columns = zip(*[f for f, _ in flats])
    return tree_unflatten(
        [parts[0] if d is None else aten.cat(list(parts), d) for d, parts in zip(dims, columns)], flats[0][1]
    )
