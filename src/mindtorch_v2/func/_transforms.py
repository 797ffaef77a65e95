"""Derivatives of functions: `grad`, `vjp`, `jvp`, Jacobians and Hessians, in any combination and under `vmap`.

They differentiate with the engine of `autograd`. Inputs become fresh tensors, connected to the given ones where
those belong to a graph already, so transforms nest. Under `vmap` an input that is the same for all samples is first
made one for each, so that gradients are those of samples. Forward products differentiate the backward pass: J v is
the derivative of u -> J^T u in the direction v.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import Any

from .._autograd.function import call_for_forward_product
from .._autograd.grad_mode import enable_grad
from .._dispatch import aten, modes
from .._tensor import Tensor
from ..utils._pytree import tree_flatten, tree_leaves, tree_map, tree_unflatten
from ._batched import Batched, as_batched, levels, make_batched

__all__ = ["grad", "grad_and_value", "jvp", "linearize", "vjp"]


# --- inputs and the engine
def _fresh(x: Tensor) -> Tensor:
    """A tensor to differentiate by, over the same values; part of the graph that `x` belongs to."""
    if isinstance(x, Batched):
        return make_batched(_fresh(x._value), x._level)
    if not x.dtype.inexact:
        raise RuntimeError("only Tensors of floating point dtype can require gradients")
    return x.view_as(x) if x.requires_grad else x.detach().requires_grad_()


def _fresh_inputs(values: Any) -> Any:
    """The same tree with fresh tensors, batched at every level that is under way."""

    def prepare(x: Any) -> Any:
        if not isinstance(x, Tensor):
            return x
        for level in levels.stack:
            x = _batched_below(x, level)
        return _fresh(x)

    return tree_map(prepare, values)


def _batched_below(x: Tensor, level: Any) -> Tensor:
    """The tensor, batched at `level` as well; higher levels stay outside."""
    if isinstance(x, Batched) and x._level > level.id:
        inside = _batched_below(x._value.movedim(0, -1) if x._value.dim() > 1 else x._value, level)
        value = inside.movedim(-1, 0) if x._value.dim() > 1 else inside
        return make_batched(value, x._level)
    return as_batched(x, level)


def _plain(x: Any) -> Any:
    while isinstance(x, Batched):
        x = x._value
    return x


def _like(plain: Any, model: Any) -> Any:
    """A plain tensor, batched as the model is."""
    if not isinstance(model, Batched):
        return plain
    return make_batched(_like(plain, model._value), model._level)


def _full(x: Any) -> Any:
    """A result batched at every level under way, so that its gradient is given for every sample."""
    for level in levels.stack:
        x = _batched_below(x, level)
    return x


def _gradients(outputs: Sequence[Any], inputs: Sequence[Any], cotangents: Sequence[Any]) -> list[Any]:
    """The gradients of outputs by inputs; zeros where an output does not depend on an input."""
    from ..autograd import grad as engine_grad

    pairs = [(_plain(o), _plain(c)) for o, c in zip(outputs, cotangents) if _plain(o).requires_grad]
    if not pairs:
        return [aten.zeros_like(x) for x in inputs]
    found = engine_grad(
        [o for o, _ in pairs],
        [_plain(x) for x in inputs],
        [c for _, c in pairs],
        retain_graph=True,
        create_graph=True,
        allow_unused=True,
    )
    return [aten.zeros_like(x) if g is None else _like(g, x) for g, x in zip(found, inputs)]


def _depends_on_others(x: Tensor, fresh: set[int]) -> bool:
    """Whether a graph has leaves beyond the fresh tensors."""
    pending: list[Any] = [x.grad_fn]
    # nodes of leaves are made when asked for: kept, or another one may get their identity
    seen: dict[int, Any] = {}
    while pending:
        node = pending.pop()
        if node is None or id(node) in seen:
            continue
        seen[id(node)] = node
        leaf = getattr(node, "variable", None)
        if leaf is not None and id(leaf) not in fresh:
            return True
        pending += [edge for edge, _ in node.next_functions]
    return False


def _release(values: Any, inputs: Any) -> Any:
    """Results outside of graphs, unless they belong to one that the caller differentiates."""
    fresh = {id(_plain(x)) for x in tree_leaves(inputs) if isinstance(x, Tensor)}

    def release(x: Any) -> Any:
        plain = _plain(x)
        if not isinstance(x, Tensor) or not plain.requires_grad:
            return x
        keeps = modes.grad_enabled() and (
            plain.grad_fn is None and id(plain) not in fresh or _depends_on_others(plain, fresh)
        )
        return x if keeps else _like(plain.detach(), x)

    return tree_map(release, values)


# --- gradients
def _chosen(argnums: Any, args: tuple[Any, ...]) -> tuple[int, ...]:
    positions = (argnums,) if isinstance(argnums, int) else tuple(argnums)
    for n in positions:
        if not -len(args) <= n < len(args):
            raise RuntimeError(f"Got argnum={n}, but only {len(args)} positional inputs")
    return tuple(n % len(args) for n in positions)


def grad_and_value(func: Callable[..., Any], argnums: Any = 0, has_aux: bool = False) -> Callable[..., Any]:
    """A function that gives (gradient, value) of `func`, which returns a tensor without dimensions (and with
    `has_aux` something beside it, then it gives (gradient, (value, aux))). `argnums` are the positions of the
    arguments to differentiate by: trees of tensors.

    >>> torch.func.grad_and_value(lambda x: x ** 3)(torch.tensor(2.))
    (tensor(12.), tensor(8.))
    """

    @functools.wraps(func, updated=())
    def both(*args: Any, **kwargs: Any) -> Any:
        positions = _chosen(argnums, args)
        with enable_grad():
            inputs = {n: _fresh_inputs(args[n]) for n in positions}
            made = func(*[inputs.get(i, a) for i, a in enumerate(args)], **kwargs)
            value, aux = _split(made, has_aux, "grad_and_value(f)(*args)")
            if not isinstance(value, Tensor):
                raise RuntimeError(f"grad_and_value(f)(*args): Expected f(*args) to return a Tensor, got {type(value)}")
            if value.dim():
                raise RuntimeError(
                    "grad_and_value(f)(*args): Expected f(*args) to return a scalar Tensor, got tensor with "
                    f"{value.dim()} dims. Maybe you wanted to use the vjp or jacrev APIs instead?"
                )
            flat, spec = tree_flatten([inputs[n] for n in positions])
            tensors = [x for x in flat if isinstance(x, Tensor)]
            output = _full(value)
            found = iter(_gradients([output], tensors, [aten.ones_like(output)]))
            grads = tree_unflatten([next(found) if isinstance(x, Tensor) else x for x in flat], spec)
        grads, value, aux = _release((grads, value, aux), inputs)
        result = grads[0] if isinstance(argnums, int) else tuple(grads)
        return (result, (value, aux)) if has_aux else (result, value)

    return both


def _split(made: Any, has_aux: bool, where: str) -> tuple[Any, Any]:
    if not has_aux:
        return made, None
    if not isinstance(made, tuple) or len(made) != 2:
        raise RuntimeError(f"{where}: output of function f should be a tuple: (output, aux) if has_aux is True")
    return made


def grad(func: Callable[..., Any], argnums: Any = 0, has_aux: bool = False) -> Callable[..., Any]:
    """A function that gives the gradient of `func` (and what `func` returns beside its value, with `has_aux`); see
    `grad_and_value`.

    >>> torch.func.grad(lambda x: x ** 3)(torch.tensor(2.))
    tensor(12.)
    """
    both = grad_and_value(func, argnums, has_aux)

    @functools.wraps(func, updated=())
    def gradient(*args: Any, **kwargs: Any) -> Any:
        found, value = both(*args, **kwargs)
        return (found, value[1]) if has_aux else found

    return gradient


def vjp(func: Callable[..., Any], *primals: Any, has_aux: bool = False) -> Any:
    """(func(*primals), function) where the function takes a cotangent for every output and gives the products with
    the Jacobian: a tuple with one for every primal. With `has_aux` what `func` returns beside its output comes third.

    >>> output, pullback = torch.func.vjp(lambda x: x ** 2, torch.tensor(3.))
    >>> pullback(torch.tensor(1.))
    (tensor(6.),)
    """
    with enable_grad():
        inputs = _fresh_inputs(primals)
        output, aux = _split(func(*inputs), has_aux, "vjp(f, *primals)")
    flat_out, out_spec = tree_flatten(output)
    if not flat_out or not all(isinstance(o, Tensor) for o in flat_out):
        raise RuntimeError("vjp(f, *primals): Expected f(*primals) to return only tensors")
    flat_in, in_spec = tree_flatten(inputs)

    def product(*cotangents: Any) -> Any:
        given, spec = tree_flatten(
            cotangents[0] if len(cotangents) == 1 and out_spec != tree_flatten(cotangents)[1] else cotangents
        )
        if spec != out_spec:
            raise RuntimeError(
                "Expected pytree structure of cotangents to be the same as pytree structure of outputs to the "
                f"function. cotangents: {spec}, primal output: {out_spec}"
            )
        for i, (c, o) in enumerate(zip(given, flat_out)):
            if c.shape != o.shape:
                raise RuntimeError(
                    f"Mismatch in shape: grad_output[{i}] has a shape of {c.shape} and output[{i}] has a shape of "
                    f"{o.shape}."
                )
        with enable_grad():
            found = _products(flat_out, flat_in, given)
        return tree_unflatten(_release(found, flat_in), in_spec)

    result, aux = _release((output, aux), inputs)
    return (result, product, aux) if has_aux else (result, product)


def _products(outputs: Sequence[Any], inputs: Sequence[Any], cotangents: Sequence[Any]) -> list[Any]:
    """Gradients for cotangents that may be batched at levels that the graph does not know: those go one after
    another.
    """
    known = max((x._level for x in (*outputs, *inputs) if isinstance(x, Batched)), default=0)
    above = [
        level
        for level in levels.stack
        if level.id > known and any(isinstance(c, Batched) and c._level == level.id for c in cotangents)
    ]
    if not above:
        return _gradients([_full_to(o, known) for o in outputs], inputs, [_full_to(c, known) for c in cotangents])
    top = above[-1]
    rows = [
        _products(
            outputs, inputs, [c._value[i] if isinstance(c, Batched) and c._level == top.id else c for c in cotangents]
        )
        for i in range(top.size)
    ]
    return [make_batched(aten.stack(list(column)), top.id) for column in zip(*rows)]


def _full_to(x: Any, known: int) -> Any:
    for level in levels.stack:
        if level.id <= known:
            x = _batched_below(x, level)
    return x


# --- forward products
def _linear_map(outputs: Sequence[Any], inputs: Sequence[Any]) -> Callable[[Sequence[Any]], list[Any]]:
    """A function of tangents that gives the derivative of every output in their direction, by one backward pass."""
    # backward passes are linear in what they start from; those that take logarithms of it need it to be other than 0
    dummies = [_like(aten.ones_like(_plain(o)).requires_grad_(), o) for o in map(_full, outputs)]
    back = call_for_forward_product(_gradients, [_full(o) for o in outputs], inputs, dummies)
    return lambda tangents: _gradients(back, dummies, [_full(t) for t in tangents])


def _directional(outputs: Sequence[Any], inputs: Sequence[Any], tangents: Sequence[Any]) -> list[Any]:
    """The derivative of every output in the direction of the tangents."""
    return _linear_map(outputs, inputs)(tangents)


def jvp(func: Callable[..., Any], primals: Any, tangents: Any, *, strict: bool = False, has_aux: bool = False) -> Any:
    """(func(*primals), its derivative in the direction of the tangents), and with `has_aux` what `func` returns
    beside its output.

    >>> torch.func.jvp(lambda x: x ** 2, (torch.tensor(3.),), (torch.tensor(1.),))
    (tensor(9.), tensor(6.))
    """
    for word, given in (("primals", primals), ("tangents", tangents)):
        if not isinstance(given, tuple):
            raise RuntimeError(
                f"jvp(f, primals, tangents): Expected {word} to be a tuple. E.g. it should be valid to call f(*{word})."
            )
    flat, spec = tree_flatten(primals)
    directions, directions_spec = tree_flatten(tangents)
    if spec != directions_spec:
        raise RuntimeError(
            "jvp(f, primals, tangents): Expected primals and tangents to have the same python structure. For example, "
            f"if primals is a tuple of 3 tensors, tangents also must be. Got primals with structure {spec} and "
            f"tangents with structure {directions_spec}"
        )
    for x, t in zip(flat, directions):
        if x.shape != t.shape:
            raise RuntimeError(
                "Trying to set a forward gradient that has a different size than that of the original Tensor, this is "
                f"not supported. Tensor is of size {list(x.shape)} while the given forward gradient is of size "
                f"{list(t.shape)}."
            )
    with enable_grad():
        inputs = _fresh_inputs(primals)
        output, aux = _split(func(*inputs), has_aux, "jvp(f, primals, tangents)")
        flat_out, out_spec = tree_flatten(output)
        found = _directional(flat_out, tree_leaves(inputs), directions)
    output, derivative, aux = _release((output, tree_unflatten(found, out_spec), aux), inputs)
    return (output, derivative, aux) if has_aux else (output, derivative)


def linearize(func: Callable[..., Any], *primals: Any) -> tuple[Any, Callable[..., Any]]:
    """(func(*primals), function) where the function takes tangents and gives the derivative in their direction,
    without calling `func`.

    >>> output, tangent = torch.func.linearize(lambda x: x ** 2, torch.tensor(3.))
    >>> tangent(torch.tensor(1.))
    tensor(6.)
    """
    with enable_grad():
        inputs = _fresh_inputs(primals)
        output = func(*inputs)
        flat_out, spec = tree_flatten(output)
        product = _linear_map(flat_out, tree_leaves(inputs))

    def push(*tangents: Any) -> Any:
        with enable_grad():
            found = product(tree_leaves(tangents))
        return _release(tree_unflatten(found, spec), inputs)

    return _release(output, inputs), push
