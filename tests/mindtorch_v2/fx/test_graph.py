"""Graphs: making, changing, checking, copying and writing them."""

from __future__ import annotations

import collections
import copy
import operator
import pickle

import pytest

import mindtorch_v2 as torch
from mindtorch_v2 import fx, nn

Pair = collections.namedtuple("Pair", "a b")


def sine_graph():
    graph = fx.Graph()
    x = graph.placeholder("x")
    sine = graph.call_function(torch.sin, (x,))
    graph.output(graph.call_function(torch.relu, (sine,)))
    return graph


def names(graph):
    return [node.name for node in graph.nodes]


def test_names_are_unique_and_legal():
    graph = fx.Graph()
    asked = ["x", "x", "x_1", "if", "input", "self", "torch", "a.b", "1a", "x_5", "x", "LayerNorm", "a-b", "x_3"]
    assert [graph.placeholder(name).name for name in asked] == [
        "x",
        "x_1",
        "x_2",
        "if_1",
        "input_1",
        "self",
        "torch_1",
        "a_b",
        "_1a",
        "x_5",
        "x_6",
        "layer_norm",
        "a_b_1",
        "x_3",
    ]
    assert [graph.call_module("seq.0").name, graph.get_attr("seq.0").name] == ["seq_0", "seq_1"]


def test_statements_and_values_in_code():
    graph = fx.Graph()
    x, y = graph.placeholder("x"), graph.placeholder("y")
    graph.call_function(operator.iadd, (x, y))
    graph.call_function(operator.setitem, (x, 0, y))
    pair = graph.call_function(Pair, (x, Pair(y, 3)))
    constants = {
        "low": -float("inf"),
        "dtype": torch.float64,
        "device": torch.device("cpu"),
        "part": slice(x, None),
        "one": (y,),
        "table": {"k": [x]},
        "order": torch.channels_last,
    }
    graph.output((graph.call_function(dict, (), constants), pair, graph.call_method("size", (x,))))
    code = graph.python_code("self")
    assert "x += y;  iadd = x" in code.src
    assert "x[0] = y;  setitem = x" in code.src
    module = fx.GraphModule(nn.Module(), graph)
    options, made, size = module(torch.ones(2), torch.ones(()))
    assert options["low"] == -float("inf")
    assert options["dtype"] is torch.float64
    assert options["order"] is torch.channels_last
    assert options["part"].start is made.a
    assert made == (made.a, Pair(made.b.a, 3))
    assert made.a.tolist() == [1.0, 2.0]
    assert size == (2,)


def test_nodes_know_their_users():
    graph = sine_graph()
    x, sine, relu, output = graph.nodes
    assert (list(x.users), sine.all_input_nodes, relu.next, relu.prev) == ([sine], [x], output, sine)
    relu.args = (x,)
    assert (list(x.users), list(sine.users)) == ([sine, relu], [])
    graph.erase_node(sine)
    assert names(graph) == ["x", "relu", "output"]
    with pytest.raises(RuntimeError, match="Tried to erase Node relu but it still had 1 users in the graph"):
        graph.erase_node(relu)
    relu.update_arg(0, 5)
    assert list(x.users) == []
    relu.insert_arg(0, x)
    relu.update_kwarg("out", x)
    assert (relu.args, relu.kwargs, list(x.users)) == ((x, 5), {"out": x}, [relu])
    with pytest.raises(NotImplementedError, match="does not support mutation"):
        relu.kwargs["out"] = 1


def test_inserting_and_replacing():
    graph = sine_graph()
    x, sine, relu, output = graph.nodes
    with graph.inserting_before(relu):
        first = graph.call_function(torch.cos, (sine,))
        second = graph.call_function(torch.exp, (first,))
    with graph.inserting_after(x):
        graph.call_function(torch.neg, (x,))
        graph.call_function(torch.abs, (x,))
    graph.create_node("call_function", torch.tan, (x,))
    assert names(graph) == ["x", "neg", "abs_1", "sin", "cos", "exp", "relu", "output", "tan"]
    changed = sine.replace_all_uses_with(second, lambda user: user is not first)
    assert changed == [relu]
    assert relu.args == (second,)
    graph.erase_node(graph.find_nodes(op="call_function", target=torch.tan)[0])
    assert graph.eliminate_dead_code()
    assert names(graph) == ["x", "sin", "cos", "exp", "relu", "output"]
    assert not graph.eliminate_dead_code()
    assert graph.output_node() is output
    assert sine < relu and relu > sine
    assert [n.name for n in reversed(graph.nodes)][:2] == ["output", "relu"]


