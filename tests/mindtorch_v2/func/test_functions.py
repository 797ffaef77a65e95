"""User-defined functions (`autograd.Function`) under the transforms; the answers are PyTorch 2.13's."""

import gc
import weakref

import pytest

import mindtorch_v2 as torch
from mindtorch_v2.func import grad, hessian, jacfwd, jacrev, jvp, vmap


class Scaled(torch.autograd.Function):
    """(k * exp(x) * y, x + y), with every method."""

    generate_vmap_rule = True

    @staticmethod
    def forward(x, y, k):
        return x.exp() * y * k, x + y

    @staticmethod
    def setup_context(ctx, inputs, output):
        x, y, ctx.k = inputs
        ctx.save_for_backward(x, output[0])
        ctx.save_for_forward(x, y)

    @staticmethod
    def backward(ctx, a, b):
        x, out = ctx.saved_tensors
        return a * out + b, a * x.exp() * ctx.k + b, None

    @staticmethod
    def jvp(ctx, tx, ty, tk):
        assert tk is None
        x, y = ctx.saved_tensors
        return (x.exp() * y * tx + x.exp() * ty) * ctx.k, tx + ty


class Tenfold(torch.autograd.Function):
    """A square whose `jvp` is not its derivative, so that one sees who was asked."""

    @staticmethod
    def forward(x):
        return x**2

    @staticmethod
    def setup_context(ctx, inputs, output):
        ctx.save_for_backward(inputs[0])
        ctx.save_for_forward(inputs[0])

    @staticmethod
    def backward(ctx, g):
        return 2 * ctx.saved_tensors[0] * g

    @staticmethod
    def jvp(ctx, t):
        return 10 * ctx.saved_tensors[0] * t


X = torch.tensor([[0.5, -1.0, 2.0], [1.0, 0.0, -0.5]])
Y = torch.tensor([1.0, 2.0, 3.0])


def _plain(x, y):
    return x.exp() * y * 2.0, x + y


def _custom(x, y):
    return Scaled.apply(x, y, 2.0)


def _assert_same(made, expected):
    for a, b in zip(*(torch.utils._pytree.tree_leaves(t) for t in (made, expected)), strict=True):
        torch.testing.assert_close(a, b)


@pytest.mark.parametrize(
    "transform",
    [
        lambda f: vmap(f, in_dims=(0, None))(X, Y),
        lambda f: vmap(f, in_dims=(1, 0), out_dims=(1, 0))(X, Y),
        lambda f: vmap(grad(lambda x, y: f(x, y)[0].sum(), argnums=(0, 1)), in_dims=(0, None))(X, Y),
        lambda f: grad(lambda x, y: vmap(f, in_dims=(0, None))(x, y)[0].sum(), argnums=(0, 1))(X, Y),
        lambda f: vmap(lambda x, t: jvp(f, (x, Y), (t, torch.zeros(3))))(X, X),
        lambda f: jvp(lambda x: vmap(f, in_dims=(0, None))(x, Y), (X,), (torch.ones(2, 3),)),
        lambda f: vmap(hessian(lambda x: f(x, Y)[0].sum()))(X),
        lambda f: jacfwd(f, argnums=(0, 1))(X[0], Y),
        lambda f: jacrev(f, argnums=(0, 1))(X[0], Y),
        lambda f: jacfwd(jacrev(lambda x: f(x, Y)[0]))(X[0]),
        lambda f: vmap(vmap(f, in_dims=(0, None)), in_dims=(None, 0))(X, X),
    ],
)
def test_the_same_as_the_operators_that_it_is_made_of(transform):
    _assert_same(transform(_custom), transform(_plain))


def test_second_derivatives_of_a_mapped_function():
    x = X.clone().requires_grad_()
    (first,) = torch.autograd.grad(vmap(_custom, in_dims=(0, None))(x, Y)[0].sum(), x, create_graph=True)
    (second,) = torch.autograd.grad(first.sum(), x)
    torch.testing.assert_close(second, X.exp() * Y * 2.0)


