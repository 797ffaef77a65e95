"""Checkpoints that keep what some operators gave: the same gradients, and those operators run once."""

from __future__ import annotations

import pytest

import mindtorch_v2 as torch
from mindtorch_v2 import nn
from mindtorch_v2.utils._python_dispatch import TorchDispatchMode
from mindtorch_v2.utils.checkpoint import CheckpointPolicy, checkpoint, create_selective_checkpoint_contexts

ADDMM = torch.ops.aten.addmm.default


class Calls(TorchDispatchMode):
    """Counts operators."""

    def __init__(self) -> None:
        super().__init__()
        self.names: list[str] = []

    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        self.names.append(str(func))
        return func(*args, **(kwargs or {}))


def keep_products(context, op, *args, **kwargs):
    return CheckpointPolicy.MUST_SAVE if op is ADDMM else CheckpointPolicy.PREFER_RECOMPUTE


@pytest.mark.parametrize("policy, products", [([ADDMM], 0), (keep_products, 0), (lambda *a, **k: False, 2)])
def test_gradients_are_equal_and_kept_operators_run_once(policy, products: int) -> None:
    torch.manual_seed(0)
    model = nn.Sequential(nn.Linear(4, 8), nn.GELU(), nn.Linear(8, 4), nn.Dropout(0.5))
    x = torch.randn(3, 4, requires_grad=True)
    torch.manual_seed(1)
    model(x).pow(2).sum().backward()
    expected = [x.grad, *(p.grad for p in model.parameters())]
    x.grad = None
    model.zero_grad()
    torch.manual_seed(1)
    contexts = lambda: create_selective_checkpoint_contexts(policy)  # noqa: E731
    loss = checkpoint(model, x, use_reentrant=False, context_fn=contexts).pow(2).sum()
    with Calls() as calls:
        loss.backward()
    for found, wanted in zip([x.grad, *(p.grad for p in model.parameters())], expected):
        assert torch.equal(found, wanted)
    assert calls.names.count("aten.addmm.default") == products
    assert calls.names.count("aten.gelu.default") == 1


def test_a_policy_is_told_which_run_it_is_and_what_came_out() -> None:
    seen: list[tuple[bool, bool]] = []

    def policy(context, op, *args, **kwargs):
        if op is torch.ops.aten.sin.default:
            seen.append((context.is_recompute, context.op_output is not None))
        return CheckpointPolicy.PREFER_RECOMPUTE

    x = torch.ones(2, requires_grad=True)
    contexts = lambda: create_selective_checkpoint_contexts(policy)  # noqa: E731
    checkpoint(lambda t: t.sin().exp(), x, use_reentrant=False, context_fn=contexts).sum().backward()
    assert seen == [(False, True), (True, False)]


def test_a_kept_result_that_was_written_to_is_refused_unless_allowed() -> None:
    def run(allowed: bool) -> torch.Tensor:
        def function(t):
            made = t.sin()
            out = made.exp()
            made.mul_(2)
            return out

        x = torch.ones(2, requires_grad=True)
        contexts = lambda: create_selective_checkpoint_contexts([torch.ops.aten.sin.default], allowed)  # noqa: E731
        checkpoint(function, x, use_reentrant=False, context_fn=contexts).sum().backward()
        return x.grad

    with pytest.raises(RuntimeError, match="has been mutated"):
        run(False)


def test_what_is_no_overload_or_policy_is_refused() -> None:
    with pytest.raises(ValueError, match="Expected op in `op_list` to be an OpOverload"):
        create_selective_checkpoint_contexts([torch.ops.aten.mm])
    with pytest.raises(TypeError, match="must be either a function or a list of ops"):
        create_selective_checkpoint_contexts(3)
