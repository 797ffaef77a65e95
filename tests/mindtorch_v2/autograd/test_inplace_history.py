"""Writes in place with a history: gradients are those of the same formula without writing, in C as in Python."""

from __future__ import annotations

from typing import Any

import pytest

import mindtorch_v2 as torch
from mindtorch_v2 import _native
from mindtorch_v2._autograd import inplace

FORMULAS: dict[str, tuple[Any, Any]] = {
    "add_": (lambda x, y: (x * 2).add_(y), lambda x, y: x * 2 + y),
    "add_ scaled": (lambda x, y: (x * 2).add_(y, alpha=3), lambda x, y: x * 2 + 3 * y),
    "add_ of a row": (lambda x, y: (x * 2).add_(y[0]), lambda x, y: x * 2 + y[0]),
    "sub_": (lambda x, y: (x * 2).sub_(y), lambda x, y: x * 2 - y),
    "mul_": (lambda x, y: (x * 2).mul_(y), lambda x, y: x * 2 * y),
    "mul_ by a constant": (lambda x, y: (x * y).mul_(torch.full((2, 3), 3.0)), lambda x, y: x * y * 3),
    "mul_ by its own values": (lambda x, y: _times_own_values(x * y), lambda x, y: (x * y).detach() * (x * y)),
    "div_": (lambda x, y: (x * 2).div_(y), lambda x, y: x * 2 / y),
    "sigmoid_": (lambda x, y: (x * y).sigmoid_(), lambda x, y: (x * y).sigmoid()),
    "tanh_ after add_": (lambda x, y: (x * 2).add_(y).tanh_(), lambda x, y: (x * 2 + y).tanh()),
    "relu_": (lambda x, y: (x * y).relu_(), lambda x, y: (x * y).relu()),
    "exp_": (lambda x, y: (x * y).exp_(), lambda x, y: (x * y).exp()),
    "into a constant": (lambda x, y: torch.ones_like(x, requires_grad=False).mul_(x).add_(y), lambda x, y: x + y),
    "twice": (lambda x, y: (x * 1).mul_(y).mul_(y), lambda x, y: x * y * y),
}


def _times_own_values(t: Any) -> Any:
    return t.mul_(t.detach().clone())


def _inputs() -> tuple[Any, Any]:
    x = torch.tensor([[0.5, -1.0, 2.0], [1.5, 0.25, -0.75]], dtype=torch.float64, requires_grad=True)
    y = torch.tensor([[1.0, 2.0, -0.5], [0.75, -1.25, 3.0]], dtype=torch.float64, requires_grad=True)
    return x, y


def _gradients(formula: Any) -> list[Any]:
    x, y = _inputs()
    out = formula(x, y)
    first = torch.autograd.grad((out * out).sum(), (x, y), create_graph=True, allow_unused=True)
    total = sum((g * g).sum() for g in first if g is not None)
    second = torch.autograd.grad(total, (x, y), allow_unused=True)
    return [out.detach(), *first, *second]


@pytest.mark.parametrize("name", FORMULAS)
def test_first_and_second_derivatives(name: str) -> None:
    written, plain = FORMULAS[name]
    for got, want in zip(_gradients(written), _gradients(plain)):
        assert (got is None) == (want is None)
        if got is not None:
            assert torch.allclose(got, want, rtol=1e-12, atol=1e-12)


@pytest.mark.skipif(not _native.available(), reason="no native core")
def test_tensors_that_are_no_views_are_written_without_python(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: Any) -> None:
        raise AssertionError("the general path was taken")

    x, y = _inputs()
    start = x * 2
    start.clone().add_(y).sigmoid_().mul_(y).tanh_()  # operators are resolved at their first use
    monkeypatch.setattr(inplace, "forward_inplace", refuse)
    out = (x * 2).add_(y).sigmoid_().mul_(y).tanh_()
    assert out._version == 4 and out.grad_fn.name() == "TanhBackward0"
    with pytest.raises(AssertionError):
        (x * 2)[0].add_(y[0])  # a view: the history of its base is rewritten


