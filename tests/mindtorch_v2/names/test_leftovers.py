"""Names that programs use and that belong to no larger part."""

from __future__ import annotations

import pickle
import sys
import types

import pytest

import mindtorch_v2 as torch
from mindtorch_v2 import nn
from mindtorch_v2.fx.experimental.proxy_tensor import get_proxy_mode
from mindtorch_v2.nn.utils._named_member_accessor import NamedMemberAccessor


def test_return_types():
    found = torch.max(torch.ones(2, 2), 0)
    assert type(found) is torch.return_types.max
    assert torch.return_types.topk._fields == ("values", "indices")
    with pytest.raises(AttributeError, match=r"module 'torch.return_types' has no attribute 'add'"):
        _ = torch.return_types.add


def test_quantised_types_can_be_named_and_not_used():
    assert isinstance(torch.qint8, torch.dtype) and str(torch.quint8) == "torch.quint8"
    assert pickle.loads(pickle.dumps(torch.qint32)) is torch.qint32
    assert torch.qint8 not in (torch.int8, torch.uint8)
    with pytest.raises(NotImplementedError, match="tensors of the quantised type torch.qint8 are not here"):
        torch.zeros(2, dtype=torch.qint8)
    with pytest.raises(RuntimeError, match="isSignedType not supported for quantized types"):
        _ = torch.qint8.is_signed


def test_classes_of_extensions_are_refused():
    with pytest.raises(RuntimeError, match="Tried to instantiate class 'mine.Thing', but it does not exist!"):
        _ = torch.classes.mine.Thing
    with pytest.raises(RuntimeError, match="cannot load 'lib.so'"):
        torch.classes.load_library("lib.so")


def test_where_saved_storages_go():
    storage = torch.ones(1).untyped_storage()
    assert torch.serialization.default_restore_location(storage, "cpu") is storage
    with pytest.raises(RuntimeError, match="Attempting to deserialize object on a CUDA device"):
        torch.serialization.default_restore_location(storage, "cuda:0")


def test_scripted_modules_and_proxy_modes():
    assert torch.ScriptModule is torch.jit.ScriptModule
    assert get_proxy_mode() is None
    assert torch.functional.einsum is torch.einsum
    assert "split" in dir(torch.functional)


@pytest.mark.parametrize("largest", [None, False])
@pytest.mark.parametrize("general", [False, True])
def test_lobpcg(largest, general):
    torch.manual_seed(0)
    a = torch.randn(12, 12, dtype=torch.float64)
    a = a @ a.T + torch.eye(12, dtype=torch.float64)
    b = torch.diag(torch.arange(1.0, 13, dtype=torch.float64)) if general else None
    values, vectors = torch.lobpcg(a, k=3, B=b, largest=largest)
    assert vectors.shape == (12, 3)
    assert torch.allclose(a @ vectors, (vectors if b is None else b @ vectors) * values)
    whole = torch.linalg.eigvalsh(a if b is None else torch.linalg.inv(b.sqrt()) @ a @ torch.linalg.inv(b.sqrt()))
    assert torch.allclose(values, whole[:3] if largest is False else whole.flip(0)[:3])


def test_lobpcg_refuses():
    with pytest.raises(ValueError, match=r"the number of A rows \(=5\) is smaller than 3 x"):
        torch.lobpcg(torch.eye(5), k=2)
    with pytest.raises(AssertionError, match="A must be square"):
        torch.lobpcg(torch.ones(3, 4))


@pytest.mark.parametrize("mode", ["sum", "mean"])
@pytest.mark.parametrize("weighted", [False, True])
def test_sparse_gradients_of_bags(mode, weighted):
    if weighted and mode == "mean":
        pytest.skip("weights are for sums")
    torch.manual_seed(0)
    sparse, dense = (nn.EmbeddingBag(5, 2, sparse=s, mode=mode, padding_idx=1) for s in (True, False))
    dense.load_state_dict(sparse.state_dict())
    index, offsets = torch.tensor([0, 1, 4, 4, 2]), torch.tensor([0, 3, 3])
    weights = torch.tensor([1.0, 2.0, 3.0, 4.0, 5.0]) if weighted else None
    for bag in (sparse, dense):
        bag(index, offsets, per_sample_weights=weights).pow(2).sum().backward()
    grad = sparse.weight.grad
    assert grad.layout is torch.sparse_coo
    assert grad._indices().tolist() == [[0, 4, 4, 2]], "one entry for each lookup but padding"
    assert torch.allclose(grad.to_dense(), dense.weight.grad)
    torch.optim.SGD(sparse.parameters(), 0.1).step()
    torch.optim.SGD(dense.parameters(), 0.1).step()
    assert torch.allclose(sparse.weight, dense.weight)


