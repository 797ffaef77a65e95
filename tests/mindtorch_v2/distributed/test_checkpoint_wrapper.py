"""Wrapped modules give the same results, gradients, names and state dicts, and run again in the backward pass."""

from __future__ import annotations

import pytest

import mindtorch_v2 as torch
from mindtorch_v2 import nn
from mindtorch_v2.distributed.algorithms._checkpoint.checkpoint_wrapper import (
    CheckpointImpl,
    CheckpointWrapper,
    apply_activation_checkpointing,
    checkpoint_wrapper,
)


class Block(nn.Module):
    def __init__(self):
        super().__init__()
        self.fc = nn.Linear(3, 3)
        self.runs = 0

    def forward(self, x, *, scale=1.0):
        self.runs += 1
        return torch.tanh(self.fc(x)) * scale


def model():
    torch.manual_seed(0)
    return nn.Sequential(Block(), nn.Sequential(Block(), nn.ReLU()))


@pytest.mark.parametrize("impl", list(CheckpointImpl))
def test_results_and_gradients_are_the_same(impl):
    plain, wrapped = model(), model()
    apply_activation_checkpointing(
        wrapped, lambda m: checkpoint_wrapper(m, impl), check_fn=lambda m: isinstance(m, Block)
    )
    assert isinstance(wrapped[0], CheckpointWrapper)
    assert isinstance(wrapped[1][0], CheckpointWrapper)
    assert not isinstance(wrapped[1], CheckpointWrapper)
    x = torch.randn(2, 3, requires_grad=True)
    for m in (plain, wrapped):
        m(x).pow(2).sum().backward()
    assert wrapped[0].runs == 2  # once forward, once more for the backward pass
    assert plain[0].runs == 1
    for a, b in zip(plain.parameters(), wrapped.parameters()):
        assert torch.equal(a.grad, b.grad)


def test_names_and_state_dicts_are_those_of_the_module():
    plain, wrapped = model(), model()
    wrapped[0] = checkpoint_wrapper(wrapped[0])
    assert list(wrapped.state_dict()) == list(plain.state_dict())
    assert [n for n, _ in wrapped[0].named_parameters()] == ["fc.weight", "fc.bias"]
    other = model()
    other[0] = checkpoint_wrapper(other[0])
    with torch.no_grad():
        plain[0].fc.weight.fill_(7.0)
    other.load_state_dict(plain.state_dict())
    assert other[0].fc.weight.unique().tolist() == [7.0]
    plain.load_state_dict(other.state_dict())


def test_keyword_arguments_reach_the_module():
    block = Block()
    x = torch.ones(1, 3)
    assert torch.equal(checkpoint_wrapper(block)(x, scale=2.0), block(x) * 2.0)


def test_a_policy_is_refused():
    with pytest.raises(NotImplementedError, match="check_fn"):
        apply_activation_checkpointing(model(), auto_wrap_policy=lambda *_: True)
