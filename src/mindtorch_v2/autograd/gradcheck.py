"""Comparing derivatives with finite differences, in float64.

A complex output counts as two real ones, its parts; a complex input as two real directions. The gradient of a real
number L with respect to x + iy is dL/dx + i dL/dy, and a starting gradient v asks for the gradient of Re(conj(v) *
output), so that v = 1 tells of the real part and v = i of the imaginary one.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from .._tensor import Tensor, wrap

__all__ = ["GradcheckError", "gradcheck", "gradgradcheck"]


class GradcheckError(RuntimeError):
    """An analytical gradient differs from the numerical one."""


@dataclass(frozen=True)
class _Check:
    """One function with its inputs, and how exact its derivatives have to be."""

    function: Callable[..., Any]
    inputs: tuple[Any, ...]
    eps: float
    atol: float
    rtol: float
    nondet_tol: float
    check_dtypes: bool

    def outputs(self) -> list[Tensor]:
        value = self.function(*self.inputs)
        values = [value] if isinstance(value, Tensor) else list(value)
        return [t for t in values if isinstance(t, Tensor) and t.dtype.inexact]

    def values(self) -> list[np.ndarray]:
        """The outputs as vectors of real numbers, at the present inputs."""
        return [_reals(o.detach()._array) for o in self.outputs()]

    def slope(self, which: int, direction: np.ndarray) -> list[np.ndarray]:
        """How fast each output changes when input `which` moves along `direction`; the input is put back afterwards."""
        x = self.inputs[which]._array
        old = x.copy()
        try:
            x[...] = old + self.eps * direction
            plus = self.values()
            x[...] = old - self.eps * direction
            minus = self.values()
        finally:
            x[...] = old
        return [(p - m) / (2 * self.eps) for p, m in zip(plus, minus)]

    def close(self, got: Any, want: Any, scale: float = 1.0) -> bool:
        return np.allclose(got, want, self.rtol, self.atol * scale, equal_nan=True)


def _reals(a: np.ndarray) -> np.ndarray:
    flat = np.array(a).ravel()
    return np.concatenate([flat.real, flat.imag]) if np.iscomplexobj(flat) else flat


def _unit(shape: Sequence[int], position: int, value: complex, like: np.ndarray) -> np.ndarray:
    out = np.zeros(int(np.prod(shape)), like.dtype)
    out[position] = value
    return out.reshape(shape)


def _numerical(check: _Check, which: int) -> list[np.ndarray]:
    """One matrix per output: (numel of the input, real numbers in the output)."""
    x = check.inputs[which]._array
    directions = (1, 1j) if np.iscomplexobj(x) else (1,)
    rows = []
    for position in range(x.size):
        slopes = [check.slope(which, _unit(x.shape, position, d, x)) for d in directions]
        rows.append([sum(d * s[k] for d, s in zip(directions, slopes)) for k in range(len(slopes[0]))])
    if not rows:
        return [np.zeros((0, v.size)) for v in check.values()]
    return [np.stack([r[k] for r in rows]) for k in range(len(rows[0]))]


def _analytical(output: Tensor, x: Tensor, seed: np.ndarray) -> Tensor | None:
    """The gradient with respect to x of the output weighted by `seed`."""
    from . import grad

    return grad([output], [x], [wrap(seed.astype(output.dtype.np))], retain_graph=True, allow_unused=True)[0]


def _flat(found: Tensor | None, x: Tensor) -> np.ndarray:
    return np.zeros(x.numel(), x._array.dtype) if found is None else found.detach()._array.ravel()


def _seeds(output: Tensor) -> list[np.ndarray]:
    """Starting gradients that pick out one real number of the output each."""
    parts = (1, 1j) if output.is_complex() else (1,)
    return [_unit(output.shape, i, part, output._array) for part in parts for i in range(output.numel())]


def _compare_jacobians(check: _Check, which: int) -> None:
    """Every element of the output against every element of one input."""
    x = check.inputs[which]
    numerical = _numerical(check, which)
    for k, out in enumerate(check.outputs()):
        if not out.requires_grad:
            if np.abs(numerical[k]).max(initial=0) > check.atol:
                raise GradcheckError("Numerical gradient for function expected to be zero")
            continue
        columns = [_flat(_analytical(out, x, seed), x) for seed in _seeds(out)]
        have = np.stack(columns, 1) if columns else np.zeros_like(numerical[k])
        if not check.close(have, numerical[k]):
            raise GradcheckError(
                f"Jacobian mismatch for output {k} with respect to input {which},\nnumerical:{numerical[k]}\n"
                f"analytical:{have}\n"
            )


def _compare_projections(check: _Check, which: int) -> None:
    """One random direction of the input against one random weighting of each output."""
    x = check.inputs[which]
    rng = np.random.default_rng(which)
    direction = _direction(rng, x)
    slopes = check.slope(which, direction)
    for k, out in enumerate(check.outputs()):
        if not out.requires_grad:
            if np.abs(slopes[k]).max(initial=0) > check.atol:
                raise GradcheckError("Numerical gradient for function expected to be zero")
            continue
        seed = _direction(rng, out)
        have = float(np.real(np.vdot(_flat(_analytical(out, x, seed), x), direction.ravel())))
        want = float(slopes[k] @ _reals(seed))
        if not check.close(have, want, float(np.abs(direction).sum() * np.abs(seed).sum())):
            _compare_jacobians(check, which)  # says which elements differ
            raise GradcheckError(
                f"Gradients failed to compare equal for output {k} with respect to input {which}, in fast mode: "
                f"numerical {want}, analytical {have}"
            )


def _direction(rng: np.random.Generator, like: Tensor) -> np.ndarray:
    """A random array of length 1 in the tensor's shape and type."""
    made = rng.uniform(0.1, 1, like.shape) * rng.choice([-1, 1], like.shape)
    if like.is_complex():
        made = made + 1j * rng.uniform(-1, 1, like.shape)
    made = np.asarray(made, like.dtype.np)
    return made / (np.linalg.norm(made) or 1)


