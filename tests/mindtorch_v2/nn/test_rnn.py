"""Recurrent layers: the single operator of an LSTM layer against its steps, second derivatives, the meta device."""

from __future__ import annotations

from typing import Any

import pytest

import mindtorch_v2 as torch
from mindtorch_v2 import nn


def _same_networks(**options: Any) -> tuple[nn.LSTM, nn.LSTM]:
    """The same network in float32 (one operator per layer) and float64 (step by step)."""
    torch.manual_seed(0)
    fused = nn.LSTM(3, 4, **options)
    stepwise = nn.LSTM(3, 4, **options).double()
    stepwise.load_state_dict(fused.state_dict())
    return fused, stepwise


@pytest.mark.parametrize(
    "options", [{}, {"bias": False}, {"num_layers": 2, "bidirectional": True}, {"batch_first": True}]
)
def test_lstm_layer_agrees_with_its_steps(options: dict[str, Any]) -> None:
    results = []
    for net, dtype in zip(_same_networks(**options), (torch.float32, torch.float64)):
        x = torch.linspace(-1, 1, 24).reshape(4, 2, 3).to(dtype).requires_grad_()
        out, (h, c) = net(x)
        (out.pow(2).sum() + h.sum() + c.pow(3).sum()).backward()
        results.append([out, h, c, x.grad, *(p.grad for p in net.parameters())])
    for a, b in zip(*results):
        assert torch.allclose(a.double(), b, atol=1e-5)


@pytest.mark.parametrize("bias", [True, False])
def test_second_derivatives_of_an_lstm(bias: bool) -> None:
    results = []
    for net, dtype in zip(_same_networks(bias=bias), (torch.float32, torch.float64)):
        x = torch.linspace(-1, 1, 24).reshape(4, 2, 3).to(dtype).requires_grad_()
        (g,) = torch.autograd.grad(net(x)[0].pow(2).sum(), x, create_graph=True)
        (second,) = torch.autograd.grad(g.pow(2).sum(), x)
        results.append(second)
    assert torch.allclose(results[0].double(), results[1], atol=1e-6)


@pytest.mark.parametrize("kind", [nn.RNN, nn.LSTM, nn.GRU])
def test_shapes_on_the_meta_device(kind: Any) -> None:
    net = kind(3, 4, num_layers=2, device="meta")
    out, _ = net(torch.empty(5, 2, 3, device="meta"))
    assert out.shape == (5, 2, 4) and out.is_meta


def test_state_is_carried_on() -> None:
    torch.manual_seed(0)
    net, x = nn.GRU(3, 4), torch.randn(6, 2, 3)
    whole, last = net(x)
    first, state = net(x[:2])
    second, end = net(x[2:], state)
    assert torch.allclose(torch.cat([first, second]), whole, atol=1e-6) and torch.allclose(end, last, atol=1e-6)
