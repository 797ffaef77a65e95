"""Comparing derivatives with finite differences, in float64."""
from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from .. import _dtype as dt
from .._dispatch import aten
from .._tensor import Tensor

__all__ = ["GradcheckError", "gradcheck", "gradgradcheck"]


class GradcheckError(RuntimeError):
    """An analytical gradient differs from the numerical one."""


def _outputs(value: Any) -> list[Tensor]:
    values = [value] if isinstance(value, Tensor) else list(value)
    return [t for t in values if isinstance(t, Tensor) and t.dtype.inexact]


def _numerical(function: Callable[..., Any], inputs: tuple[Any, ...], which: int, eps: float) -> list[np.ndarray]:
    """One matrix per output, (numel of the input, numel of the output): the gradient of the real part of each output element.
    For a complex input x + iy it is d/dx + i d/dy, which is the engine's convention."""
    x = inputs[which]._a
    directions = (1, 1j) if inputs[which].is_complex() else (1,)
    rows: list[list[Any]] = []
    for index in np.ndindex(*x.shape):
        old = x[index].copy()
        total: list[Any] | None = None
        for direction in directions:
            x[index] = old + eps * direction
            plus = [o.detach()._a.real.ravel().copy() for o in _outputs(function(*inputs))]
            x[index] = old - eps * direction
            minus = [o.detach()._a.real.ravel().copy() for o in _outputs(function(*inputs))]
            made = [direction * (p - m) / (2 * eps) for p, m in zip(plus, minus)]
            total = made if total is None else [t + m for t, m in zip(total, made)]
        x[index] = old
        assert total is not None
        rows.append(total)
    if not rows:
        return [np.zeros((0, o.numel())) for o in _outputs(function(*inputs))]
    return [np.stack([r[k] for r in rows]) for k in range(len(rows[0]))]


def _analytical(output: Tensor, x: Tensor, index: int) -> np.ndarray | None:
    """The gradient of one element of the output with respect to x, flattened."""
    from . import grad
    seed = np.zeros(output.numel(), output.dtype.np)
    seed[index] = 1
    g = aten.view(aten.to(_from(seed), output.dtype), list(output.shape))
    found = grad([output], [x], [g], retain_graph=True, allow_unused=True)[0]
    return None if found is None else found.detach()._a.ravel()


def _from(array: np.ndarray) -> Tensor:
    from .._tensor import wrap
    return wrap(array)


def _compare(function: Callable[..., Any], inputs: tuple[Any, ...], which: int, eps: float, atol: float, rtol: float) -> None:
    x = inputs[which]
    numerical = _numerical(function, inputs, which, eps)
    for k, out in enumerate(_outputs(function(*inputs))):
        if not out.requires_grad:
            if np.abs(numerical[k]).max(initial=0) > atol:
                raise GradcheckError(f"output {k} does not require a gradient but depends on input {which}")
            continue
        for j in range(out.numel()):
            got = _analytical(out, x, j)
            want = numerical[k][:, j]
            have = np.zeros_like(want) if got is None else got
            if not np.allclose(have, want, rtol, atol):
                raise GradcheckError(f"Jacobian mismatch for output {k} with respect to input {which},\nnumerical:{want}\nanalytical:{have}")


def gradcheck(func: Callable[..., Any], inputs: Any, *, eps: float = 1e-6, atol: float = 1e-5, rtol: float = 1e-3,
              raise_exception: bool = True, nondet_tol: float = 0.0, check_undefined_grad: bool = True,
              check_grad_dtypes: bool = False, check_batched_grad: bool = False, check_forward_ad: bool = False,
              check_backward_ad: bool = True, fast_mode: bool = False, masked: bool | None = None) -> bool:
    """Whether `func`'s gradients agree with central differences, for every floating input that requires one.

    Inputs should be float64; float32 is too coarse for the default tolerances.
    """
    args = (inputs,) if isinstance(inputs, Tensor) else tuple(inputs)
    wanted = [i for i, t in enumerate(args) if isinstance(t, Tensor) and t.requires_grad]
    if not wanted:
        raise ValueError("gradcheck expects at least one input tensor to require gradient, but none of the them have requires_grad=True.")
    try:
        for i in wanted:
            if not args[i]._a.flags.c_contiguous and 0 in args[i]._a.strides:
                raise RuntimeError(f"The {i}th input has a dimension with stride 0. gradcheck only supports inputs that are non-overlapping")
            _compare(func, args, i, eps, atol, rtol)
    except GradcheckError:
        if raise_exception:
            raise
        return False
    return True


def gradgradcheck(func: Callable[..., Any], inputs: Any, grad_outputs: Any = None, *, eps: float = 1e-6, atol: float = 1e-5,
                  rtol: float = 1e-3, gen_non_contig_grad_outputs: bool = False, raise_exception: bool = True,
                  nondet_tol: float = 0.0, check_undefined_grad: bool = True, check_grad_dtypes: bool = False,
                  check_batched_grad: bool = False, check_fwd_over_rev: bool = False, check_rev_over_rev: bool = True,
                  fast_mode: bool = False, masked: bool = False) -> bool:
    """Whether the gradients of `func`'s gradients agree with central differences."""
    args = (inputs,) if isinstance(inputs, Tensor) else tuple(inputs)
    wanted = [i for i, t in enumerate(args) if isinstance(t, Tensor) and t.requires_grad]
    outs = [o for o in _outputs(func(*args)) if o.requires_grad]
    if grad_outputs is None:
        rng = np.random.default_rng(0)
        given = tuple(aten.to(_from(rng.standard_normal(o.shape)), o.dtype).requires_grad_() for o in outs)
    else:
        given = (grad_outputs,) if isinstance(grad_outputs, Tensor) else tuple(grad_outputs)

    def first(*values: Any) -> Any:
        from . import grad
        xs, gs = values[:len(args)], values[len(args):]
        made = [o for o in _outputs(func(*xs)) if o.requires_grad]
        found = grad(made, [xs[i] for i in wanted], gs, create_graph=True, allow_unused=True)
        return tuple(g for g in found if g is not None and (g.requires_grad or g.dtype is dt.float64))
    return gradcheck(first, (*args, *given), eps=eps, atol=atol, rtol=rtol, raise_exception=raise_exception)