def test_forward_mode_asks_jvp_and_reverse_mode_backward():
    ones = torch.ones(3)
    assert jvp(Tenfold.apply, (Y,), (ones,))[1].tolist() == [10.0, 20.0, 30.0]
    assert jacfwd(Tenfold.apply)(Y).diagonal().tolist() == [10.0, 20.0, 30.0]
    assert jacrev(Tenfold.apply)(Y).diagonal().tolist() == [2.0, 4.0, 6.0]
    with torch.autograd.forward_ad.dual_level():
        dual = torch.autograd.forward_ad.make_dual(Y, ones)
        assert torch.autograd.forward_ad.unpack_dual(Tenfold.apply(dual)).tangent.tolist() == [10.0, 20.0, 30.0]


def test_jvp_alone():
    class Sine(torch.autograd.Function):
        @staticmethod
        def forward(x):
            return x.sin()

        @staticmethod
        def setup_context(ctx, inputs, output):
            ctx.save_for_forward(inputs[0])

        @staticmethod
        def jvp(ctx, t):
            return t * ctx.saved_tensors[0].cos()

    torch.testing.assert_close(jacfwd(Sine.apply)(Y), Y.cos().diag())
    with pytest.raises(NotImplementedError, match="You must implement either the backward or vjp method"):
        grad(lambda x: Sine.apply(x).sum())(Y)


def test_vjp_is_another_name_of_backward():
    class Sine(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            ctx.save_for_backward(x)
            return x.sin()

        @staticmethod
        def vjp(ctx, g):
            return g * ctx.saved_tensors[0].cos()

    x = Y.clone().requires_grad_()
    Sine.apply(x).sum().backward()
    torch.testing.assert_close(x.grad, Y.cos())


def test_a_rule_of_its_own():
    seen = []

    class Doubled(Tenfold):
        @staticmethod
        def vmap(info, in_dims, x):
            seen.append((info.batch_size, info.randomness, in_dims, tuple(x.shape)))
            return Doubled.apply(x) * 2, 0

    assert vmap(Doubled.apply)(Y).tolist() == [2.0, 8.0, 18.0]
    assert seen == [(3, "error", (0,), (3,))]


def test_several_outputs_of_a_rule():
    class Pair(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x, y):
            return x * 2, y * 3

        @staticmethod
        def vmap(info, in_dims, x, y):
            return Pair.apply(x, y), in_dims

    first, second = vmap(Pair.apply, in_dims=(0, None))(X, Y)
    assert first.equal(X * 2) and second.equal((Y * 3).expand(2, 3))


def test_functions_without_a_rule_are_refused():
    with pytest.raises(RuntimeError, match="You tried to vmap over Tenfold, but it does not have vmap support"):
        vmap(Tenfold.apply)(Y)

    class Both(Tenfold):
        generate_vmap_rule = True

        @staticmethod
        def vmap(info, in_dims, x):
            return x, 0

    with pytest.raises(RuntimeError, match="both generate_vmap_rule=True and an overridden vmap staticmethod"):
        vmap(Both.apply)(Y)


def test_a_saved_output_does_not_keep_its_node():
    class Exponential(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            out = x.exp()
            ctx.save_for_backward(out)
            return out

        @staticmethod
        def backward(ctx, g):
            return g * ctx.saved_tensors[0]

    x = torch.zeros(2, requires_grad=True)
    gc.disable()
    try:
        out = Exponential.apply(x)
        alive = weakref.ref(out)
        (first,) = torch.autograd.grad(out.sum(), x, create_graph=True)
        assert torch.autograd.grad(first.sum(), x)[0].tolist() == [1.0, 1.0]
        del out, first
        assert alive() is None
    finally:
        gc.enable()


def test_what_vjp_returns_beside_its_output_has_no_history():
    aux = torch.func.vjp(lambda x: (x.sin(), x.cos()), Y, has_aux=True)[2]
    assert not aux.requires_grad
