"""Pruning of parameters."""

from __future__ import annotations

import pytest

import mindtorch_v2 as torch
from mindtorch_v2 import nn
from mindtorch_v2.nn.utils import prune


def layer() -> nn.Linear:
    made = nn.Linear(3, 2)
    with torch.no_grad():
        made.weight.copy_(torch.tensor([[1.0, -2.0, 3.0], [-4.0, 5.0, -6.0]]))
        made.bias.copy_(torch.tensor([0.5, -7.0]))
    return made


def test_l1_prunes_the_smallest():
    m = prune.l1_unstructured(layer(), "weight", amount=2)
    assert m.weight.tolist() == [[0.0, 0.0, 3.0], [-4.0, 5.0, -6.0]]
    assert m.weight_mask.tolist() == [[0.0, 0.0, 1.0], [1.0, 1.0, 1.0]]
    assert sorted(dict(m.named_parameters())) == ["bias", "weight_orig"]
    assert [name for name, _ in m.named_buffers()] == ["weight_mask"]
    assert prune.is_pruned(nn.Sequential(m)) and not prune.is_pruned(layer())
    m(torch.ones(1, 3)).sum().backward()
    assert m.weight_orig.grad.tolist() == [[0.0, 0.0, 1.0], [1.0, 1.0, 1.0]]
    with torch.no_grad():
        m.weight_orig.mul_(2)
    assert m(torch.tensor([[0.0, 0.0, 1.0]])).tolist() == [[6.5, -19.0]]


def test_pruning_again_counts_what_is_left():
    m = layer()
    prune.l1_unstructured(m, "weight", amount=2)
    prune.l1_unstructured(m, "weight", amount=0.5)
    assert m.weight_mask.tolist() == [[0.0, 0.0, 0.0], [0.0, 1.0, 1.0]]
    (container,) = m._forward_pre_hooks.values()
    assert [type(method).__name__ for method in container] == ["L1Unstructured"] * 2
    assert (len(container), container[1].amount) == (2, 0.5)
    prune.remove(m, "weight")
    assert m.weight.tolist() == [[0.0, -0.0, 0.0], [-0.0, 5.0, -6.0]]
    assert isinstance(m.weight, nn.Parameter) and not m._forward_pre_hooks
    assert [n for n, _ in m.named_buffers()] == []


def test_structured_pruning_takes_whole_channels():
    m = prune.ln_structured(layer(), "weight", amount=1, n=2, dim=1)
    assert m.weight_mask.tolist() == [[0.0, 1.0, 1.0]] * 2
    prune.ln_structured(m, "weight", amount=0.5, n=float("-inf"), dim=0)
    assert m.weight_mask.tolist() == [[0.0, 0.0, 0.0], [0.0, 1.0, 1.0]]


def test_random_pruning_takes_pytorchs_numbers():
    m = layer()
    torch.manual_seed(0)  # torch.rand(2, 3) is then [[.4963, .7682, .0885], [.1320, .3074, .6341]]
    prune.random_unstructured(m, "weight", amount=0.5)
    assert m.weight_mask.tolist() == [[0.0, 0.0, 1.0], [1.0, 1.0, 0.0]]
    torch.manual_seed(0)  # torch.rand(3) is then [.4963, .7682, .0885]
    other = prune.random_structured(layer(), "weight", amount=1, dim=1)
    assert other.weight_mask.tolist() == [[1.0, 1.0, 0.0]] * 2


def test_global_pruning_compares_all_parameters():
    m, other = layer(), prune.custom_from_mask(layer(), "weight", torch.tensor([[1, 1, 1], [1, 0, 0]]))
    prune.global_unstructured([(m, "weight"), (m, "bias"), (other, "weight")], prune.L1Unstructured, amount=4)
    assert m.weight_mask.tolist() == [[0.0, 0.0, 1.0], [1.0, 1.0, 1.0]]
    assert m.bias_mask.tolist() == [0.0, 1.0]
    assert other.weight_mask.tolist() == [[0.0, 1.0, 1.0], [1.0, 0.0, 0.0]]


def test_scores_and_tensors():
    scores = torch.tensor([[6.0, 5.0, 4.0], [3.0, 2.0, 1.0]])
    m = prune.l1_unstructured(layer(), "weight", amount=2, importance_scores=scores)
    assert m.weight_mask.tolist() == [[1.0, 1.0, 1.0], [1.0, 0.0, 0.0]]
    t = torch.tensor([-3.0, -2.0, -1.0, 1.0, 2.0])
    method = prune.L1Unstructured(amount=2)
    assert method.prune(t).tolist() == [-3.0, -2.0, 0.0, 0.0, 2.0]
    assert method.prune(t, importance_scores=t + 10).tolist() == [0.0, 0.0, -1.0, 1.0, 2.0]
    assert prune.identity(layer(), "weight").weight_mask.tolist() == [[1.0] * 3] * 2


@pytest.mark.parametrize(
    ("call", "error", "text"),
    [
        (
            lambda m: prune.l1_unstructured(m, "weight", 1.5),
            ValueError,
            "amount=1.5 should either be a float in the range",
        ),
        (lambda m: prune.l1_unstructured(m, "weight", -1), ValueError, "or a non-negative integer"),
        (
            lambda m: prune.l1_unstructured(m, "weight", 7),
            ValueError,
            "amount=7 should be smaller than the number of param",
        ),
        (
            lambda m: prune.l1_unstructured(m, "weight", "a"),
            TypeError,
            "Invalid type for amount: a. Must be int or float.",
        ),
        (lambda m: prune.ln_structured(m, "weight", 1, 2, 5), IndexError, "Invalid index 5 for tensor of size"),
        (
            lambda m: prune.ln_structured(m, "bias", 1, 2, 0),
            ValueError,
            "can only be applied to multidimensional tensors",
        ),
        (lambda m: prune.remove(m, "weight"), ValueError, "has to be pruned before pruning can be removed"),
        (lambda m: prune.global_unstructured(3, prune.L1Unstructured, amount=1), TypeError, "is not an Iterable"),
        (
            lambda m: prune.global_unstructured([(m, "weight")], prune.LnStructured, amount=1, n=2),
            TypeError,
            'Only "unstructured" PRUNING_TYPE supported',
        ),
        (
            lambda m: prune.l1_unstructured(m, "weight", 1, importance_scores=torch.ones(2)),
            AssertionError,
            "importance_scores should have the same shape as parameter weight",
        ),
    ],
)
def test_errors_leave_the_module_as_it_was(call, error, text):
    m = layer()
    with pytest.raises(error, match=text):
        call(m)
    assert sorted(dict(m.named_parameters())) == ["bias", "weight"]
    assert not m._forward_pre_hooks and not list(m.buffers())
    prune.l1_unstructured(m, "weight", 1)
    if error is not ValueError or "removed" not in text:
        with pytest.raises((error, AssertionError)):
            call(m)
        assert len(m._forward_pre_hooks) == 1, "an earlier pruning still holds"
