"""Sparse and nested tensors as arguments of what a profile records."""

from __future__ import annotations

import numpy as np
import pytest

import mindtorch_v2 as torch
from mindtorch_v2.profiler import profile

from .helpers import store_of

NESTED = [torch.ones(2, 3), torch.ones(1, 3)]
TENSORS = {
    "coo": lambda: torch.eye(3).to_sparse(),
    "csr": lambda: torch.eye(3).to_sparse_csr(),
    "jagged": lambda: torch.nested.nested_tensor(NESTED, layout=torch.jagged),
    "strided": lambda: torch.nested.nested_tensor(NESTED),
}


def described(prof, name):
    """Shapes, strides and types of the first argument of each event of this name."""
    store = store_of(prof)
    rows = [row for row in range(len(store)) if store.name_of(row) == name]
    inputs = [store.inputs_of(row) for row in rows]
    return [(given.shapes[0], given.strides[0], given.types[0]) for given in inputs]


@pytest.mark.parametrize("make", TENSORS.values(), ids=TENSORS)
def test_a_scope_takes_them(make):
    given = make()
    with profile(record_shapes=True) as prof, torch._C._profiler._RecordFunctionFast("scope", [given], {"k": given}):
        pass
    assert described(prof, "scope") == [(tuple(given._array.shape), (), "float")]


def test_a_sparse_and_an_expanded_tensor_of_one_shape_are_told_apart():
    sparse, expanded = torch.eye(3).to_sparse(), torch.ones(()).expand(3, 3)
    with profile(record_shapes=True) as prof:
        for given in (sparse, expanded, sparse):
            with torch._C._profiler._RecordFunctionFast("scope", [given]):
                pass
    assert described(prof, "scope") == [((3, 3), (), "float"), ((3, 3), (0, 0), "float"), ((3, 3), (), "float")]


@pytest.mark.parametrize("flags", [{"record_shapes": True}, {"with_stack": True}, {"profile_memory": True}])
def test_training_with_sparse_gradients(flags):
    def train():
        torch.manual_seed(0)
        table = torch.nn.Embedding(10, 3, sparse=True)
        optimizer = torch.optim.SparseAdam(table.parameters(), lr=0.1)
        for _ in range(2):
            optimizer.zero_grad()
            table(torch.tensor([1, 2, 2])).sum().backward()
            optimizer.step()
        return table.weight.detach()

    with profile(**flags) as prof:
        trained = train()
    assert torch.equal(trained, train()) and prof.validate() == []


def test_strides_are_not_asked_of_a_subclass():
    class Refusing(torch.Tensor):
        def stride(self, *args):  # the program's own
            raise RuntimeError("asked")

    given = torch.ones(2, 3).as_subclass(Refusing)
    with profile(record_shapes=True) as prof, torch._C._profiler._RecordFunctionFast("scope", [given]):
        given.double(), given.t().clone(), torch.empty_like(given.t())
    assert described(prof, "scope") == [((2, 3), (3, 1), "float")]


ARRAY = np.arange(12, dtype=np.float32).reshape(3, 4)


@pytest.mark.parametrize("dtype", [None, torch.float64, torch.bfloat16, torch.float8_e4m3fn, torch.complex32])
@pytest.mark.parametrize(
    "data",
    [1.5, [1.5, 2.0], ARRAY, ARRAY.T, ARRAY[::-1], ARRAY[:, ::2], np.broadcast_to(ARRAY[0], (5, 4)), ARRAY[:0]],
    ids=["number", "list", "array", "transposed", "reversed", "strided", "expanded", "empty"],
)
def test_tensor_makes_the_same_under_a_profile(data, dtype):
    alone = torch.tensor(data, dtype=dtype)
    with profile(profile_memory=True):
        made = torch.tensor(data, dtype=dtype)
    assert made.dtype == alone.dtype and made.stride() == alone.stride()
    assert torch.equal(made.to(torch.complex64), alone.to(torch.complex64))
    assert not isinstance(data, np.ndarray) or not np.shares_memory(made._array, data)
