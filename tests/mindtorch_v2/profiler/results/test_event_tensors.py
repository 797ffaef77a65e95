"""Which tensors events were given: numbers, blocks, and what modules and optimizers owned, in the event tree."""

from __future__ import annotations

import gc

import numpy as np
import pytest

import mindtorch_v2 as torch
from mindtorch_v2._C import _profiler as C
from mindtorch_v2.profiler import _utils, load, profile
from mindtorch_v2.profiler.record.kinds import Role
from mindtorch_v2.profiler.store.event_store import EventStore, OwnedTable, ReferenceTable
from mindtorch_v2.profiler.store.identities import Identities
from mindtorch_v2.profiler.store.join import concat

EVERYTHING = {"record_shapes": True, "profile_memory": True, "with_stack": True}


def nodes_of(prof):
    return list(_utils.traverse_dfs(prof.profiler.kineto_results.experimental_event_tree()))


def inputs_of(prof, name, index=0):
    return [n.extra_fields.inputs for n in nodes_of(prof) if n.name == name][index]


def names_above(node):
    return [] if node.parent is None else [node.parent.name, *names_above(node.parent)]


def test_a_view_is_another_tensor_of_the_same_memory():
    a, c = torch.randn(4, 3), torch.randn(4, 1)
    b = a.view(1, 12)
    with profile(record_shapes=True, profile_memory=True) as prof:
        a + c
        b * c
    (x, y, _), (v, w) = inputs_of(prof, "aten::add"), inputs_of(prof, "aten::mul")
    assert x.storage_data_ptr == v.storage_data_ptr == a.data_ptr() and x.impl_ptr != v.impl_ptr
    assert (x.impl_ptr, y.impl_ptr) == (a._cdata, c._cdata)
    assert (x.id, x.allocation_id) == (v.id, v.allocation_id) and y == w and y.id != x.id


def test_what_is_resized_keeps_its_id_and_gets_another_block():
    with profile(record_shapes=True, profile_memory=True) as prof:
        x = torch.rand(4, 3)
        x.resize_(64, 4)
        x.sin()
    before, after = inputs_of(prof, "aten::uniform_")[0], inputs_of(prof, "aten::sin")[0]
    assert before.id == after.id == 0 and before.allocation_id < after.allocation_id
    assert before.storage_data_ptr != after.storage_data_ptr


def test_records_have_the_ids_of_the_tensors_that_hold_them():
    gc.collect()
    with profile(record_shapes=True, profile_memory=True) as prof:
        x = torch.ones(3)
        y = x + x
        y.sin()
        torch.ones(5)
    records = [
        n.extra_fields for n in nodes_of(prof) if n.tag is C._EventType.Allocation and n.extra_fields.alloc_size > 0
    ]
    x_given, y_given = inputs_of(prof, "aten::add")[0], inputs_of(prof, "aten::sin")[0]
    assert [(r.ptr, r.id, r.allocation_id) for r in records[:2]] == [
        (t.storage_data_ptr, t.id, t.allocation_id) for t in (x_given, y_given)
    ]
    assert records[2].id is None  # the sine: nothing was ever given it
    assert [r.allocation_id for r in records] == [1, 2, 3, 4]


def test_numbers_of_tensors_do_not_come_again():
    with profile(record_shapes=True, profile_memory=True) as prof:
        for _ in range(50):
            torch.ones(1)
    given = [n.extra_fields.inputs[0] for n in nodes_of(prof) if n.name == "aten::fill_"]
    assert len({t.impl_ptr for t in given}) == len({t.allocation_id for t in given}) == len({t.id for t in given}) == 50


def test_lists_of_tensors():
    x, y = torch.ones(1), torch.ones(1)
    with profile(record_shapes=True, profile_memory=True) as prof:
        torch.stack((x, y))
    given = inputs_of(prof, "aten::stack")[0]
    assert [t.impl_ptr for t in given] == [x._cdata, y._cdata]
    assert [t.storage_data_ptr for t in given] == [x.data_ptr(), y.data_ptr()]


@pytest.mark.parametrize("options", [{"record_shapes": True}, {"profile_memory": True}])
def test_shapes_or_memory_alone_have_no_references(options):
    x = torch.ones(3)
    with profile(**options) as prof:
        x + x
    assert len(prof.profiler.store.references) == 0
    for given in inputs_of(prof, "aten::add")[:1]:
        assert given.impl_ptr is None and given.id is None


def test_meta_tensors_have_no_memory():
    x = torch.ones(3, device="meta")
    with profile(record_shapes=True, profile_memory=True) as prof:
        x + x
    given = inputs_of(prof, "aten::add")[0]
    assert (given.storage_data_ptr, given.id, given.allocation_id) == (None, None, None)
    assert given.device == torch.device("meta") and given.impl_ptr == x._cdata