def test_einsum_asks_opt_einsum_for_an_order(monkeypatch):
    """A package that stands for opt_einsum: what it says is what is done."""
    from mindtorch_v2._python import einsum_paths

    asked = []

    def contract_path(equation, *shapes, **options):
        asked.append((equation, shapes, options))
        return [(1, 2), (0, 1)], ""

    fake = types.ModuleType("opt_einsum")
    fake.contract_path = contract_path
    monkeypatch.setitem(sys.modules, "opt_einsum", fake)
    monkeypatch.setattr(einsum_paths, "is_available", lambda: True)
    monkeypatch.setattr(torch.backends.opt_einsum, "is_available", lambda: True)
    torch.manual_seed(0)
    a, b, c = torch.randn(2, 3), torch.randn(3, 4), torch.randn(4, 5)
    expected = a @ b @ c
    assert torch.allclose(torch.einsum("ij,jk,kl->il", a, b, c), expected, atol=1e-5)
    assert asked == [("ij,jk,kl->il", ((2, 3), (3, 4), (4, 5)), {"shapes": True, "optimize": "auto"})]
    with torch.backends.opt_einsum.flags(enabled=False):
        assert torch.allclose(torch.einsum("ij,jk,kl->il", a, b, c), expected, atol=1e-5)
    torch.einsum("ij,jk->ik", a, b)
    assert len(asked) == 1
    with torch.backends.opt_einsum.flags(enabled=True, strategy="greedy"):
        torch.einsum("ij,jk,kl->il", a, b, c)
    assert asked[1][2]["optimize"] == "greedy"


def test_members_by_name():
    module = nn.Sequential(nn.Linear(2, 3), nn.BatchNorm1d(3))
    accessor = NamedMemberAccessor(module)
    weight = module[0].weight
    other = torch.ones(3, 2)
    assert accessor.get_tensor("0.weight") is weight
    assert accessor.swap_tensor("0.weight", other) is weight
    assert module[0].weight is other
    before, missing = accessor.swap_tensors_dict({"0.weight": weight, "1.running_mean": torch.zeros(3)})
    assert before["0.weight"] is other and missing == []
    with pytest.raises(RuntimeError, match="Missing key"):
        accessor.swap_tensors_dict({"0.weight": other, "0.nothing": other})
    assert module[0].weight is weight, "an error changes nothing"
    assert not hasattr(module[0], "nothing")
    accessor.del_tensors(["0.bias"])
    assert "bias" not in module[0]._parameters
    assert accessor.check_keys(["0.weight", "2.weight"])[1] == ["2.weight"]
    assert isinstance(accessor.swap_submodule("0", nn.Identity()), nn.Linear)
    with pytest.raises(ValueError, match="got 1 names and 2 values"):
        accessor.set_tensors(["1.weight"], [other, other])


def test_stateless_modules():
    from mindtorch_v2.nn.utils import stateless

    module = nn.Linear(2, 1, bias=False)
    weight, other = module.weight, torch.full((1, 2), 3.0)
    assert stateless.functional_call(module, {"weight": other}, (torch.ones(2),)).item() == 6.0
    with pytest.raises(KeyError), stateless._reparametrize_module(module, {"weight": other}):
        assert module(torch.ones(2)).item() == 6.0
        raise KeyError
    assert module.weight is weight


def test_assert_async_speaks_as_pytorch_does():
    assert torch._assert_async(torch.tensor([3])) is None
    for condition, message, said in [
        (torch.tensor(0.0), (), "Expected Tensor with single nonzero value, but got zero"),
        (torch.tensor(False), ("mine",), "mine"),
        (torch.ones(2), (), "Boolean value of Tensor with more than one value is ambiguous"),
        (torch.ones(0), (), "Boolean value of Tensor with no values is ambiguous"),
    ]:
        with pytest.raises(RuntimeError) as refused:
            torch._assert_async(condition, *message)
        assert str(refused.value) == said
