"""`make_fx`: graphs of the operators that ran; names and targets as PyTorch 2.13 gives them."""

import pytest

import mindtorch_v2 as torch
from mindtorch_v2.fx.experimental.proxy_tensor import get_proxy_mode, make_fx


def targets(graph_module):
    return [str(n.target) for n in graph_module.graph.nodes if n.op == "call_function"]


def test_the_operators_of_a_function():
    def f(x, w):
        y = torch.nn.functional.linear(x, w)
        a, b = torch.split(y, 2, 1)
        return {"o": torch.softmax(a.relu() + 1, -1) * b, "s": (y[:, 0] * 2).sum()}

    x, w = torch.randn(2, 3), torch.randn(4, 3)
    traced = make_fx(f)(x, w)
    assert [n.name for n in traced.graph.nodes] == [
        *("x_1", "w_1", "t", "mm", "split", "getitem", "getitem_1", "relu", "add", "_softmax", "mul", "select"),
        *("mul_1", "sum_1", "output"),
    ]
    assert targets(traced)[0] == "aten.t.default" and targets(traced)[-1] == "aten.sum.default"
    x, w = torch.randn(2, 3), torch.randn(4, 3)
    for name, value in f(x, w).items():
        assert torch.equal(traced(x, w)[name], value)


def test_derivatives_are_in_the_graph():
    traced = make_fx(torch.func.grad(lambda x: (x.sin() * x).sum()))(torch.randn(3))
    assert {"aten.sin.default", "aten.cos.default", "aten.expand.default"} <= set(targets(traced))
    x = torch.randn(3)
    torch.testing.assert_close(traced(x), x.cos() * x + x.sin())


def test_results_that_autograd_kept_are_the_same_node():
    def f(x):
        x = x.detach().requires_grad_()
        return torch.autograd.grad(torch.sigmoid(x).sum(), x)[0]

    traced = make_fx(f)(torch.randn(3))
    assert not any(n.op == "get_attr" for n in traced.graph.nodes)
    x = torch.randn(3)
    torch.testing.assert_close(traced(x), torch.sigmoid(x) * (1 - torch.sigmoid(x)))


def test_tensors_from_outside_are_attributes():
    layer, shift = torch.nn.Linear(2, 2), torch.tensor([1.0, 2.0])
    traced = make_fx(lambda x: layer(x) * shift)(torch.randn(1, 2))
    assert [n.target for n in traced.graph.nodes if n.op == "get_attr"] == [
        "_param_constant0",
        "_param_constant1",
        "_tensor_constant0",
    ]
    x = torch.randn(1, 2)
    assert torch.equal(traced(x), layer(x) * shift)


def test_writes_stay_and_what_nobody_needs_goes():
    def f(x):
        y = x.clone()
        y.add_(1)
        y.cos()
        y[0] = 3
        return y

    traced = make_fx(f)(torch.randn(3))
    assert targets(traced)[:2] == ["aten.clone.default", "aten.add_.Tensor"] and "aten.cos.default" not in targets(
        traced
    )
    assert traced(torch.zeros(3)).tolist() == [3.0, 1.0, 1.0]


def test_decompositions_and_shapes():
    aten = torch.ops.aten
    table = {aten.relu.default: lambda x: aten.clamp_min.default(x, 0)}
    traced = make_fx(lambda x: x.relu(), decomposition_table=table)(torch.randn(2, 3))
    assert targets(traced) == ["aten.clamp_min.default"]
    (node,) = (n for n in traced.graph.nodes if n.op == "call_function")
    assert node.meta["val"].shape == (2, 3) and node.meta["val"].device.type == "meta"


def test_the_mode_is_known_while_it_traces():
    seen = []
    make_fx(lambda x: seen.append(get_proxy_mode()) or x)(torch.zeros(1))
    assert seen[0] is not None and get_proxy_mode() is None


def test_what_is_refused():
    with pytest.raises(NotImplementedError, match="tracing_mode='symbolic'"):
        make_fx(lambda x: x, tracing_mode="symbolic")
    with pytest.raises(NotImplementedError, match="x is a container"):
        make_fx(lambda x: x)([torch.zeros(1)])
    with pytest.raises(NotImplementedError, match="pre_dispatch"):
        make_fx(lambda x: x, pre_dispatch=True)
