"""In-place writes and views, a user's own functions, hooks on saved tensors, anomaly mode, gradcheck."""

from __future__ import annotations

import pytest

import mindtorch_v2 as torch


def leaf(*values: float, dtype=None) -> torch.Tensor:
    return torch.tensor(values, dtype=dtype, requires_grad=True)


# --- in-place
def test_in_place_on_a_leaf_is_refused_and_changes_nothing():
    x = leaf(1.0)
    with pytest.raises(RuntimeError, match="a leaf Variable that requires grad is being used in an in-place operation"):
        x.add_(1)
    assert x.tolist() == [1.0]
    with pytest.raises(RuntimeError, match="a view of a leaf Variable"):
        x[0] = 3


def test_in_place_takes_part_in_the_graph():
    x = leaf(2.0)
    y = x * 3
    y.mul_(y.detach().clone())
    y.add_(1)
    y.sum().backward()
    assert x.grad.tolist() == [18.0]


def test_saved_values_changed_in_place_are_noticed():
    x = leaf(1.0, 2.0)
    y = x * 1
    z = y * y
    y.add_(1)
    with pytest.raises(
        RuntimeError,
        match=r"modified by an inplace operation: \[torch.FloatTensor \[2\]\], which is output 0 of "
        "Add, is at version 1; expected version 0",
    ):
        z.sum().backward()


def test_a_saved_result_changed_in_place_is_noticed():
    y = leaf(1.0).exp()
    y.add_(1)
    with pytest.raises(RuntimeError, match="output 0 of Exp, is at version 1"):
        y.sum().backward()


def test_writing_a_view_reaches_the_base():
    x, w = leaf(1.0, 2.0), leaf(5.0)
    base = x * 1
    base[0:1] = w * 2
    base.sum().backward()
    assert x.grad.tolist() == [0.0, 1.0] and w.grad.tolist() == [2.0]


def test_writing_through_a_view_multiplies_only_that_part():
    x = torch.ones(2, 3, requires_grad=True)
    base = x * 2
    base[1].mul_(10)
    base.sum().backward()
    assert x.grad.tolist() == [[2.0] * 3, [20.0] * 3]


def test_a_view_taken_before_a_write_sees_the_new_history():
    x = leaf(1.0, 1.0)
    base = x * 1
    view = base.view(1, 2)
    base.mul_(4)
    view.sum().backward()
    assert x.grad.tolist() == [4.0, 4.0]


def test_versions_are_shared_by_views_and_not_by_data():
    x = torch.zeros(4)
    v = x[1:]
    v.add_(1)
    assert (x._version, v._version) == (1, 1)
    x.data.add_(1)
    assert x._version == 1
    x.detach().add_(1)
    assert x._version == 2


def test_writing_one_of_several_views_is_refused():
    a, _ = (leaf(1.0, 2.0) * 1).unbind(0)
    with pytest.raises(RuntimeError, match="Output 0 of Unbind is a view and is being modified inplace"):
        a.mul_(2)


