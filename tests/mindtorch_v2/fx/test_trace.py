"""Tracing programs into graphs; the expected texts are PyTorch's."""

from __future__ import annotations

import math
import operator

import pytest

import mindtorch_v2 as torch
from mindtorch_v2 import fx, nn
from mindtorch_v2.nn import functional as F


class Net(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.linear = nn.Linear(3, 4)
        self.register_buffer("shift", torch.arange(4.0))
        self.scale = nn.Parameter(torch.full((4,), 2.0))
        self.layers = nn.Sequential(nn.Linear(4, 4), nn.ReLU())

    def forward(self, x, offset=1.0):
        h = self.linear(x) * self.scale + self.shift
        h = F.relu(h).view(x.size(0), -1)
        first, second = torch.split(self.layers(h), 2, 1)
        return {"sum": first + second, "rest": (offset - h[:, 1:3], [h.T, None])}


GRAPH = """graph():
    %x : [num_users=2] = placeholder[target=x]
    %offset : [num_users=1] = placeholder[target=offset](default=1.0)
    %linear : [num_users=1] = call_module[target=linear](args = (%x,), kwargs = {})
    %scale : [num_users=1] = get_attr[target=scale]
    %mul : [num_users=1] = call_function[target=operator.mul](args = (%linear, %scale), kwargs = {})
    %shift : [num_users=1] = get_attr[target=shift]
    %add : [num_users=1] = call_function[target=operator.add](args = (%mul, %shift), kwargs = {})
    %relu : [num_users=1] = call_function[target=torch.nn.functional.relu](args = (%add,), kwargs = {})
    %size : [num_users=1] = call_method[target=size](args = (%x, 0), kwargs = {})
    %view : [num_users=3] = call_method[target=view](args = (%relu, %size, -1), kwargs = {})
    %layers_0 : [num_users=1] = call_module[target=layers.0](args = (%view,), kwargs = {})
    %layers_1 : [num_users=1] = call_module[target=layers.1](args = (%layers_0,), kwargs = {})
    %split : [num_users=2] = call_function[target=torch.split](args = (%layers_1, 2, 1), kwargs = {})
    %getitem : [num_users=1] = call_function[target=operator.getitem](args = (%split, 0), kwargs = {})
    %getitem_1 : [num_users=1] = call_function[target=operator.getitem](args = (%split, 1), kwargs = {})
    %add_1 : [num_users=1] = call_function[target=operator.add](args = (%getitem, %getitem_1), kwargs = {})
    %getitem_2 : [num_users=1] = call_function[target=operator.getitem](args = (%view, (slice(None, None, None), slice(1, 3, None))), kwargs = {})
    %sub : [num_users=1] = call_function[target=operator.sub](args = (%offset, %getitem_2), kwargs = {})
    %getattr_1 : [num_users=1] = call_function[target=builtins.getattr](args = (%view, T), kwargs = {})
    return {'sum': add_1, 'rest': (sub, [getattr_1, None])}"""
CODE = """


def forward(self, x, offset = 1.0):
    linear = self.linear(x)
    scale = self.scale
    mul = linear * scale;  linear = scale = None
    shift = self.shift
    add = mul + shift;  mul = shift = None
    relu = torch.nn.functional.relu(add);  add = None
    size = x.size(0);  x = None
    view = relu.view(size, -1);  relu = size = None
    layers_0 = getattr(self.layers, "0")(view)
    layers_1 = getattr(self.layers, "1")(layers_0);  layers_0 = None
    split = torch.split(layers_1, 2, 1);  layers_1 = None
    getitem = split[0]
    getitem_1 = split[1];  split = None
    add_1 = getitem + getitem_1;  getitem = getitem_1 = None
    getitem_2 = view[(slice(None, None, None), slice(1, 3, None))]
    sub = offset - getitem_2;  offset = getitem_2 = None
    getattr_1 = view.T;  view = None
    return {'sum': add_1, 'rest': (sub, [getattr_1, None])}
    """


def test_graph_and_code_of_a_module():
    assert str(fx.symbolic_trace(Net()).graph) == GRAPH
    assert fx.symbolic_trace(Net()).code == CODE


def test_a_traced_module_gives_what_the_module_gives():
    torch.manual_seed(0)
    net = Net()
    traced = fx.symbolic_trace(net)
    x = torch.randn(2, 3)
    expected, found = net(x, 0.5), traced(x, 0.5)
    assert torch.equal(expected["sum"], found["sum"])
    assert torch.equal(expected["rest"][0], found["rest"][0])
    assert type(found["rest"][1]) is list
    found["sum"].sum().backward()
    assert traced.linear.weight is net.linear.weight
    assert net.linear.weight.grad is not None
    assert dict(traced.named_parameters()).keys() == dict(net.named_parameters()).keys()


@pytest.mark.parametrize(
    ("program", "body"),
    [
        (lambda x: x.relu_() + 1, ["relu_ = x.relu_();  x = None", "add = relu_ + 1;  relu_ = None", "return add"]),
        (lambda x: 3 - x, ["sub = 3 - x;  x = None", "return sub"]),
        (lambda x: -(x**2), ["pow_1 = x ** 2;  x = None", "neg = -pow_1;  pow_1 = None", "return neg"]),
        (lambda x: x[..., 0], ["getitem = x[(Ellipsis, 0)];  x = None", "return getitem"]),
        (lambda x: abs(x), ["abs_1 = _operator_abs(x);  x = None", "return abs_1"]),
        (lambda x: math.floor(x), ["floor = math_floor(x);  x = None", "return floor"]),
        (lambda x: x.to(torch.float32), ["to = x.to(torch.float32);  x = None", "return to"]),
        (
            lambda x: torch.ones(2) + x,
            [
                "_tensor_constant0 = self._tensor_constant0",
                "add = _tensor_constant0.add(x);  _tensor_constant0 = x = None",
                "return add",
            ],
        ),
        (
            lambda x: x.shape[0] * 2,
            [
                "getattr_1 = x.shape;  x = None",
                "getitem = getattr_1[0];  getattr_1 = None",
                "mul = getitem * 2;  getitem = None",
                "return mul",
            ],
        ),
        (lambda x: torch.linalg.norm(x), ["linalg_norm = torch.linalg.norm(x);  x = None", "return linalg_norm"]),
        (lambda *args: args, ["_args = args", "return _args"]),
    ],
)
def test_code_of_functions(program, body):
    lines = fx.symbolic_trace(program).code.splitlines()
    start = next(i for i, line in enumerate(lines) if line.startswith("def forward"))
    assert [line.strip() for line in lines[start + 1 :] if line.strip()] == body


@pytest.mark.parametrize(
    ("program", "error", "text"),
    [
        (
            lambda x: x if x else 1,
            fx.proxy.TraceError,
            "symbolically traced variables cannot be used as inputs to control flow",
        ),
        (lambda x: list(x), fx.proxy.TraceError, "Proxy object cannot be iterated"),
        (lambda x: len(x), RuntimeError, "'len' is not supported in symbolic tracing by default"),
        (lambda x: {x: 1}, RuntimeError, "Keys for dictionaries used as an argument cannot contain a Node. Got key: x"),
        (lambda x: x.__class__, NotImplementedError, "argument of type: <class 'type'>"),
    ],
)
def test_what_cannot_be_traced(program, error, text):
    with pytest.raises(error, match=text):
        fx.symbolic_trace(program)
    assert nn.Module.__call__.__qualname__ == "Module.__call__", "the patches of a trace that failed are gone"
    assert math.sqrt(4.0) == 2.0
    assert "__getattr__" not in nn.Module.__dict__


def test_concrete_arguments_are_checked_when_the_graph_runs():
    def program(x, flag=True, n=3):
        return x * n if flag else x

    traced = fx.symbolic_trace(program, concrete_args={"flag": True, "n": 2})
    assert traced(torch.ones(2), True, 2).tolist() == [2.0, 2.0]
    with pytest.raises(AssertionError, match="flag has been specialized to have value True but got another value"):
        traced(torch.ones(2), False, 2)


def test_containers_of_placeholders_as_arguments():
    def program(x, y):
        return [x[0] + x[1]["a"], y]

    traced = fx.symbolic_trace(program, concrete_args={"x": (fx.PH, {"a": fx.PH})})
    one = torch.ones(1)
    total, same = traced((one, {"a": one * 2}), one)
    assert total.tolist() == [3.0]
    assert same is one


@fx.wrap
def positive(x):
    return x if float(x.sum()) > 0 else -x


fx.wrap("sum")


def test_wrapped_functions_are_one_node():
    traced = fx.symbolic_trace(lambda x: positive(x) + sum(x))
    targets = [node.target for node in traced.graph.nodes if node.op == "call_function"]
    assert targets == [positive, sum, operator.add]
    assert traced(torch.tensor([-1.0, -2.0])).tolist() == [-2.0, -1.0]
    again = fx.symbolic_trace(traced)
    assert [node.target for node in again.graph.nodes if node.op == "call_function"] == targets
    with pytest.raises(NotImplementedError, match="wrap must be called at the top level of a module"):
        fx.wrap("sum")


def test_a_tracer_chooses_its_leaves():
    class Block(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.inner = nn.Linear(2, 2)

        def forward(self, x):
            return self.inner(x).relu()

    class Outer(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.block = Block()

        def forward(self, x):
            return self.block(x) + 1

    class Leaves(fx.Tracer):
        def is_leaf_module(self, m, module_qualified_name):
            return module_qualified_name == "block" or super().is_leaf_module(m, module_qualified_name)

    through = fx.Tracer().trace(Outer())
    assert [n.name for n in through.nodes] == ["x", "block_inner", "relu", "add", "output"]
    inner = next(n for n in through.nodes if n.name == "block_inner")
    assert list(inner.meta["nn_module_stack"]) == ["block", "block.inner"]
    assert [n.name for n in Leaves().trace(Outer()).nodes] == ["x", "block", "add", "output"]


def test_parameters_may_have_known_shapes():
    class Sized(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.weight = nn.Parameter(torch.ones(2, 3))

        def forward(self, x):
            return x * 2 if self.weight.shape[0] == 2 else x

    tracer = fx.Tracer(param_shapes_constant=True)
    assert [n.op for n in tracer.trace(Sized()).nodes if n.op == "call_function"] == ["call_function"]


def test_asserts_are_recorded_where_asked_for():
    class Asserting(fx.Tracer):
        trace_asserts = True

    space: dict[str, object] = {}
    exec("def program(x):\n    assert x.sum() > 0\n    return x * 2", space)  # pytest would rewrite the assert

    tracer = Asserting()
    module = fx.GraphModule(tracer.root or nn.Module(), tracer.trace(space["program"]))
    assert torch._assert in [n.target for n in module.graph.nodes]
    with pytest.raises(AssertionError):
        module(torch.tensor([-1.0]))


def test_keyword_only_and_starred_parameters():
    def program(a, *rest, scale=2, **options):
        return a * scale, rest, options

    traced = fx.symbolic_trace(program)
    assert [n.target for n in traced.graph.nodes if n.op == "placeholder"] == ["a", "scale", "*rest", "**options"]
