"""Derivatives of functions: against formulas, against each other, nested and under vmap."""

from __future__ import annotations

import warnings
from typing import Any

import pytest

import mindtorch_v2 as torch
from mindtorch_v2 import nn
from mindtorch_v2.autograd import forward_ad
from mindtorch_v2.func import (
    functional_call,
    functionalize,
    grad,
    grad_and_value,
    hessian,
    jacfwd,
    jacrev,
    jvp,
    linearize,
    stack_module_state,
    vjp,
    vmap,
)

X = torch.linspace(-1.0, 1.0, 3, dtype=torch.float64)
M = torch.arange(6.0, dtype=torch.float64).reshape(2, 3) / 5
close = torch.testing.assert_close


def test_gradients_and_their_gradients() -> None:
    x = torch.tensor(0.5, dtype=torch.float64)
    close(grad(torch.sin)(x), x.cos())
    close(grad(grad(torch.sin))(x), -x.sin())
    close(grad(grad(grad(torch.sin)))(x), -x.cos())
    assert not grad(torch.sin)(x).requires_grad and not x.requires_grad and x.grad is None
    found, (value, aux) = grad_and_value(lambda a, b: ((a * b).sum(), a), argnums=(0, 1), has_aux=True)(X, 2 * X)
    close(found, (2 * X, X))
    close(value, (2 * X * X).sum())
    close(aux, X)
    close(grad(lambda p: (p["a"] * p["b"][0]).sum())({"a": X, "b": [3 * X]}), {"a": 3 * X, "b": [X]})


def test_results_belong_to_the_callers_graph() -> None:
    weight = torch.ones(3, dtype=torch.float64, requires_grad=True)
    grad(lambda a: (a * a * weight).sum())(X).sum().backward()
    close(weight.grad, 2 * X)
    rate = grad(lambda r: ((X - r * grad(lambda a: (a**2).sum())(X)) ** 2).sum())(
        torch.tensor(0.1, dtype=torch.float64)
    )
    close(rate, (2 * (X - 0.2 * X) * -2 * X).sum())
    with torch.no_grad():
        assert not grad(lambda a: (a * weight).sum())(X).requires_grad


def test_vjp_gives_a_tuple_also_for_one_primal() -> None:
    _, back = vjp(torch.sin, X)
    (only,) = back(torch.ones_like(X))
    close(only, X.cos())
    _, back = vjp(lambda tree: tree["a"] * 2, {"a": X})
    (tree,) = back(torch.ones_like(X))
    close(tree["a"], torch.full_like(X, 2.0))


def test_products_with_the_jacobian() -> None:
    def function(a: Any, b: Any) -> Any:
        return a.sin() * b, {"sum": (a * b).sum()}

    out, back = vjp(function, X, 2 * X)
    close(out[0], X.sin() * 2 * X)
    close(
        back((torch.ones_like(X), {"sum": torch.tensor(1.0, dtype=torch.float64)})),
        (X.cos() * 2 * X + 2 * X, X.sin() + X),
    )
    value, forward = jvp(function, (X, 2 * X), (torch.ones_like(X), torch.zeros_like(X)))
    close(forward, (X.cos() * 2 * X, {"sum": (2 * X).sum()}))
    close(value[1]["sum"], (2 * X * X).sum())
    linear_value, push = linearize(torch.sin, X)
    close((linear_value, push(X)), (X.sin(), X * X.cos()))


def test_jacobians_and_hessians() -> None:
    close(jacrev(torch.sin)(X), torch.diag(X.cos()))
    close(jacfwd(lambda a: a.sum() * a)(X), X.sum() * torch.eye(3, dtype=torch.float64) + X[:, None])
    close(hessian(lambda a: (a**3).sum())(X), torch.diag(6 * X))
    first, second = jacrev(lambda a, b: (a * b, (a * b).sum()), argnums=(0, 1))(X, 2 * X)
    close(first, (torch.diag(2 * X), torch.diag(X)))
    close(second, (2 * X, X))
    close(vmap(jacrev(torch.sin))(M), torch.stack([torch.diag(row.cos()) for row in M]))
    close(vmap(hessian(lambda a: (a**3).sum()))(M), torch.stack([torch.diag(6 * row) for row in M]))
    close(torch.autograd.functional.jacobian(torch.sin, X), jacrev(torch.sin)(X))


def test_gradients_of_samples() -> None:
    torch.manual_seed(0)
    model = nn.Sequential(
        nn.Conv2d(1, 2, 3), nn.ReLU(), nn.MaxPool2d(2), nn.Flatten(), nn.LayerNorm(18), nn.Linear(18, 4)
    ).double()
    images, classes = torch.randn(5, 1, 8, 8, dtype=torch.float64), torch.tensor([0, 1, 2, 3, 1])
    parameters = {name: p.detach() for name, p in model.named_parameters()}

    def loss(given: Any, image: Any, kind: Any) -> Any:
        return nn.functional.cross_entropy(functional_call(model, given, (image[None],)), kind[None])

    with warnings.catch_warnings():
        warnings.simplefilter("error")  # every operator in there has a rule
        found = vmap(grad(loss), in_dims=(None, 0, 0))(parameters, images, classes)
    each = [grad(loss)(parameters, images[i], classes[i]) for i in range(5)]
    for name in parameters:
        close(found[name], torch.stack([e[name] for e in each]))
    close(vmap(lambda a, t: jvp(torch.sin, (a,), (t,))[1])(M, 2 * M), 2 * M * M.cos())
    close(vmap(lambda a: vjp(torch.sin, a)[1](a)[0])(M), M * M.cos())


