"""`experimental_event_tree()`: nodes, links, what they tell."""

from __future__ import annotations

import mindtorch_v2 as torch
from mindtorch_v2._C import _profiler as C
from mindtorch_v2.profiler import profile, record_function
from mindtorch_v2.profiler._utils import traverse_bfs, traverse_dfs
from mindtorch_v2.profiler.record.kinds import Kind
from mindtorch_v2.profiler.results.kineto import ProfilerResult
from mindtorch_v2.profiler.results.results import Results

from ..hand_made import E, M, make_store, tensors


def hand_made(*events, memory=(), **options):
    return ProfilerResult(Results(make_store(list(events), memory, **options))).experimental_event_tree()


def test_links_are_objects_not_copies():
    with profile() as prof, record_function("a"):
        torch.ones(2) + 1
    results = prof.profiler.kineto_results
    roots = results.experimental_event_tree()
    for node in traverse_dfs(roots):
        assert all(child.parent is node and child.parent == node for child in node.children)
        assert node.children == node.children
    assert [root.parent for root in roots] == [None] * len(roots)
    assert prof.profiler.kineto_results.experimental_event_tree()[0] is roots[0]
    assert roots[0] != roots[0].children[0]


def test_times_ids_and_tags():
    (a,) = hand_made(
        E("a", 10, 50, kind=Kind.SCOPE),
        E("b", 20, 30, seq=7),
        E("f.py(3): g", 35, 45, kind=Kind.PYTHON),
        E("<built-in function len>", 36, 37, kind=Kind.BUILTIN),
    )
    b, g = a.children
    assert (a.start_time_ns, a.end_time_ns, a.duration_time_ns) == (10, 50, 40)
    assert [n.tag for n in (a, b, g, g.children[0])] == [
        C._EventType.TorchOp,
        C._EventType.TorchOp,
        C._EventType.PyCall,
        C._EventType.PyCCall,
    ]
    assert [n.correlation_id for n in (a, b, g)] == [1, 2, 0]
    assert len({n.id for n in traverse_dfs([a])}) == 4 and a.start_tid == 1
    assert (a.extra_fields.scope, b.extra_fields.scope) == (C.RecordScope.USER_SCOPE, C.RecordScope.FUNCTION)
    assert b.extra_fields.sequence_number == 7 and b.typed == (b.tag, b.extra_fields)
    assert g.extra_fields.callsite == C._PyFrameState(3, "f.py", "g")
    assert isinstance(g.extra_fields, C._ExtraFields_PyCall) and g.extra_fields.module is None
    assert g.children[0].extra_fields.caller == C._PyFrameState(3, "f.py", "g")


def test_inputs_are_tensors_lists_and_values():
    (node,) = hand_made(E("aten::add", 0, 1, inputs=tensors((2, 3), (3,), values=(1,))), record_shapes=True)
    x, y, alpha = node.extra_fields.inputs
    assert (x.sizes, x.strides, x.dtype, x.dim, x.device) == ([2, 3], [3, 1], torch.float32, 2, torch.device("cpu"))
    assert isinstance(x, C._TensorMetadata) and y.sizes == [3] and alpha == 1
    assert x.layout is torch.strided and x.id is None
    (without,) = hand_made(E("aten::add", 0, 1, inputs=tensors((2, 3))))
    assert without.extra_fields.inputs == []


def test_lists_of_tensors():
    x = torch.ones(2, 3)
    with profile(record_shapes=True) as prof:
        torch.cat([x, x], 1)
    node = prof.profiler.kineto_results.experimental_event_tree()[0]
    assert [t.sizes for t in node.extra_fields.inputs[0]] == [[2, 3], [2, 3]] and node.extra_fields.inputs[1] == 1


def test_allocations_are_nodes_where_they_happened():
    a, loose = hand_made(
        E("a", 0, 10), E("b", 2, 6), memory=[M(3, 4096, 64), M(8, 4096, -64), M(20, 8192, 32)], profile_memory=True
    )
    assert [n.name for n in a.children] == ["b", "[memory]"] and [n.name for n in a.children[0].children] == [
        "[memory]"
    ]
    born, died = a.children[0].children[0], a.children[1]
    assert born.tag is C._EventType.Allocation and born.duration_time_ns == 0 and died.parent is a
    assert (born.extra_fields.alloc_size, died.extra_fields.alloc_size) == (64, -64)
    assert born.extra_fields.allocation_id == died.extra_fields.allocation_id != loose.extra_fields.allocation_id
    assert born.extra_fields.device == torch.device("cpu") and loose.parent is None


def test_modules_and_frames_of_a_real_profile():
    model, x = torch.nn.Sequential(torch.nn.Linear(2, 2), torch.nn.Linear(2, 2)), torch.ones(1, 2)
    with profile(with_stack=True, profile_memory=True, record_shapes=True) as prof:
        model(x)
    nodes = list(traverse_bfs(prof.profiler.kineto_results.experimental_event_tree()))
    modules = [
        n.extra_fields.module for n in nodes if n.tag is C._EventType.PyCall and n.extra_fields.module is not None
    ]
    assert [m.cls_name for m in modules] == ["Sequential", "Linear", "Linear"]
    assert len({m.self_ptr for m in modules}) == 3 and modules[1].cls_ptr == modules[2].cls_ptr
    assert any(n.tag is C._EventType.Allocation for n in nodes)


def test_a_block_keeps_its_ids_though_its_address_comes_again():
    with profile(profile_memory=True) as prof:
        for _ in range(3):
            torch.ones(1000) + 1  # what is freed is used again at once, often at the same address
    records = [
        n.extra_fields
        for n in traverse_dfs(prof.profiler.kineto_results.experimental_event_tree())
        if n.name == "[memory]"
    ]
    born = [r.allocation_id for r in records if r.alloc_size > 0]
    assert born == list(range(1, 7)) and sorted(r.allocation_id for r in records if r.alloc_size < 0) == born
    assert all(r.id is None for r in records)  # which tensors events were given is recorded with shapes only
    sizes = {r.allocation_id: 0 for r in records}
    for record in records:
        sizes[record.allocation_id] += record.alloc_size
    assert set(sizes.values()) == {0}