def test_lint_finds_what_is_wrong():
    graph = sine_graph()
    x, sine, relu, _ = graph.nodes
    relu.append(sine)
    with pytest.raises(RuntimeError, match="Argument 'sin' of Node 'relu' was used before it has been defined!"):
        graph.lint()
    x.append(sine)
    graph.lint()
    module = fx.GraphModule(nn.Module(), graph)
    with graph.inserting_before(relu):
        graph.call_module("missing", (x,))
    with pytest.raises(RuntimeError, match="references nonexistent attribute missing of"):
        module.graph.lint()
    with pytest.raises(RuntimeError, match="belongs to another graph"):
        sine_graph().call_function(torch.neg, (x,))


def test_copies_are_independent():
    graph = sine_graph()
    made = copy.deepcopy(graph)
    assert str(made) == str(graph)
    made.erase_node(made.output_node())
    assert len(graph.nodes) == 4
    other = fx.Graph()
    result = other.graph_copy(graph, {})
    assert result.name == "relu"
    assert names(other) == ["x", "sin", "relu"]


class Net(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.layers = nn.Sequential(nn.Linear(3, 2), nn.ReLU())

    def forward(self, x):
        return torch.linalg.norm(self.layers(x)) + torch.ones(1)


@pytest.mark.parametrize("copier", [copy.deepcopy, copy.copy, lambda m: pickle.loads(pickle.dumps(m))])
def test_graph_modules_are_copied_and_pickled(copier):
    torch.manual_seed(0)
    traced = fx.symbolic_trace(Net()).eval()
    traced.layers.add_module("2", nn.Identity())
    made = copier(traced)
    x = torch.randn(4, 3)
    assert torch.equal(made(x), traced(x))
    assert (made.code, str(made.graph), type(made).__name__) == (traced.code, str(traced.graph), "Net")
    made.graph.erase_node(made.graph.output_node())
    made.graph.output(1)
    made.recompile()
    assert made(x) == 1
    assert torch.is_tensor(traced(x))


def test_saved_graph_modules_are_loaded(tmp_path):
    traced = fx.symbolic_trace(Net())
    torch.save(traced, tmp_path / "module.pt")
    loaded = torch.load(tmp_path / "module.pt", weights_only=False)
    x = torch.ones(1, 3)
    assert torch.equal(loaded(x), traced(x))


def test_to_folder_writes_a_package(tmp_path, monkeypatch):
    traced = fx.symbolic_trace(Net())
    traced.to_folder(tmp_path / "written_net", "Written")
    monkeypatch.syspath_prepend(str(tmp_path))
    import written_net

    x = torch.ones(1, 3)
    assert torch.equal(written_net.Written()(x), traced(x))


def test_submodules_are_added_and_removed():
    traced = fx.symbolic_trace(Net())
    assert traced.add_submodule("deep.down", nn.Linear(2, 2))
    assert not traced.add_submodule("layers.0.weight.inner", nn.ReLU())
    assert dict(traced.named_modules()).keys() >= {"deep", "deep.down"}
    traced.delete_all_unused_submodules()
    assert [name for name, _ in traced.named_modules()] == ["", "layers", "layers.0", "layers.1"]
    assert not traced.delete_submodule("nothing")
    assert "class Net(torch.nn.Module):\n    def forward(self, x):" in traced.print_readable(print_output=False)


def test_a_root_that_is_a_dict():
    graph = fx.Graph()
    x = graph.placeholder("x")
    graph.output(graph.call_module("inner.linear", (x,)))
    linear = nn.Linear(2, 1)
    module = fx.GraphModule({"inner.linear": linear}, graph)
    assert module.inner.linear is linear
    with pytest.raises(
        RuntimeError, match="referenced target inner.linear but that target was not provided in ``root``"
    ):
        fx.GraphModule({}, graph)


def test_errors_show_the_generated_line(capsys):
    traced = fx.symbolic_trace(lambda x: torch.sin(x) + 1)
    with pytest.raises(TypeError, match="must be Tensor, not str"):
        traced("text")
    assert (
        "    sin = torch.sin(x);  x = None\n\n~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~ <--- HERE\n" in capsys.readouterr().err
    )


def test_tables(capsys):
    sine_graph().print_tabular()
    lines = capsys.readouterr().out.splitlines()
    assert lines[0].split() == ["opcode", "name", "target", "args", "kwargs"]
    assert [line.split()[:2] for line in lines[2:]] == [
        ["placeholder", "x"],
        ["call_function", "sin"],
        ["call_function", "relu"],
        ["output", "output"],
    ]


def test_generated_lines_can_be_changed():
    graph = sine_graph()
    with graph.on_generate_code(lambda _: lambda body: ["x = x + 1\n", *body]):
        module = fx.GraphModule(nn.Module(), graph)
    assert module(torch.zeros(1)).item() == pytest.approx(0.8414709848, rel=1e-6)
