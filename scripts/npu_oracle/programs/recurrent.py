"""Recurrent layers trained from the same weights: LSTM and GRU, several layers, both directions, one step at a time."""

from __future__ import annotations

from typing import Any

from .mlp import fill


def train(torch: Any, layer: Any, last: int) -> dict[str, Any]:
    """What a classifier of sequences sees; `last` is the width of the layer's output."""
    nn = torch.nn
    head = nn.Linear(last, 3)
    for module in (layer, head):
        fill(torch, module)
    layer, head = layer.npu(), head.npu()
    x = (torch.arange(60.0).reshape(3, 4, 5) * 0.17).sin().npu()
    y = torch.arange(3).npu()
    optimizer = torch.optim.SGD([*layer.parameters(), *head.parameters()], lr=0.2)
    losses = []
    for _ in range(4):
        optimizer.zero_grad()
        out, state = layer(x)
        loss = nn.functional.cross_entropy(head(out.mean(1)), y)
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    states = state if isinstance(state, tuple) else (state,)
    return {
        "losses": losses,
        "states": [s.detach().cpu().tolist() for s in states],
        "gradients": [p.grad.cpu().sum().item() for p in layer.parameters()],
        "weight": head.weight.detach().cpu().tolist(),
    }


def cells(torch: Any) -> dict[str, Any]:
    nn, seen = torch.nn, {}
    for name in ("LSTMCell", "GRUCell", "RNNCell"):
        cell = getattr(nn, name)(5, 4)
        fill(torch, cell)
        cell = cell.npu()
        x = (torch.arange(10.0).reshape(2, 5) * 0.3).cos().npu().requires_grad_()
        made = cell(x, cell(x))
        first = made[0] if isinstance(made, tuple) else made
        first.square().sum().backward()
        seen[name] = {"value": first.detach().cpu().tolist(), "gradient": x.grad.cpu().tolist()}
    return seen


def run(torch: Any) -> dict[str, Any]:
    nn = torch.nn
    return {
        "lstm": train(torch, nn.LSTM(5, 4, batch_first=True), 4),
        "deep lstm": train(torch, nn.LSTM(5, 4, num_layers=2, bidirectional=True, batch_first=True), 8),
        "gru": train(torch, nn.GRU(5, 4, num_layers=2, bidirectional=True, batch_first=True), 8),
        "rnn": train(torch, nn.RNN(5, 4, batch_first=True), 4),
        "cells": cells(torch),
    }