def test_gradients_through_a_batch() -> None:
    close(grad(lambda m: vmap(torch.dot, in_dims=(0, None))(m, X).sin().sum())(M), (M @ X).cos()[:, None] * X)


def test_ensembles() -> None:
    torch.manual_seed(0)
    models = [nn.Linear(3, 2) for _ in range(4)]
    parameters, buffers = stack_module_state(models)
    assert parameters["weight"].shape == (4, 2, 3) and parameters["weight"].requires_grad and buffers == {}
    x = torch.randn(5, 3)
    out = vmap(lambda p, b, a: functional_call(models[0], (p, b), (a,)), in_dims=(0, 0, None))(parameters, buffers, x)
    close(out, torch.stack([m(x) for m in models]))
    with pytest.raises(RuntimeError, match="Expected all models to be of the same class"):
        stack_module_state([nn.Linear(1, 1), nn.ReLU()])


def test_functional_call_leaves_the_module_as_it_was() -> None:
    layer = nn.Linear(2, 2)
    before = layer.weight
    close(
        functional_call(layer, {"weight": torch.zeros(2, 2), "bias": torch.ones(2)}, torch.ones(1, 2)), torch.ones(1, 2)
    )
    with pytest.raises(ZeroDivisionError):
        functional_call(nn.Sequential(layer, _Broken()), {"0.weight": torch.zeros(2, 2)}, torch.ones(1, 2))
    assert layer.weight is before
    tied = nn.Sequential(layer, layer)
    close(
        functional_call(tied, {"0.weight": torch.zeros(2, 2), "0.bias": torch.ones(2)}, torch.ones(1, 2)),
        torch.ones(1, 2),
    )
    with pytest.raises(RuntimeError, match=r"Missing key\(s\): bias"):
        functional_call(layer, {"weight": torch.zeros(2, 2)}, torch.ones(1, 2), strict=True)
    with pytest.raises(AttributeError, match="no parameter or buffer called 'nowhere'"):
        functional_call(layer, {"nowhere": torch.zeros(2, 2)}, torch.ones(1, 2))


class _Broken(nn.Module):
    def forward(self, x: Any) -> Any:
        raise ZeroDivisionError


def test_forward_mode() -> None:
    with forward_ad.dual_level():
        dual = forward_ad.make_dual(X, torch.ones_like(X))
        primal, tangent = forward_ad.unpack_dual(dual.sin() * dual)
        close((primal, tangent), (X.sin() * X, X.cos() * X + X.sin()))
        assert not primal.requires_grad and not tangent.requires_grad
        assert forward_ad.unpack_dual(X).tangent is None
        close(forward_ad.unpack_dual(dual).tangent, torch.ones_like(X))
    with pytest.raises(RuntimeError, match="no level exists"):
        forward_ad.make_dual(X, X)
    with forward_ad.dual_level(), pytest.raises(RuntimeError, match="different size than that of the original Tensor"):
        forward_ad.make_dual(X, torch.ones(2))


def test_batched_cotangents() -> None:
    x = X.clone().requires_grad_()
    out = x**2
    (found,) = torch.autograd.grad(out, x, torch.eye(3, dtype=torch.float64), is_grads_batched=True)
    close(found, torch.diag(2 * X))
    with pytest.raises(ValueError, match="all of one size"):
        torch.autograd.grad((out, out * 2), x, (torch.ones(2, 3), torch.ones(3, 3)), is_grads_batched=True)


def test_misuse_is_named_in_pytorchs_words() -> None:
    for error, text, call in (
        (
            RuntimeError,
            "Expected f\\(\\*args\\) to return a scalar Tensor, got tensor with 1 dims",
            lambda: grad(lambda a: a)(X),
        ),
        (
            RuntimeError,
            "Expected f\\(\\*args\\) to return a Tensor, got <class 'float'>",
            lambda: grad(lambda a: 1.0)(X),
        ),
        (RuntimeError, "Got argnum=1, but only 1 positional inputs", lambda: grad(torch.sum, argnums=1)(X)),
        (
            RuntimeError,
            "only Tensors of floating point dtype can require gradients",
            lambda: grad(torch.sum)(torch.tensor([1])),
        ),
        (RuntimeError, "Expected pytree structure of cotangents", lambda: vjp(lambda a: (a, a), X)[1](X)),
        (RuntimeError, "Expected primals to be a tuple", lambda: jvp(torch.sin, X, X)),
        (RuntimeError, "invalid argument for remove=nothing", lambda: functionalize(torch.sin, remove="nothing")),
    ):
        with pytest.raises(error, match=text):
            call()
