"""How tensors flow through a profile: nodes, versions, parameters and gradients, and what memory was for."""

from __future__ import annotations

import pytest

import mindtorch_v2 as torch
from mindtorch_v2._C._profiler import _EventType
from mindtorch_v2.profiler import _memory_profiler, _utils, profile
from mindtorch_v2.profiler._memory_profiler import Category, SchemaMatcher

EVERYTHING = {"record_shapes": True, "profile_memory": True, "with_stack": True}


def flow(run):
    """The nodes of the flow as text: T is a tensor's id, v a version, * what is freed."""
    with profile(**EVERYTHING) as prof:
        kept = run()
    lines = []
    for node in prof._memory_profile()._data_flow_graph.flow_nodes:
        gone = {key for key, edge in node._edges.items() if edge.is_deletion}
        read = [f"T{key.id}(v{v}{'*' if key in gone else ''})" for key, (_, v) in node.inputs.items()]
        made = [f"T{key.id}(v{v})" for key, v in node.outputs.items()]
        if read or made:
            name = node._event.name.replace("torch::autograd::", "")
            lines.append(f"{name} {', '.join(read)} -> {', '.join(made)}".replace("  ", " ").strip())
    del kept
    return lines


def test_reading_and_writing():
    x, y = torch.ones(25), torch.ones(25)
    assert flow(lambda: (x.mul(y), x.mul_(y), torch.sin(x, out=y))) == [
        "aten::mul T0(v0), T1(v0) ->",  # nothing is given the product: it has no id
        "aten::mul_ T0(v0), T1(v0) -> T0(v1)",
        "aten::sin T0(v1), T1(v0) -> T1(v1)",
    ]


def test_annotations_are_looked_through():
    x = torch.ones(3)

    def run():
        with torch.profiler.record_function("Namespaced::Annotation"), torch.profiler.record_function("mine"):
            x.zero_()
            return torch.ones_like(x)

    assert flow(run) == ["aten::zero_ T0(v0) -> T0(v1)", "aten::ones_like T0(v1) -> T1(v0)"]


def test_backward_functions_are_nodes():
    x, w = torch.ones(1), torch.ones(1, requires_grad=True)
    lines = flow(lambda: (x * w).sin().backward())
    # what is freed when depends on who holds it last; what is computed does not
    assert [line for line in lines if not line.startswith("[memory]")] == [
        "aten::mul T0(v0), T1(v0) -> T2(v0)",
        "aten::sin T2(v0) -> T3(v0)",
        "aten::ones_like T3(v0) -> T4(v0)",
        "SinBackward0 T2(v0), T4(v0) -> T6(v0)",
        "MulBackward0 T0(v0), T6(v0) -> T7(v0)",
        "AccumulateGrad T7(v0) ->",
    ]
    again = [line.replace("*", "") for line in flow(lambda: (x * w).sin().backward())]
    assert [line for line in again if line.startswith("AccumulateGrad")] == ["AccumulateGrad T7(v0), T8(v0) -> T8(v1)"]


def test_schemas_by_overload_number_and_types():
    x = torch.ones(2)
    with profile(record_shapes=True, profile_memory=True) as prof:
        torch.sin(x.mul(2).add_(2), out=torch.empty_like(x))
        torch.cat([x, x])
        (x.requires_grad_() * x).sum().backward()
    found = {}
    for node in _utils.traverse_dfs(prof.profiler.kineto_results.experimental_event_tree()):
        if node.tag is _EventType.TorchOp:
            names = [schema.overload_name for schema in SchemaMatcher.match_schemas(node.extra_fields)]
            found.setdefault(node.name, (names, SchemaMatcher.inputs_are_mutable(node.extra_fields)))
    assert found["aten::mul"] == (["Tensor"], (False, False))
    assert found["aten::add_"] == (["Tensor"], (True, False, False))
    assert found["aten::sin"] == (["out"], (False, True))
    assert found["aten::empty_like"] == ([""], (False,) * 6)
    assert found["aten::cat"] == ([""], (False, False))
    assert found["MulBackward0"] == ([], (None,))
    assert SchemaMatcher.lookup_schemas("mine") is None and SchemaMatcher.lookup_schemas("my::op") == ()


