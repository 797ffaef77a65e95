"""Running and rewriting graphs."""

from __future__ import annotations

import pytest

import mindtorch_v2 as torch
from mindtorch_v2 import fx, nn
from mindtorch_v2.fx.experimental.symbolic_shapes import statically_known_true, sym_eq
from mindtorch_v2.fx.passes.shape_prop import ShapeProp
from mindtorch_v2.fx.subgraph_rewriter import replace_pattern_with_filters


class Net(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.linear = nn.Linear(3, 2)

    def forward(self, x, scale=2.0):
        return torch.relu(self.linear(x)).mul(scale) + self.linear.bias


def test_an_interpreter_gives_what_the_module_gives():
    torch.manual_seed(0)
    traced = fx.symbolic_trace(Net())
    x = torch.randn(4, 3)
    interpreter = fx.Interpreter(traced)
    assert torch.equal(interpreter.run(x), traced(x))
    assert torch.equal(interpreter.run(x, 3.0), traced(x, 3.0))
    assert [n.op for n in interpreter.env] == ["output"], "values are dropped after their last use"
    relu = next(n for n in traced.graph.nodes if n.name == "relu")
    held = fx.Interpreter(traced, garbage_collect_values=False)
    assert torch.equal(held.run(x, initial_env={relu: torch.zeros(4, 2)}), traced.linear.bias.expand(4, 2))
    given = [x, 2.0]
    assert torch.equal(interpreter.boxed_run(given), traced(x))
    assert given == []
    with pytest.raises(RuntimeError, match="Expected positional argument for parameter x, but one was not passed in!"):
        interpreter.run()


def test_errors_name_the_node():
    traced = fx.symbolic_trace(lambda x: torch.relu(x).missing())
    with pytest.raises(AttributeError, match=r"(?s)has no attribute 'missing'.*While executing %missing"):
        fx.Interpreter(traced).run(torch.ones(1))


def test_a_transformer_rewrites_nodes():
    class Negate(fx.Transformer):
        def call_function(self, target, args, kwargs):
            return super().call_function(torch.neg if target is torch.relu else target, args, kwargs)

        def call_method(self, target, args, kwargs):
            return -super().call_method(target, args, kwargs)

    torch.manual_seed(0)
    traced = fx.symbolic_trace(Net())
    made = Negate(traced).transform()
    x = torch.randn(4, 3)
    assert [n.name for n in made.graph.nodes] == [
        "x",
        "scale",
        "linear",
        "neg",
        "mul",
        "neg_1",
        "linear_bias",
        "add",
        "output",
    ]
    assert torch.allclose(made(x), traced.linear(x) * 2.0 + traced.linear.bias)


def test_patterns_are_replaced():
    traced = fx.symbolic_trace(lambda x, y: torch.relu(torch.sin(x) + 1) * torch.relu(torch.sin(y) + 1) + torch.sin(y))
    matches = fx.replace_pattern(traced, lambda a: torch.relu(a + 1), lambda a: torch.sigmoid(torch.neg(a)))
    assert [sorted(n.name for n in m.nodes_map) for m in matches] == [["a", "add", "relu"]] * 2
    assert [n.name for n in traced.graph.nodes if n.op == "call_function"] == [
        "sin",
        "neg",
        "sigmoid",
        "sin_1",
        "neg_1",
        "sigmoid_1",
        "mul",
        "sin_2",
        "add_2",
    ]
    x = torch.tensor([0.5])
    expected = torch.sigmoid(-torch.sin(x)) ** 2 + torch.sin(x)
    assert torch.allclose(traced(x, x), expected)


def test_replacing_what_a_replacement_made_input_of():
    traced = fx.symbolic_trace(lambda x: torch.relu(torch.relu(torch.relu(x))))
    assert len(fx.replace_pattern(traced, lambda a: torch.relu(a), lambda a: a * 2)) == 3
    assert traced(torch.ones(1)).item() == 8.0


def test_values_that_are_used_elsewhere_stay():
    def program(x):
        inner = torch.sin(x)
        return torch.relu(inner) + inner

    traced = fx.symbolic_trace(program)
    assert fx.replace_pattern(traced, lambda a: torch.relu(torch.sin(a)), lambda a: torch.cos(a)) == []


def test_constants_and_filters():
    traced = fx.symbolic_trace(lambda x: (x + 1) * (x + 2))
    assert len(fx.replace_pattern(traced, lambda a: a + 3, lambda a: a - 3)) == 0
    found = replace_pattern_with_filters(
        traced,
        lambda a: a + 3,
        lambda a: a - 1,
        [lambda match, graph, pattern: match.anchors[0].args[1] == 2],
        ignore_literals=True,
    )
    assert [r.replacements[0].name for r in found] == ["sub"]
    assert traced(torch.tensor([5.0])).item() == 24.0


def test_modules_in_patterns():
    class Pattern(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.any = nn.Linear(1, 1)

        def forward(self, x):
            return torch.relu(self.any(x))

    class Other(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.fused = nn.Identity()

        def forward(self, x):
            return self.fused(x)

    class Program(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.first = nn.Linear(3, 3)

        def forward(self, x):
            return torch.relu(self.first(x)) + 1

    traced = fx.symbolic_trace(Program())
    assert len(fx.replace_pattern(traced, fx.symbolic_trace(Pattern()), Other())) == 1
    assert [name for name, _ in traced.named_modules()] == ["", "fused"]
    assert traced(torch.ones(3)).tolist() == [2.0] * 3


def test_shapes_are_noted():
    traced = fx.symbolic_trace(Net())
    ShapeProp(traced).propagate(torch.ones(4, 3))
    meta = {n.name: n.meta.get("tensor_meta") for n in traced.graph.nodes}
    assert (meta["x"].shape, meta["x"].dtype, meta["x"].requires_grad, meta["x"].stride) == (
        (4, 3),
        torch.float32,
        False,
        (3, 1),
    )
    assert meta["relu"].shape == (4, 2)
    assert meta["relu"].memory_format is torch.contiguous_format
    assert meta["scale"] is None
    with pytest.raises(RuntimeError, match="ShapeProp error for: node=%linear"):
        ShapeProp(traced).propagate(torch.ones(4, 5))


def test_shapes_on_the_meta_device():
    traced = fx.symbolic_trace(Net().to("meta"))
    ShapeProp(traced).propagate(torch.ones(4, 3, device="meta"))
    assert traced.graph.output_node().meta["tensor_meta"].shape == (4, 2)


def test_conditions_on_sizes():
    x = torch.ones(2, 3)
    assert statically_known_true(x.shape[0] == 2)
    assert sym_eq(x.shape, (2, 3))
    assert not sym_eq((1, 2), (1,))
