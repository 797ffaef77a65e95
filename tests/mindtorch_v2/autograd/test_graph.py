"""Hooks on several gradients, callbacks at the end of a pass, edges and versions."""

from __future__ import annotations

import pytest

import mindtorch_v2 as torch
from mindtorch_v2.autograd import graph


def leaves(count: int) -> list[torch.Tensor]:
    return [torch.ones(1, requires_grad=True) for _ in range(count)]


def test_a_hook_on_several_tensors_is_called_once_in_a_pass() -> None:
    a, b, c = leaves(3)
    seen: list[list[float | None]] = []
    handle = graph.register_multi_grad_hook(
        (a, b, c), lambda grads: seen.append([None if g is None else g.item() for g in grads])
    )
    (a * 2 + b * 3).backward()
    (a * 2 + b * 3 + c).backward()
    handle.remove()
    (a * 2).backward()
    assert seen == [[2.0, 3.0, None], [2.0, 3.0, 1.0]]


def test_the_first_of_several_gradients_is_enough() -> None:
    a, b = leaves(2)
    seen: list[float] = []
    with graph.register_multi_grad_hook((a, b), lambda grad: seen.append(grad.item()), mode="any"):
        (a * 2 + b * 2).backward()
        (a * 5).backward()
    assert seen == [2.0, 5.0]
    with pytest.raises(ValueError, match="one of"):
        graph.register_multi_grad_hook((a,), print, mode="some")


def test_a_pass_that_failed_leaves_nothing_for_the_next() -> None:
    a, b = leaves(2)
    seen: list[list[float | None]] = []
    graph.register_multi_grad_hook((a, b), lambda grads: seen.append([None if g is None else g.item() for g in grads]))

    class Fails(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            return x.clone()

        @staticmethod
        def backward(ctx, grad):
            raise ValueError("as asked")

    kept = a * 7
    with pytest.raises(ValueError, match="as asked"):
        (Fails.apply(b) + kept).backward()  # nodes run latest first: `kept` was made before
    seen.clear()
    (b * 3).backward()
    assert seen == [[None, 3.0]]


def test_callbacks_run_when_their_pass_ends() -> None:
    engine = torch.autograd.Variable._execution_engine
    with pytest.raises(RuntimeError, match="only be installed during backward"):
        engine.queue_callback(print)
    (a,) = leaves(1)
    events: list[str] = []

    def hook(grad: torch.Tensor) -> None:
        events.append("outer hook")
        engine.queue_callback(lambda: events.append(f"outer end {a.grad.item()}"))
        inner = torch.ones(1, requires_grad=True)
        inner.register_hook(lambda g: engine.queue_callback(lambda: events.append("inner end")))
        with torch.enable_grad():
            (inner * 1).backward()
        events.append("after inner")

    a.register_hook(hook)
    (a * 4).backward()
    assert events == ["outer hook", "inner end", "after inner", "outer end 4.0"]


def test_edges_of_gradients() -> None:
    (a,) = leaves(1)
    made = a * 2
    assert graph.get_gradient_edge(made) == (made.grad_fn, 0, None)
    assert graph.get_gradient_edge(a).node.name() == "torch::autograd::AccumulateGrad"
    low, high = torch.ones(4, requires_grad=True).chunk(2)
    assert (graph.get_gradient_edge(low).output_nr, graph.get_gradient_edge(high).output_nr) == (0, 1)
    with pytest.raises(RuntimeError, match="does not require gradients"):
        graph.get_gradient_edge(torch.ones(1))


def test_writes_that_autograd_cannot_see_are_counted() -> None:
    a, b = torch.ones(1), torch.ones(1)
    graph.increment_version([a, b])
    graph.increment_version(a)
    assert (a._version, b._version) == (2, 1)


def test_saved_tensors_may_be_written_to_where_it_is_allowed() -> None:
    with graph.allow_mutation_on_saved_tensors():
        x = torch.full((2,), 3.0, requires_grad=True)
        y = x.clone()
        out = (y**2).sum()
        y.zero_()
        out.backward()
    assert x.grad.tolist() == [6.0, 6.0]