def test_what_must_not_be_written_is_refused() -> None:
    x, y = _inputs()
    with pytest.raises(RuntimeError, match="a leaf Variable that requires grad is being used in an in-place operation"):
        x.add_(y)
    saved = x * 2
    out = saved.sigmoid_() * y
    saved.add_(1)
    with pytest.raises(RuntimeError, match="has been modified by an inplace operation"):
        out.sum().backward()


def test_only_what_a_gradient_needs_is_copied() -> None:
    x, _ = _inputs()
    out = (x * 2).mul_(torch.full((2, 3), 3.0, dtype=torch.float64))
    assert out.grad_fn._saved_self is None and out.grad_fn._saved_other is not None
    out.sum().backward()
    assert x.grad.tolist() == [[6.0] * 3] * 2


def test_a_broadcast_that_would_grow_the_target_is_refused_and_leaves_it() -> None:
    x, y = _inputs()
    target = (x * 2)[0] * 1
    before, history = target.detach().clone(), target.grad_fn
    with pytest.raises(RuntimeError, match="doesn't match the broadcast shape"):
        target.add_(y)
    assert torch.equal(target.detach(), before) and target.grad_fn is history and target._version == 0


def test_profiles_list_the_same_events_with_and_without_history() -> None:
    x, y = _inputs()
    names = []
    for given in ((x, y), (x.detach(), y.detach())):
        with torch.profiler.profile() as prof:
            (given[0] * 2).add_(given[1]).sigmoid_()
        names.append([event.name for event in prof.events()])
    assert names[0] == names[1] == ["aten::mul", "aten::add_", "aten::sigmoid_"]


# --- views that live when their base is first written with a gradient
def _written(write):
    """What a function returns for x = ones(4), whether it requires a gradient, and the gradient of its sum."""
    x = torch.ones(4, requires_grad=True)
    made = write(x)
    return made.requires_grad, torch.autograd.grad(made.sum(), x)[0].tolist()


def test_view_written_through_a_view_of_it():
    def write(x):
        view = torch.zeros(4, 4)[..., :3]
        view[..., 0] = x * 2
        return view

    assert _written(write) == (True, [2.0, 2.0, 2.0, 2.0])


def test_view_whose_base_is_written_through_another_view():
    def write(x):
        base = torch.zeros(4, 4)
        first, second = base[:, :2], base[0]
        first[:, 0] = x
        return second

    assert _written(write) == (True, [1.0, 0.0, 0.0, 0.0])


def test_view_whose_base_is_written_itself():
    def write(x):
        base = torch.zeros(4)
        view = base[1:]
        base.add_(x * 3)
        return view

    assert _written(write) == (True, [0.0, 3.0, 3.0, 3.0])


def test_views_of_other_bases_and_integers_are_left_alone():
    base, other = torch.zeros(4), torch.zeros(4)
    bits, stranger = base.view(torch.int32), other[1:]
    base.add_(torch.ones(4, requires_grad=True))
    assert not bits.requires_grad and not stranger.requires_grad


def test_result_that_is_a_view_inside_stands_for_itself():
    # The grid is a view of a product made inside; a write through a view of it must not leave the grid's node out.
    theta = torch.tensor([[[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]]], dtype=torch.float64, requires_grad=True)
    grid = torch.nn.functional.affine_grid(theta, [1, 1, 1, 2], align_corners=False)
    assert grid._base is None
    grid[..., 0] = 2 * grid[..., 0].clone()
    # rows of the base grid are (-0.5, 0, 1) and (0.5, 0, 1)
    assert torch.autograd.grad(grid.sum(), theta)[0].tolist() == [[[0.0, 0.0, 4.0], [0.0, 0.0, 2.0]]]
