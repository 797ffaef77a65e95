"""Control flow as functions, against PyTorch's answers and against loops."""

from __future__ import annotations

import pytest

import mindtorch_v2 as torch
from mindtorch_v2._higher_order_ops import associative_scan, scan
from mindtorch_v2._higher_order_ops import map as map_over_rows


def test_only_the_branch_that_holds_runs():
    def never(x):
        raise AssertionError("the other branch ran")

    x = torch.tensor([1.0, 4.0], requires_grad=True)
    torch.cond(x.sum() > 2, torch.sqrt, never, (x,)).sum().backward()
    assert x.grad.tolist() == [0.5, 0.25]
    assert torch.cond(False, never, lambda: 7) == 7
    with pytest.raises(RuntimeError, match="Expected pred to be bool or single-element tensor"):
        torch.cond(torch.ones(2), torch.sqrt, torch.abs, (x,))


def test_a_loop_ends_when_its_condition_no_longer_holds():
    count, value = torch.while_loop(lambda i, x: i < 3, lambda i, x: (i + 1, x * 2), (torch.tensor(0), torch.ones(2)))
    assert count.item() == 3 and value.tolist() == [8.0, 8.0]
    with pytest.raises(RuntimeError, match=r"as many values as it is given \(2\)"):
        torch.while_loop(lambda i, x: True, lambda i, x: (i,), (torch.tensor(0), torch.ones(2)))


@pytest.mark.parametrize("length", [2, 3, 4, 7, 8])
@pytest.mark.parametrize("reverse", [False, True])
def test_running_results_of_a_linear_recurrence_are_those_of_a_loop(length, reverse):
    """The recurrence of state-space models: h[t] = a[t] h[t-1] + x[t], with its gradients. Small whole numbers: exact."""
    a = torch.arange(1.0, length + 1).remainder(3).expand(2, length).clone().requires_grad_()
    x = torch.arange(2.0 * length).reshape(2, length).remainder(5).requires_grad_()

    def combine(left, right):
        return left[0] * right[0], left[1] * right[0] + right[1]

    _, states = associative_scan(combine, (a, x), 1, reverse, "generic")
    order = range(length)[::-1] if reverse else range(length)
    state, expected = torch.zeros(2), {}
    for step in order:
        state = a[:, step] * state + x[:, step]
        expected[step] = state
    looped = torch.stack([expected[step] for step in range(length)], 1)
    assert states.tolist() == looped.tolist()
    ours = torch.autograd.grad(states.sum(), (a, x))
    loops = torch.autograd.grad(looped.sum(), (a, x))
    assert [g.tolist() for g in ours] == [g.tolist() for g in loops]


def test_what_a_scan_cannot_do_is_refused():
    x = torch.ones(3)
    with pytest.raises(ValueError, match="all input tensors need to be on CUDA or XPU"):
        associative_scan(torch.add, x, 0)
    with pytest.raises(ValueError, match="Combine_mode must either 'pointwise' or 'generic', but got sum"):
        associative_scan(torch.add, x, 0, combine_mode="sum")


def test_scan_carries_a_state_and_keeps_outputs():
    x = torch.tensor([[0.0, 1.0], [2.0, 3.0], [4.0, 5.0]])
    state, kept = scan(lambda carry, row: (carry + row, {"product": carry * row}), torch.zeros(2), x)
    assert state.tolist() == [6.0, 9.0] and kept["product"].tolist() == [[0.0, 0.0], [0.0, 3.0], [8.0, 20.0]]
    state, kept = scan(lambda carry, row: (carry + row, carry), torch.zeros(2), x, reverse=True)
    assert state.tolist() == [6.0, 9.0] and kept.tolist() == [[6.0, 8.0], [4.0, 5.0], [0.0, 0.0]]
    assert map_over_rows(lambda row, other: row * other, x, torch.tensor(2.0)).tolist() == (x * 2).tolist()
