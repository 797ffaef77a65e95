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
    with pytest.raises(RuntimeError, match="Tensor at index 1 appears to not have been used in the graph"):
        torch.autograd.grad((x * 2).sum(), (x, y))
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


@pytest.mark.parametrize("of_a_leaf", [True, False], ids=["leaf", "result"])
def test_hooks_give_gradients_of_the_same_kind(of_a_leaf):
    def run(hook):
        x = leaf(1.0, 2.0)
        y = x * 2
        (x if of_a_leaf else y).register_hook(hook)
        y.sum().backward()

    with pytest.raises(TypeError, match="expected Variable, but hook returned 'int'"):
        run(lambda g: 3)
    with pytest.raises(RuntimeError, match="hook '<lambda>' has changed the size of value"):
        run(lambda g: g[:1])
    was = r"hook '<lambda>' has changed the type of value \(was torch.FloatTensor got torch.DoubleTensor\)"
    with pytest.raises(RuntimeError, match=was):
        run(lambda g: g.double())


def test_what_a_hook_keeps_is_not_taken_over():
    kept = []
    for hook in (kept.append, lambda g: kept.append(g * 1) or kept[-1]):
        x = leaf(1.0)
        x.register_hook(hook)
        (x * 2).sum().backward()
        x.grad.add_(1)
        assert (x.grad.tolist(), kept[-1].tolist()) == ([3.0], [2.0])


def test_events_of_a_leaf_hook_stand_before_the_accumulation():
    x = leaf(1.0)
    x.register_hook(lambda g: g * 10)
    y = (x * 2).sum()
    with torch.profiler.profile() as prof:
        y.backward()
    (evaluation,) = [e for e in prof.events() if e.name.endswith("evaluate_function: torch::autograd::AccumulateGrad")]
    hook, accumulation = evaluation.cpu_children
    assert (hook.name, accumulation.name) == ("aten::mul", "torch::autograd::AccumulateGrad")
    assert [e.name for e in accumulation.cpu_children] == ["aten::detach"]  # taken over, not copied
    assert x.grad.tolist() == [20.0]


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