def keys(tensor, found):
    return [key for key in found if key is not None and key.storage.ptr == tensor.data_ptr()]


@pytest.mark.parametrize("is_first", [True, False])
def test_gradients_are_seen_where_they_are_accumulated_and_owned(is_first):
    model = torch.nn.Linear(2, 1)
    if not is_first:
        model(torch.ones(1, 2)).backward()
    with profile(**EVERYTHING) as prof:
        model(torch.ones(1, 2)).backward()
    by_tag = {_EventType.TorchOp: [], _EventType.PyCall: []}
    parameters = []
    for node in _utils.traverse_dfs(prof.profiler.kineto_results.experimental_event_tree()):
        parameters += _memory_profiler.extract_parameters(node)
        for pair in _memory_profiler.extract_gradients(node):
            by_tag[node.tag].append(pair)
    for p in model.parameters():
        assert keys(p, parameters) and keys(p.grad, [gradient for _, gradient in by_tag[_EventType.TorchOp]])
        assert bool(keys(p.grad, [gradient for _, gradient in by_tag[_EventType.PyCall]])) != is_first
    assert all(owner is None for owner, _ in by_tag[_EventType.TorchOp])
    owned = {owner.storage.ptr: gradient.storage.ptr for owner, gradient in by_tag[_EventType.PyCall]}
    assert owned == ({} if is_first else {p.data_ptr(): p.grad.data_ptr() for p in model.parameters()})


def categories_of(memory, tensor):
    """The categories of all versions of the newest block at a tensor's memory."""
    snapshot = memory._category_snapshot()
    newest = max(key.storage.allocation_id for key, _ in snapshot if key.storage.ptr == tensor.data_ptr())
    return {category for (key, _), category in snapshot.items() if key.storage.allocation_id == newest}


def test_categories_of_all_versions():
    model = torch.nn.Sequential(torch.nn.Linear(2, 2), torch.nn.Linear(2, 1))
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9)
    inputs = [torch.ones(2, 2)]
    with profile(**EVERYTHING) as prof:
        for _ in range(2):
            inputs.append(torch.ones(2, 2))
            model(inputs[-1]).sum().backward()
            optimizer.step()
            optimizer.zero_grad()
        model(inputs[0]).sum().backward()
    memory = prof._memory_profile()
    for p in model.parameters():
        assert categories_of(memory, p) == {Category.PARAMETER}
        assert categories_of(memory, p.grad) == {Category.GRADIENT}
        assert categories_of(memory, optimizer.state[p]["momentum_buffer"]) == {Category.OPTIMIZER_STATE}
    for x in inputs:
        assert categories_of(memory, x) == {Category.INPUT}


def test_a_model_that_lives_inside_the_window_has_parameters():
    """When the window begins and ends there is none: what its modules owned when they were called tells."""
    with profile(**EVERYTHING) as prof:
        model = torch.nn.Linear(4, 4)
        model(torch.ones(1, 4))
        address = model.weight._cdata
        del model
    memory, store = prof._memory_profile(), prof.profiler.store
    block = int(store.owned.block[store.owned.tensor == address][0])
    (key,) = {key for key, _ in memory._category_snapshot() if key.storage.ptr == _address(store, block)} & set(
        memory.categories
    )
    assert memory.categories[key] is Category.PARAMETER


def _address(store, block):
    return int(store.owned.address[store.owned.block == block][0])


def test_what_a_module_was_given_is_an_input_without_a_backward_pass():
    model = torch.nn.Linear(2, 2)
    with profile(**EVERYTHING) as prof, torch.no_grad():
        x = torch.ones(1, 2)
        y = torch.ones(1, 2)
        model(x)
    memory = prof._memory_profile()
    assert categories_of(memory, x) == {Category.INPUT} and categories_of(memory, y) == {None}