def _check_repeatable(check: _Check, which: int) -> None:
    """The same backward pass twice, and the type of what it gives."""
    x = check.inputs[which]
    for out in check.outputs():
        if not out.requires_grad:
            continue
        seed = np.ones(out.shape, out.dtype.np)
        first, second = _analytical(out, x, seed), _analytical(out, x, seed)
        if first is None or second is None:
            continue
        if check.check_dtypes and first.dtype is not x.dtype:
            raise GradcheckError(f"Gradient has dtype mismatch: {first.dtype} for an input of {x.dtype}")
        apart = np.abs(first.detach()._array - second.detach()._array)
        if np.nan_to_num(apart).max(initial=0) > check.nondet_tol:
            raise GradcheckError(
                "Backward is not reentrant, i.e., running backward with same input and grad_output multiple times "
                "gives different values, although analytical gradient matches numerical gradient.The tolerance for "
                f"nondeterminism was {check.nondet_tol}."
            )


def _differentiable_inputs(args: tuple[Any, ...]) -> list[int]:
    """The numbers of the inputs to differentiate by."""
    found = [i for i, t in enumerate(args) if isinstance(t, Tensor) and t.requires_grad]
    if not found:
        raise ValueError(
            "gradcheck expects at least one input tensor to require gradient, but none of the them have "
            "requires_grad=True."
        )
    for i in found:
        t = args[i]
        if t.dtype.itemsize != (16 if t.is_complex() else 8):
            warnings.warn(
                f"Input #{i} requires gradient and is not a double precision floating point or complex. This check "
                "will likely fail if all the inputs are not of double precision floating point or complex. ",
                stacklevel=3,
            )
        if t._array.size and any(s == 0 and n > 1 for s, n in zip(t._array.strides, t._array.shape)):
            raise RuntimeError(
                f"The {i}th input has a dimension with stride 0. gradcheck only supports inputs that are "
                "non-overlapping to be able to compute the numerical gradients correctly. You should call .contiguous "
                "on the input before passing it to gradcheck."
            )
    return found


