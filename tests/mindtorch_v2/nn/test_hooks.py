"""Calling modules: forward and backward hooks, global hooks, and the profiler's view of modules."""

from __future__ import annotations

import warnings
from typing import Any

import pytest

import mindtorch_v2 as torch
from mindtorch_v2 import nn
from mindtorch_v2.nn.modules import module as M
from mindtorch_v2.profiler import profile


class Failing(nn.Module):
    def forward(self, x: Any) -> Any:
        raise ValueError("no")


def test_forward_hooks_run_in_order_and_replace() -> None:
    net, log = nn.Identity(), []
    net.register_forward_hook(lambda m, a, o: log.append("second") or o + 1)
    net.register_forward_hook(lambda m, a, o: log.append("first") or o * 10, prepend=True)
    handle = net.register_forward_pre_hook(lambda m, a: log.append("before") or a[0] + 1)
    assert net(torch.ones(1)).item() == 21 and log == ["before", "first", "second"]
    handle.remove()
    assert net(torch.ones(1)).item() == 11


def test_hooks_with_keywords() -> None:
    class Scale(nn.Module):
        def forward(self, x: Any, *, by: float) -> Any:
            return x * by

    net, seen = Scale(), []
    net.register_forward_pre_hook(lambda m, a, k: (a, {"by": k["by"] + 1}), with_kwargs=True)
    net.register_forward_hook(lambda m, a, k, o: seen.append(k), with_kwargs=True)
    assert net(torch.ones(1), by=2).item() == 3 and seen == [{"by": 3}]


def test_always_called_hooks_see_failures() -> None:
    net, seen = Failing(), []
    net.register_forward_hook(lambda m, a, o: seen.append("plain"))
    net.register_forward_hook(lambda m, a, o: seen.append(o), always_call=True)
    with pytest.raises(ValueError, match="no"):
        net(1)
    assert seen == [None]


def test_errors_of_always_called_hooks_are_warnings() -> None:
    net = Failing()

    def fail(*args: Any) -> None:
        raise RuntimeError("later")

    net.register_forward_hook(fail, always_call=True)
    with pytest.warns(UserWarning, match="silenced as another error was raised"), pytest.raises(ValueError, match="no"):
        net(1)


def test_full_backward_hooks_see_and_replace_gradients() -> None:
    net, log = nn.Linear(2, 1, bias=False), []
    net.register_full_backward_pre_hook(lambda m, go: log.append("pre") or (go[0] * 2,))
    net.register_full_backward_hook(lambda m, gi, go: log.append(go[0].item()) or (gi[0] * 100,))
    x = torch.ones(1, 2, requires_grad=True)
    net(x).sum().backward()
    assert log == ["pre", 2.0]
    assert torch.allclose(x.grad, net.weight.detach() * 200)
    assert net.weight.grad.tolist() == [[2, 2]]


def test_full_backward_hook_without_input_gradients() -> None:
    net, log = nn.Linear(2, 1), []
    net.register_full_backward_hook(lambda m, gi, go: log.append((gi, go[0].item())))
    net(torch.ones(1, 2)).sum().backward()
    assert log == [((None,), 1.0)]


def test_full_backward_hook_that_returns_too_much() -> None:
    net = nn.ReLU()
    net.register_full_backward_hook(lambda m, gi, go: (gi[0], gi[0]))
    with pytest.raises(
        RuntimeError, match="Backward hook returned an invalid number of grad_input, got 2, but expected 1"
    ):
        net(torch.ones(1, requires_grad=True)).backward()


def test_global_hooks_reach_every_module() -> None:
    names: list[str] = []
    net = nn.Sequential(nn.ReLU(), nn.Tanh())
    handles = [
        M.register_module_forward_pre_hook(lambda m, a: names.append(f"pre {type(m).__name__}")),
        M.register_module_forward_hook(lambda m, a, o: names.append(type(m).__name__)),
        M.register_module_full_backward_hook(lambda m, gi, go: names.append(f"back {type(m).__name__}")),
    ]
    try:
        net(torch.ones(1, requires_grad=True)).backward()
    finally:
        for handle in handles:
            handle.remove()
    assert names == [
        "pre Sequential",
        "pre ReLU",
        "ReLU",
        "pre Tanh",
        "Tanh",
        "Sequential",
        "back Tanh",
        "back ReLU",
        "back Sequential",
    ]
    net(torch.ones(1))
    assert len(names) == 9


def test_output_that_cannot_carry_a_hook_warns() -> None:
    class Wrap(nn.Module):
        def forward(self, x: Any) -> Any:
            return {"y": x}

    net = Wrap()
    net.register_full_backward_hook(lambda *a: None)
    with pytest.warns(UserWarning, match="module output should be a Tensor or a tuple of Tensors"):
        net(torch.ones(1, requires_grad=True))


def test_no_hooks_add_no_nodes() -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert nn.Linear(2, 2)(torch.ones(1, 2)).grad_fn.name() == "AddmmBackward0"


def test_profiler_sees_modules_only_when_asked() -> None:
    net = nn.Sequential(nn.Linear(2, 2), nn.ReLU())
    with profile() as plain:
        net(torch.ones(1, 2))
    with profile(with_stack=True, with_modules=True) as deep:
        net(torch.ones(1, 2))
    assert not [e for e in plain.events() if "nn.Module" in e.name]
    store = deep.profiler.store
    names = [store.name_of(row) for row in range(len(store))]
    assert [n for n in names if n.startswith("nn.Module")] == [
        "nn.Module: Sequential_0",
        "nn.Module: Linear_0",
        "nn.Module: ReLU_0",
    ]


def test_a_failing_module_is_left_in_the_profile() -> None:
    with profile(with_stack=True, with_modules=True) as prof:
        with pytest.raises(ValueError, match="no"):
            Failing()(1)
        nn.ReLU()(torch.ones(1))
    store = prof.profiler.store
    rows = {store.name_of(row): int(store.parent[row]) for row in range(len(store))}
    assert rows["nn.Module: ReLU_0"] != list(rows).index("nn.Module: Failing_0")
