"""The module transforms that functorch had before `torch.func`."""

from __future__ import annotations

import pytest

import mindtorch_v2 as torch
from mindtorch_v2 import _functorch as functorch
from mindtorch_v2 import nn

pytestmark = pytest.mark.filterwarnings("ignore:functorch:FutureWarning")


def test_a_module_as_a_function_of_its_parameters():
    model = nn.Sequential(nn.Linear(2, 3), nn.Tanh(), nn.Linear(3, 1))
    x = torch.tensor([[1.0, -2.0]])
    function, params = functorch.make_functional(model)
    assert list(function.parameters()) and all(p.is_meta for p in function.parameters())
    assert [p.shape for p in params] == [p.shape for p in model.parameters()]
    assert all(a is not b and a.requires_grad for a, b in zip(params, model.parameters()))
    assert torch.equal(function(params, x), model(x))
    gradients = torch.func.grad(lambda given: function(given, x).sum())(params)
    model(x).sum().backward()
    assert all(torch.equal(a, b.grad) for a, b in zip(gradients, model.parameters()))


def test_tied_parameters_are_one():
    model = nn.Sequential(nn.Linear(2, 2, bias=False), nn.Linear(2, 2, bias=False))
    model[1].weight = model[0].weight
    function, params = functorch.make_functional(model, disable_autograd_tracking=True)
    assert len(params) == 1 and not params[0].requires_grad
    assert function([2 * torch.eye(2)], torch.ones(1, 2)).tolist() == [[4.0, 4.0]]


def test_buffers_are_given_and_written_to():
    model = nn.BatchNorm1d(2, momentum=None)
    with pytest.raises(RuntimeError, match="has buffers"):
        functorch.make_functional(model)
    function, params, buffers = functorch.make_functional_with_buffers(model)
    function(params, buffers, torch.tensor([[0.0, 2.0], [2.0, 4.0]]))
    assert buffers[0].tolist() == [1.0, 3.0] and model.running_mean.tolist() == [0.0, 0.0]
    with pytest.raises(RuntimeError, match="expected 3 buffers"):
        function(params, buffers[:1], torch.ones(2, 2))


def test_an_ensemble():
    models = [nn.Linear(2, 1) for _ in range(3)]
    function, params, buffers = functorch.combine_state_for_ensemble(models)
    x = torch.tensor([[1.0, 2.0]])
    together = torch.func.vmap(function, in_dims=(0, 0, None))(params, buffers, x)
    torch.testing.assert_close(together, torch.stack([m(x) for m in models]))


def test_successors_are_named():
    with pytest.warns(FutureWarning, match="use torch.func.functional_call"):
        functorch.make_functional(nn.Linear(1, 1))


def test_what_libraries_ask_of_batched_tensors():
    from mindtorch_v2._C import _functorch as questions

    told = []

    def sample(x):
        told.append((questions.is_batchedtensor(x), questions.get_unwrapped(x).shape, questions.maybe_get_bdim(x)))
        assert questions.maybe_current_level() == questions.maybe_get_level(x)
        moved = questions._remove_batch_dim(x, questions.maybe_get_level(x), 2, 1)
        return questions._add_batch_dim(moved, 1, questions.maybe_get_level(x)) + 1

    assert torch.func.vmap(sample)(torch.zeros(2, 3)).tolist() == [[1.0] * 3] * 2
    assert told == [(True, torch.Size([2, 3]), 0)]
    plain = torch.ones(2)
    assert not questions.is_batchedtensor(plain) and questions.maybe_get_level(plain) == -1
    assert questions.maybe_current_level() is None and not torch._C._are_functorch_transforms_active()
    with pytest.raises(RuntimeError, match="not batched"):
        questions.get_unwrapped(plain)