def gradcheck(
    func: Callable[..., Any],
    inputs: Any,
    *,
    eps: float = 1e-6,
    atol: float = 1e-5,
    rtol: float = 1e-3,
    raise_exception: bool = True,
    nondet_tol: float = 0.0,
    check_undefined_grad: bool = True,
    check_grad_dtypes: bool = False,
    check_batched_grad: bool = False,
    check_forward_ad: bool = False,
    check_backward_ad: bool = True,
    fast_mode: bool = False,
    masked: bool | None = None,
) -> bool:
    """Whether `func`'s gradients agree with central differences, for every floating input that requires one.

    Inputs should be float64 or complex128; narrower types are too coarse for the default tolerances. `fast_mode`
    compares one random projection of each Jacobian instead of all its elements. Outputs are always differentiated
    one at a time, so that the gradients of the others are undefined, which is what `check_undefined_grad` asks for.

    >>> torch.autograd.gradcheck(torch.sin, torch.ones(2, dtype=torch.float64, requires_grad=True))
    True
    """
    if check_forward_ad or check_batched_grad:
        raise NotImplementedError(
            "gradcheck compares backward passes one at a time; forward-mode and batched gradients do not exist"
        )
    args = (inputs,) if isinstance(inputs, Tensor) else tuple(inputs)
    wanted = _differentiable_inputs(args)
    check = _Check(func, args, eps, atol, rtol, nondet_tol, check_grad_dtypes)
    compare = _compare_projections if fast_mode else _compare_jacobians
    try:
        for i in wanted:
            compare(check, i)
            _check_repeatable(check, i)
    except GradcheckError:
        if raise_exception:
            raise
        return False
    return True


def _random_gradients(outputs: Sequence[Tensor], apart: bool) -> tuple[Tensor, ...]:
    """Gradients to start from, that require gradients themselves; `apart` leaves gaps between their elements in
    memory.
    """
    rng, made = np.random.default_rng(0), []
    for o in outputs:
        values = np.asarray(
            rng.standard_normal(o.shape) + (1j * rng.standard_normal(o.shape) if o.is_complex() else 0), o.dtype.np
        )
        if apart and values.ndim:
            values = np.repeat(values, 2, -1)[..., ::2]
        made.append(wrap(values).requires_grad_())
    return tuple(made)


def gradgradcheck(
    func: Callable[..., Any],
    inputs: Any,
    grad_outputs: Any = None,
    *,
    eps: float = 1e-6,
    atol: float = 1e-5,
    rtol: float = 1e-3,
    gen_non_contig_grad_outputs: bool = False,
    raise_exception: bool = True,
    nondet_tol: float = 0.0,
    check_undefined_grad: bool = True,
    check_grad_dtypes: bool = False,
    check_batched_grad: bool = False,
    check_fwd_over_rev: bool = False,
    check_rev_over_rev: bool = True,
    fast_mode: bool = False,
    masked: bool = False,
) -> bool:
    """Whether the gradients of `func`'s gradients agree with central differences, with respect to its inputs and to the
    gradients that the first pass starts from (random ones unless `grad_outputs` gives them).

    >>> torch.autograd.gradgradcheck(torch.sin, torch.ones(2, dtype=torch.float64, requires_grad=True))
    True
    """
    args = (inputs,) if isinstance(inputs, Tensor) else tuple(inputs)
    wanted = _differentiable_inputs(args)
    probe = _Check(func, args, eps, atol, rtol, nondet_tol, check_grad_dtypes)
    if grad_outputs is None:
        given = _random_gradients([o for o in probe.outputs() if o.requires_grad], gen_non_contig_grad_outputs)
    else:
        given = (grad_outputs,) if isinstance(grad_outputs, Tensor) else tuple(grad_outputs)

    def first(*values: Any) -> Any:
        from . import grad

        xs, gs = values[: len(args)], values[len(args) :]
        made = [
            o for o in _Check(func, xs, eps, atol, rtol, nondet_tol, check_grad_dtypes).outputs() if o.requires_grad
        ]
        found = grad(made, [xs[i] for i in wanted], gs, create_graph=True, allow_unused=True)
        return tuple(g for g in found if g is not None)

    return gradcheck(
        first,
        (*args, *given),
        eps=eps,
        atol=atol,
        rtol=rtol,
        raise_exception=raise_exception,
        nondet_tol=nondet_tol,
        check_undefined_grad=check_undefined_grad,
        check_grad_dtypes=check_grad_dtypes,
        check_batched_grad=check_batched_grad,
        check_forward_ad=check_fwd_over_rev,
        fast_mode=fast_mode,
        masked=masked,
    )
