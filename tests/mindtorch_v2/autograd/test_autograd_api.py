"""The engine: accumulation, graphs kept and made, hooks, modes, in-place rules, custom functions, numerical checks."""

from __future__ import annotations

import gc
import threading
import weakref

import pytest

import mindtorch_v2 as torch


def leaf(*values: float, dtype=None) -> torch.Tensor:
    return torch.tensor(values, dtype=dtype, requires_grad=True)


def test_gradients_accumulate_into_leaves():
    x = leaf(1.0, 2.0)
    (x * x).sum().backward()
    (x * 3).sum().backward()
    assert x.grad.tolist() == [5.0, 7.0]


def test_one_tensor_used_many_times():
    x = leaf(2.0)
    y = x * x + x * x * x + x
    y.sum().backward()
    assert x.grad.tolist() == [1 + 4 + 12]


def test_add_of_a_tensor_to_itself_gives_both_leaves_their_own_gradient():
    a, b = leaf(1.0), leaf(2.0)
    (a + b).backward(torch.tensor([1.0]))
    a.grad.add_(10)
    assert b.grad.tolist() == [1.0]


def test_backward_needs_a_gradient_for_non_scalars():
    with pytest.raises(RuntimeError, match="grad can be implicitly created only for scalar outputs"):
        (leaf(1.0, 2.0) * 2).backward()


def test_backward_of_a_tensor_without_history():
    with pytest.raises(RuntimeError, match="element 0 of tensors does not require grad and does not have a grad_fn"):
        torch.ones(1).sum().backward()


def test_second_backward_needs_retain_graph():
    x = leaf(3.0)
    y = (x * x).sum()
    y.backward(retain_graph=True)
    y.backward()
    assert x.grad.tolist() == [12.0]
    with pytest.raises(RuntimeError, match="Trying to backward through the graph a second time"):
        y.backward()


def test_grad_returns_without_accumulating():
    x, y = leaf(2.0), leaf(5.0)
    gx, gy = torch.autograd.grad((x * y).sum(), (x, y))
    assert (gx.tolist(), gy.tolist(), x.grad, y.grad) == ([5.0], [2.0], None, None)


def test_grad_of_an_unused_input():
    x, y = leaf(2.0), leaf(5.0)
    with pytest.raises(RuntimeError, match="appears to not have been used in the graph"):
        torch.autograd.grad((x * 2).sum(), (y,))
    assert torch.autograd.grad((x * 2).sum(), (y,), allow_unused=True) == (None,)
    assert torch.autograd.grad((x * 2).sum(), (y,), materialize_grads=True)[0].tolist() == [0.0]


def test_grad_with_respect_to_a_non_leaf():
    x = leaf(2.0)
    h = x * 3
    (g,) = torch.autograd.grad((h * h).sum(), h)
    assert g.tolist() == [12.0]


def test_backward_with_inputs_leaves_others_alone():
    x, y = leaf(2.0), leaf(5.0)
    (x * y).sum().backward(inputs=[x])
    assert x.grad.tolist() == [5.0] and y.grad is None
    with pytest.raises(RuntimeError, match="cannot be empty"):
        (x * y).sum().backward(inputs=[])


def test_second_and_third_derivative():
    x = leaf(2.0)
    y = x**4
    for want in (32.0, 48.0, 48.0):
        (y,) = torch.autograd.grad(y.sum(), x, create_graph=True)
        assert y.item() == pytest.approx(want)


def test_broadcasting_is_undone():
    a, b = torch.ones(2, 3, requires_grad=True), torch.ones(3, requires_grad=True)
    c = torch.ones(2, 1, requires_grad=True)
    (a * b * c).sum().backward()
    assert (a.grad.shape, b.grad.tolist(), c.grad.tolist()) == ((2, 3), [2.0] * 3, [[3.0]] * 2)


def test_casts_are_undone():
    x = torch.ones(2, dtype=torch.float64, requires_grad=True)
    (x.float() * 2).sum().backward()
    assert x.grad.dtype is torch.float64 and x.grad.tolist() == [2.0, 2.0]


def test_gradients_do_not_share_memory_with_each_other_or_the_given_one():
    a, b, g = leaf(1.0, 1.0), leaf(1.0, 1.0), torch.tensor([1.0, 1.0])
    (a + b).backward(g)
    a.grad.zero_()
    assert b.grad.tolist() == [1.0, 1.0] and g.tolist() == [1.0, 1.0]