def training():
    model = torch.nn.Linear(2, 1)
    return model, torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9)


@pytest.mark.parametrize("is_first", [True, False])
def test_modules_and_optimizers(is_first):
    model, optimizer = training()

    def step():
        x = torch.ones((1, 2))
        model(x.cos()).backward()
        optimizer.step()
        optimizer.state[model.weight]["momentum_buffer"].sin()
        model.weight.grad.tan()

    if not is_first:
        step()
    with profile(**EVERYTHING) as prof:
        step()
    nodes = nodes_of(prof)
    momentum, gradient = inputs_of(prof, "aten::sin")[0], inputs_of(prof, "aten::tan")[0]
    weight = inputs_of(prof, "aten::linear")[1]
    (module,) = (n.extra_fields.module for n in nodes if n.name == "nn.Module: Linear_0")
    (name, parameter, grad), (second, bias, _) = module.parameters
    assert (module.self_ptr, module.cls_ptr, module.cls_name) == (id(model), id(torch.nn.Linear), "Linear")
    assert (name, second) == ("weight", "bias") and parameter == weight and bias.sizes == [1]
    assert grad is None if is_first else grad.id == gradient.id
    (step_node,) = (n for n in nodes if n.tag is C._EventType.PyCall and n.extra_fields.optimizer is not None)
    seen = step_node.extra_fields.optimizer
    assert "_optimizer_step_code" in step_node.name and step_node.extra_fields.module is None
    assert "Optimizer.step#SGD.step" in names_above(step_node) and step_node.start_tid == step_node.parent.start_tid
    assert seen.self_ptr == id(optimizer) and len(seen.parameters) == 2
    of_weight = seen.parameters[0]
    assert (of_weight[0], of_weight[1].id) == (weight, gradient.id)
    assert [(key, value.id) for key, value in of_weight[2]] == [("momentum_buffer", momentum.id)]


def test_a_module_without_parameters_is_known_too():
    model = torch.nn.Sequential(torch.nn.ReLU())
    with profile(with_stack=True) as prof:
        model(torch.ones(2))
    seen = {m.cls_name: m for m in (n.extra_fields.module for n in nodes_of(prof) if n.name.startswith("nn.Module"))}
    assert (seen["Sequential"].self_ptr, seen["ReLU"].self_ptr) == (id(model), id(model[0]))
    assert seen["ReLU"].parameters == []


def test_owners_are_looked_at_once_in_a_window_and_again_in_the_next():
    model, optimizer = training()
    with profile(**EVERYTHING) as prof:
        for _ in range(3):
            model(torch.ones(1, 2)).backward()
            optimizer.step()
    roles = prof.profiler.store.owned.role
    assert (roles == Role.OWNER).sum() == 2 and (roles == Role.STATE).sum() == 2
    with profile(**EVERYTHING) as prof:
        model(torch.ones(1, 2))
    assert prof.profiler.store.owned.role.tolist() == [0, 1, 2, 1, 2]


def test_files_joined_and_selected_stores_keep_references(tmp_path):
    model, optimizer = training()
    with profile(**EVERYTHING) as prof:
        model(torch.ones(1, 2)).backward()
        optimizer.step()
    store = prof.profiler.store
    assert len(store.references) and len(store.owned)
    prof.save(str(tmp_path / "a.mtp"))
    loaded = load(tmp_path / "a.mtp").store
    assert loaded.references == store.references and loaded.owned == store.owned
    joined = concat([store, store])
    assert np.array_equal(
        np.sort(joined.name[joined.references.row]), np.sort(np.tile(store.name[store.references.row], 2))
    )
    assert (np.diff(joined.references.row) >= 0).all() and len(joined.owned) == 2 * len(store.owned)
    names = np.array(store.strings)[store.name]
    kept = store.select(names == "aten::linear")
    assert kept.references.row.tolist() == [0, 0, 0] and kept.references.tensor[1] == model.weight._cdata


def test_tensors_that_share_memory_through_others_belong_together():
    """1 had block 5, then 7; 2 had 7; 3 has 8, and 9 was allocated for nobody."""
    columns = {"start_ns": [0, 10, 20, 30], "end_ns": [1, 11, 21, 31]}
    references = ReferenceTable(
        {
            "row": [0, 1, 2, 3],
            "argument": [0] * 4,
            "tensor": [1, 1, 2, 3],
            "block": [5, 7, 7, 8],
            "address": [64, 96, 96, 32],
        }
    )
    store = EventStore(columns, references=references, owned=OwnedTable())
    known = Identities(store)
    assert known.reference_ids.tolist() == [0, 0, 0, 1] and known.reference_allocations.tolist() == [1, 2, 2, 3]
