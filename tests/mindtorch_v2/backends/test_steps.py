"""Fused kernels and the steps that a profile shows of them give the same, and the steps are PyTorch's."""

from __future__ import annotations

from typing import Any

import pytest

import mindtorch_v2 as torch
import mindtorch_v2.nn.functional as F
from mindtorch_v2._dispatch import modes


class Tree:
    """An observer that keeps the names of calls, nested."""

    watches_memory = watches_outputs = watches_modules = False

    def __init__(self) -> None:
        self.open: list[list[Any]] = [[]]

    def enter_op(self, op: Any, args: tuple[Any, ...], sequence_nr: int) -> None:
        children: list[Any] = []
        self.open[-1].append((op.base, children))
        self.open.append(children)

    def enter_node(self, name: str, *rest: Any) -> None:
        children: list[Any] = []
        self.open[-1].append((name, children))
        self.open.append(children)

    def leave(self) -> None:
        self.open.pop()


def watched(function: Any) -> tuple[Any, str]:
    tree = Tree()
    modes.install_observer(tree)  # type: ignore[arg-type]
    try:
        result = function()
    finally:
        modes.remove_observer()
    return result, text(tree.open[0])


BOOKKEEPING = {"as_strided", "empty", "fill_", "copy_", "resize_", "resolve_conj", "zero_"}  # other tests look at these


def text(calls: list[Any]) -> str:
    listed = [(name, text(inner)) for name, inner in calls if name not in BOOKKEEPING]
    return " ".join(name + (f"{{{inner}}}" if inner else "") for name, inner in listed)


X, Y = torch.rand(4, 5) * 0.9 + 0.05, torch.rand(4, 5) * 0.9 + 0.05
A, B, C = torch.randn(2, 3, 4), torch.randn(2, 4, 5), torch.randn(5)
V, W, FULL, LABELS = torch.randn(4), torch.randn(5, 4), torch.randn(3, 5), torch.tensor([0, 1, 2, 3])
MEAN = "mean{sum div_}"
CASES = {
    "addmm": (lambda: torch.addmm(C, A[0], B[0]), "addmm{expand}"),
    "baddbmm": (lambda: torch.baddbmm(C, A, B, alpha=2), "baddbmm{expand}"),
    "addmm_full": (lambda: torch.addmm(FULL, A[0], B[0]), "select select addmm"),
    "mv": (lambda: torch.mv(A[0], V), "mv{addmv_}"),
    "vdot": (lambda: torch.vdot(V, V), "vdot{dot}"),
    "mse_loss": (lambda: F.mse_loss(X, Y), "mse_loss{" + MEAN + "}"),
    "mse_loss_sum": (lambda: F.mse_loss(X, Y, reduction="sum"), "mse_loss{sum}"),
    "mse_loss_none": (lambda: F.mse_loss(X, Y, reduction="none"), "mse_loss"),
    "smooth_l1_loss": (lambda: F.smooth_l1_loss(X, Y), "smooth_l1_loss{" + MEAN + "}"),
    "huber_loss": (lambda: F.huber_loss(X, Y), "huber_loss{" + MEAN + "}"),
    "binary_cross_entropy": (lambda: F.binary_cross_entropy(X, Y), "binary_cross_entropy{" + MEAN + "}"),
    "matmul_fold": (lambda: torch.matmul(A, B[0]), "matmul{reshape{view} mm _unsafe_view}"),
    "matmul_batches": (
        lambda: torch.matmul(A, B),
        "matmul{expand reshape{view} expand reshape{view} bmm _unsafe_view}",
    ),
    "linear": (lambda: F.linear(A, W, C), "linear{view t{transpose} addmm{expand} view}"),
    "cross_entropy": (
        lambda: F.cross_entropy(X, LABELS),
        "cross_entropy_loss{log_softmax{to _log_softmax} nll_loss_nd{nll_loss{nll_loss_forward}}}",
    ),
}


@pytest.mark.parametrize("name", CASES)
def test_steps(name):
    function, want = CASES[name]
    plain = function()
    result, tree = watched(function)
    assert torch.allclose(plain, result)
    assert tree.endswith(want)


@pytest.mark.parametrize("name", ["mse_loss", "addmm", "binary_cross_entropy"])
def test_gradients_are_the_same_when_watched(name):
    def run() -> list[torch.Tensor]:
        x, y = X.clone().requires_grad_(), Y.clone().requires_grad_()
        out = torch.addmm(y[0], x, y.t() @ y) if name == "addmm" else getattr(F, name)(x, y)
        return list(torch.autograd.grad(out.sum(), (x, y)))

    plain = run()
    seen, _ = watched(run)
    assert all(torch.allclose(a, b) for a, b in zip(plain, seen))
