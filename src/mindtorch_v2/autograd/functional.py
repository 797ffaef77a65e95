"""Derivatives of functions: Jacobians, Hessians and products with them, by reverse mode."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from .._dispatch import aten
from .._dispatch.namespace import public
from .._tensor import Tensor

__all__ = ["hessian", "hvp", "jacobian", "jvp", "vhp", "vjp"]


def _prepare(inputs: Any) -> tuple[bool, tuple[Tensor, ...]]:
    single = isinstance(inputs, Tensor)
    return single, tuple(
        t.detach().requires_grad_() if not t.requires_grad else t.view_as(t) for t in ((inputs,) if single else inputs)
    )


def _grad(outputs: Any, inputs: Any, grads: Any, create_graph: bool) -> tuple[Any, ...]:
    from . import grad

    found = grad(outputs, inputs, grads, allow_unused=True, retain_graph=True, create_graph=create_graph)
    return tuple(public.zeros_like(t) if g is None else g for t, g in zip(inputs, found))


def _pack(values: tuple[Any, ...], single: bool) -> Any:
    return values[0] if single else values


def jacobian(
    func: Callable[..., Any],
    inputs: Any,
    create_graph: bool = False,
    strict: bool = False,
    vectorize: bool = False,
    strategy: str = "reverse-mode",
) -> Any:
    """The Jacobian of `func`: for one input and output a tensor of shape (*output, *input); tuples nest output
    first.

    >>> torch.autograd.functional.jacobian(lambda x: x ** 2, torch.tensor([1., 2.]))
    tensor([[2., 0.],
            [0., 4.]])
    """
    from . import enable_grad

    with enable_grad():
        single_in, xs = _prepare(inputs)
        out = func(*xs)
        single_out = isinstance(out, Tensor)
        rows = []
        for o in (out,) if single_out else out:
            flat = aten.reshape(o, [-1])
            columns: list[list[Tensor]] = [[] for _ in xs]
            for j in range(o.numel()):
                grads = (
                    _grad([flat[j]], xs, None, create_graph)
                    if flat.requires_grad
                    else tuple(map(public.zeros_like, xs))
                )
                for k, g in enumerate(grads):
                    columns[k].append(g)
            made = tuple(aten.reshape(aten.stack(c), [*o.shape, *x.shape]) for c, x in zip(columns, xs))
            rows.append(_pack(made, single_in))
    return _pack(tuple(rows), single_out)


def hessian(
    func: Callable[..., Any],
    inputs: Any,
    create_graph: bool = False,
    strict: bool = False,
    vectorize: bool = False,
    outer_jacobian_strategy: str = "reverse-mode",
) -> Any:
    """The Hessian of a function with a scalar result.

    >>> torch.autograd.functional.hessian(lambda x: (x ** 3).sum(), torch.tensor([1., 2.]))
    tensor([[ 6.,  0.],
            [ 0., 12.]])
    """
    single = isinstance(inputs, Tensor)

    def first(*xs: Tensor) -> Any:
        found = _grad([func(*xs)], xs, None, True)
        return found[0] if single else found

    return jacobian(first, inputs, create_graph=create_graph)


def vjp(
    func: Callable[..., Any], inputs: Any, v: Any = None, create_graph: bool = False, strict: bool = False
) -> tuple[Any, Any]:
    """The output of `func` and the product of `v` with its Jacobian.

    >>> torch.autograd.functional.vjp(lambda x: x ** 2, torch.tensor([1., 2.]), torch.ones(2))[1]
    tensor([2., 4.])
    """
    from . import enable_grad

    with enable_grad():
        single, xs = _prepare(inputs)
        out = func(*xs)
        outs = (out,) if isinstance(out, Tensor) else tuple(out)
        vs = tuple(map(public.ones_like, outs)) if v is None else (v,) if isinstance(v, Tensor) else tuple(v)
        grads = _grad(outs, xs, vs, create_graph)
    return (out if create_graph else _detach(out)), _pack(grads, single)


def jvp(
    func: Callable[..., Any], inputs: Any, v: Any = None, create_graph: bool = False, strict: bool = False
) -> tuple[Any, Any]:
    """The output of `func` and the product of its Jacobian with `v`, by differentiating a vector-Jacobian product.

    >>> torch.autograd.functional.jvp(lambda x: x ** 2, torch.tensor([1., 2.]), torch.ones(2))[1]
    tensor([2., 4.])
    """
    from . import enable_grad

    with enable_grad():
        single, xs = _prepare(inputs)
        out = func(*xs)
        outs = (out,) if isinstance(out, Tensor) else tuple(out)
        vs = tuple(map(public.ones_like, xs)) if v is None else (v,) if isinstance(v, Tensor) else tuple(v)
        # ones: a backward pass that takes logarithms of its gradients (logcumsumexp) has no derivative at 0
        dummies = tuple(public.ones_like(o).requires_grad_() for o in outs)
        grads = _grad(outs, xs, dummies, True)
        found = _grad(list(grads), dummies, vs, create_graph)
    return (out if create_graph else _detach(out)), _pack(found, isinstance(out, Tensor))


def vhp(
    func: Callable[..., Any], inputs: Any, v: Any = None, create_graph: bool = False, strict: bool = False
) -> tuple[Any, Any]:
    """The output of a scalar `func` and the product of `v` with its Hessian.

    >>> torch.autograd.functional.vhp(lambda x: (x ** 3).sum(), torch.tensor([1., 2.]), torch.ones(2))[1]
    tensor([ 6., 12.])
    """
    from . import enable_grad

    with enable_grad():
        single, xs = _prepare(inputs)
        out = func(*xs)
        vs = tuple(map(public.ones_like, xs)) if v is None else (v,) if isinstance(v, Tensor) else tuple(v)
        first = _grad([out], xs, None, True)
        found = _grad(first, xs, vs, create_graph)
    return (out if create_graph else _detach(out)), _pack(found, single)


hvp = vhp  # the Hessian is symmetric


def _detach(value: Any) -> Any:
    return value.detach() if isinstance(value, Tensor) else tuple(v.detach() for v in value)
