"""Jacobians and Hessians of functions, row by row (`jacrev`) or column by column (`jacfwd`)."""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import Any

from .._autograd.grad_mode import enable_grad
from .._dispatch import aten
from ..utils._pytree import tree_flatten, tree_map, tree_unflatten
from ._transforms import _chosen, _fresh_inputs, _linear_map, _release, _split, vjp


# --- Jacobians
def jacrev(
    func: Callable[..., Any],
    argnums: Any = 0,
    *,
    has_aux: bool = False,
    chunk_size: int | None = None,
    _preallocate_and_copy: bool = False,
) -> Callable[..., Any]:
    """A function that gives the Jacobian of `func`: for every output and every chosen input a tensor of shape
    (*output, *input).

    >>> torch.func.jacrev(lambda x: x ** 2)(torch.tensor([1., 2.]))
    tensor([[2., 0.],
            [0., 4.]])
    """

    @functools.wraps(func, updated=())
    def jacobian(*args: Any, **kwargs: Any) -> Any:
        numbers = _chosen(argnums, args)

        def of_chosen(*chosen: Any) -> Any:
            given = dict(zip(numbers, chosen))
            return func(*[given.get(i, a) for i, a in enumerate(args)], **kwargs)

        made = vjp(of_chosen, *[args[n] for n in numbers], has_aux=has_aux)
        output, product = made[0], made[1]
        flat_out, out_spec = tree_flatten(output)
        rows = []
        for k, o in enumerate(flat_out):
            found = [_row(product, flat_out, out_spec, k, j) for j in range(o.numel())]
            if not found:
                found = [tree_map(lambda x: x.reshape([0, *x.shape])[:0], [args[n] for n in numbers])]
            trees = [
                tree_map(
                    lambda *xs, o=o: aten.stack(list(xs)).reshape([*o.shape, *xs[0].shape]), *[f[i] for f in found]
                )
                for i in range(len(numbers))
            ]
            rows.append(trees[0] if isinstance(argnums, int) else tuple(trees))
        jac = tree_unflatten(rows, out_spec)
        return (jac, made[2]) if has_aux else jac

    return jacobian


def _row(product: Callable[..., Any], outputs: Sequence[Any], spec: Any, k: int, j: int) -> list[Any]:
    """The gradients of element `j` of output `k` by all inputs."""
    seeds = [aten.zeros_like(o) for o in outputs]
    flat = aten.zeros(outputs[k].numel(), dtype=outputs[k].dtype, device=outputs[k].device)
    flat[j] = 1
    seeds[k] = flat.reshape(list(outputs[k].shape))
    return list(product(tree_unflatten(seeds, spec)))


def jacfwd(
    func: Callable[..., Any], argnums: Any = 0, has_aux: bool = False, *, randomness: str = "error"
) -> Callable[..., Any]:
    """A function that gives the Jacobian of `func`, as `jacrev` does, but column by column: `func` runs once, and each
    element of the inputs costs one pass.

    >>> torch.func.jacfwd(lambda x: x ** 2)(torch.tensor([1., 2.]))
    tensor([[2., 0.],
            [0., 4.]])
    """

    @functools.wraps(func, updated=())
    def jacobian(*args: Any, **kwargs: Any) -> Any:
        numbers = _chosen(argnums, args)
        with enable_grad():
            inputs = _fresh_inputs([args[n] for n in numbers])
            given = dict(zip(numbers, inputs))
            made = func(*[given.get(i, a) for i, a in enumerate(args)], **kwargs)
            output, aux = _split(made, has_aux, "jacfwd(f)(*args)")
            flat_out, out_spec = tree_flatten(output)
            flat_in, in_spec = tree_flatten(inputs)
            product = _linear_map(flat_out, flat_in)
            columns = [_columns(product, flat_out, flat_in, k) for k in range(len(flat_in))]
        rows = [tree_unflatten([c[i] for c in columns], in_spec) for i in range(len(flat_out))]
        jac = tree_unflatten([row[0] if isinstance(argnums, int) else tuple(row) for row in rows], out_spec)
        jac, aux = _release((jac, aux), inputs)
        return (jac, aux) if has_aux else jac

    return jacobian


def _columns(product: Callable[..., Any], outputs: Sequence[Any], inputs: Sequence[Any], k: int) -> list[Any]:
    """The derivatives of every output by the elements of input `k`, (*output, *input)."""
    shape, found = list(inputs[k].shape), []
    for j in range(inputs[k].numel()):
        tangents = [aten.zeros(list(x.shape), dtype=x.dtype, device=x.device) for x in inputs]
        tangents[k].view(-1)[j] = 1
        found.append(product(tangents))
    if not found:
        return [aten.zeros([*o.shape, *shape], dtype=o.dtype, device=o.device) for o in outputs]
    return [aten.stack(list(parts), -1).reshape([*o.shape, *shape]) for o, parts in zip(outputs, zip(*found))]


def hessian(func: Callable[..., Any], argnums: Any = 0) -> Callable[..., Any]:
    """A function that gives the second derivatives of `func`: the Jacobian of its Jacobian.

    >>> torch.func.hessian(lambda x: (x ** 3).sum())(torch.tensor([1., 2.]))
    tensor([[ 6.,  0.],
            [ 0., 12.]])
    """
    return jacfwd(jacrev(func, argnums), argnums)