# --- modes
def test_no_grad_enable_grad_and_decorators():
    x = leaf(1.0)
    with torch.no_grad():
        assert not (x * 2).requires_grad
        with torch.enable_grad():
            assert (x * 2).requires_grad

    @torch.no_grad()
    def plain(t):
        return t * 2

    assert not plain(x).requires_grad and torch.is_grad_enabled()
    with torch.set_grad_enabled(False):
        assert not torch.is_grad_enabled()
    assert torch.is_grad_enabled()


def test_no_grad_around_a_generator_does_not_leak():
    x = leaf(1.0)

    @torch.no_grad()
    def parts():
        for _ in range(2):
            yield x * 2

    for made in parts():
        assert not made.requires_grad and (x * 2).requires_grad


def test_grad_mode_is_per_thread():
    seen = []
    with torch.no_grad():
        worker = threading.Thread(target=lambda: seen.append((torch.is_grad_enabled(), (leaf(1.0) * 2).requires_grad)))
        worker.start()
        worker.join()
    assert seen == [(True, True)]


def test_inference_tensors_cannot_be_saved():
    with torch.inference_mode():
        t = torch.ones(2) * 2
    assert t.is_inference() and not t.requires_grad
    with pytest.raises(RuntimeError, match="Inference tensors cannot be saved for backward"):
        leaf(1.0, 2.0) * t


# --- leaves, requires_grad
def test_requires_grad_rules():
    with pytest.raises(RuntimeError, match="only Tensors of floating point dtype can require gradients"):
        torch.ones(2, dtype=torch.int64).requires_grad_()
    y = leaf(1.0) * 2
    with pytest.raises(RuntimeError, match="you can only change requires_grad flags of leaf variables"):
        y.requires_grad = False
    assert not y.is_leaf and y.grad_fn is not None and leaf(1.0).is_leaf and y.detach().is_leaf


def test_grad_of_a_non_leaf_warns():
    y = leaf(1.0) * 2
    with pytest.warns(UserWarning, match="The .grad attribute of a Tensor that is not a leaf"):
        assert y.grad is None


def test_assigned_gradients_are_checked():
    x = leaf(1.0, 2.0)
    x.grad = torch.ones(2)
    with pytest.raises(RuntimeError, match="attempting to assign a gradient of size"):
        x.grad = torch.ones(3)
    with pytest.raises(TypeError):
        x.grad = 3


# --- hooks
def test_tensor_hooks_replace_gradients_and_can_be_removed():
    x = leaf(1.0)
    y = x * 2
    handle = y.register_hook(lambda g: g * 10)
    y.sum().backward(retain_graph=True)
    assert x.grad.tolist() == [20.0]
    handle.remove()
    y.sum().backward()
    assert x.grad.tolist() == [22.0]


def test_leaf_hooks_and_post_accumulate_hooks():
    x, seen = leaf(1.0), []
    x.register_hook(lambda g: g + 1)
    x.register_post_accumulate_grad_hook(lambda t: seen.append(t.grad.tolist()))
    (x * 2).sum().backward()
    assert x.grad.tolist() == [3.0] and seen == [[3.0]]
    with pytest.raises(RuntimeError, match="cannot register a hook on a tensor that doesn't require gradient"):
        torch.ones(1).register_hook(print)


def test_retain_grad():
    x = leaf(2.0)
    y = x * 3
    y.retain_grad()
    (y * y).sum().backward()
    assert y.grad.tolist() == [12.0] and y.retains_grad


def test_node_hooks():
    x, seen = leaf(1.0), []
    y = x * 2
    y.grad_fn.register_hook(lambda gi, go: seen.append((gi[0].tolist(), go[0].tolist())))
    y.grad_fn.register_prehook(lambda go: (go[0] * 5,))
    y.sum().backward()
    assert seen == [([10.0], [5.0])] and x.grad.tolist() == [10.0]


# --- graph inspection
def test_node_names_and_next_functions():
    x = leaf(1.0)
    y = (x * 2).sum()
    node = y.grad_fn
    assert node.name() == "SumBackward0"
    inner, nr = node.next_functions[0]
    assert (inner.name(), nr) == ("MulBackward0", 0)
    acc = inner.next_functions[0][0]
    assert acc.name() == "torch::autograd::AccumulateGrad" and acc.variable is x


def test_graphs_are_freed_without_the_garbage_collector():
    gc.disable()
    try:
        x = leaf(1.0, 2.0)
        y = x.exp().tanh().sigmoid()
        ref = weakref.ref(y.grad_fn)
        y.sum().backward()
        del y
        assert ref() is None
    finally:
        gc.enable()


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