# --- custom functions
class Cube(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return x * x * x

    @staticmethod
    def backward(ctx, g):
        (x,) = ctx.saved_tensors
        return g * 3 * x * x


def test_custom_function_first_and_second_derivative():
    x = leaf(2.0)
    y = Cube.apply(x)
    assert y.grad_fn.name() == "CubeBackward"
    (g,) = torch.autograd.grad(y.sum(), x, create_graph=True)
    (gg,) = torch.autograd.grad(g.sum(), x)
    assert (g.item(), gg.item()) == (12.0, 12.0)


def test_custom_function_details():
    class Pair(torch.autograd.Function):
        @staticmethod
        def forward(ctx, a, b, scale):
            ctx.scale = scale
            ctx.needed = ctx.needs_input_grad
            made = a * scale, (b > 0)
            ctx.mark_non_differentiable(made[1])
            return made

        @staticmethod
        def backward(ctx, g, unused):
            assert ctx.needed == (True, False, False)
            return g * ctx.scale, None, None

    out, mask = Pair.apply(leaf(1.0), torch.ones(1), 4.0)
    assert out.requires_grad and not mask.requires_grad
    out.sum().backward()


def test_custom_function_with_setup_context():
    class Scale(torch.autograd.Function):
        @staticmethod
        def forward(x, k):
            return x * k

        @staticmethod
        def setup_context(ctx, inputs, output):
            ctx.k = inputs[1]

        @staticmethod
        def backward(ctx, g):
            return g * ctx.k, None

    x = leaf(1.0)
    Scale.apply(x, 7.0).sum().backward()
    assert x.grad.tolist() == [7.0]


def test_wrong_number_of_gradients():
    class Bad(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            return x * 2

        @staticmethod
        def backward(ctx, g):
            return g, g

    with pytest.raises(
        RuntimeError, match=r"function BadBackward returned an incorrect number of gradients \(expected 1, got 2\)"
    ):
        Bad.apply(leaf(1.0)).sum().backward()


def test_once_differentiable():
    from mindtorch_v2.autograd.function import once_differentiable

    class Once(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            return x * 2

        @staticmethod
        @once_differentiable
        def backward(ctx, g):
            return g * 2

    x = leaf(1.0)
    (g,) = torch.autograd.grad((Once.apply(x) * x).sum(), x, create_graph=True)
    with pytest.raises(RuntimeError, match="once_differentiable"):
        g.sum().backward()


# --- saved-tensor hooks, anomaly mode, numerical checks
def test_saved_tensors_hooks():
    packed = []
    x = leaf(3.0)
    with torch.autograd.graph.saved_tensors_hooks(lambda t: packed.append(t) or (t * 2), lambda t: t / 2):
        y = x * x
    y.sum().backward()
    assert len(packed) == 2 and x.grad.tolist() == [6.0]


def test_anomaly_mode_names_the_function():
    x = leaf(0.0)
    with torch.autograd.set_detect_anomaly(True):
        y = (x / x) * 1
        with (
            pytest.warns(UserWarning, match="Error detected in DivBackward0. Traceback of forward call"),
            pytest.raises(RuntimeError, match="Function 'DivBackward0' returned nan values in its 1th output"),
        ):
            y.sum().backward()


def test_gradcheck_accepts_right_and_rejects_wrong_gradients():
    x = leaf(0.5, -1.5, dtype=torch.float64)
    assert torch.autograd.gradcheck(lambda t: (t * t).exp(), (x,))
    assert torch.autograd.gradgradcheck(lambda t: (t * t).exp(), (x,))

    class Wrong(torch.autograd.Function):
        @staticmethod
        def forward(ctx, t):
            return t * t

        @staticmethod
        def backward(ctx, g):
            return g

    with pytest.raises(torch.autograd.GradcheckError, match="Jacobian mismatch for output 0 with respect to input 0"):
        torch.autograd.gradcheck(Wrong.apply, (x,))
    assert not torch.autograd.gradcheck(Wrong.apply, (x,), raise_exception=False)


def test_gradcheck_of_complex_functions():
    z = torch.tensor([1 + 2j, -0.5 + 1j], dtype=torch.complex128, requires_grad=True)
    assert torch.autograd.gradcheck(lambda t: t * t, (z,))
    assert torch.autograd.gradcheck(lambda t: (t * t.conj()).real, (z,))


def test_functional_derivatives():
    f = torch.autograd.functional
    x = torch.tensor([1.0, 2.0])
    assert f.jacobian(lambda t: t * t, x).tolist() == [[2.0, 0.0], [0.0, 4.0]]
    assert f.hessian(lambda t: (t**3).sum(), x).tolist() == [[6.0, 0.0], [0.0, 12.0]]
    assert f.vjp(lambda t: t * t, x, torch.ones(2))[1].tolist() == [2.0, 4.0]
    assert f.jvp(lambda t: t * t, x, torch.ones(2))[1].tolist() == [2.0, 4.0]
    assert f.hvp(lambda t: (t**3).sum(), x, torch.ones(2))[1].tolist() == [6.0, 12.0]
