"""Containers of modules and parameters."""

from __future__ import annotations

from collections import OrderedDict

import pytest

import mindtorch_v2 as torch
from mindtorch_v2 import nn


def test_sequential_edits() -> None:
    net = nn.Sequential(nn.ReLU(), nn.Tanh())
    net.append(nn.Sigmoid()).extend([nn.ELU()])
    net.insert(1, nn.GELU())
    assert [type(m).__name__ for m in net] == ["ReLU", "GELU", "Tanh", "Sigmoid", "ELU"]
    del net[1:3]
    assert list(net._modules) == ["0", "1", "2"] and isinstance(net.pop(-1), nn.ELU)
    net[0] = nn.Mish()
    assert repr(net + nn.Sequential(nn.ReLU())) == "Sequential(\n  (0): Mish()\n  (1): Sigmoid()\n  (2): ReLU()\n)"
    assert len(net * 2) == 4
    with pytest.raises(IndexError, match="Index out of range: 9"):
        net.insert(9, nn.ReLU())


def test_sequential_by_name() -> None:
    net = nn.Sequential(OrderedDict(one=nn.ReLU(), two=nn.Tanh()))
    assert isinstance(net.two, nn.Tanh) and isinstance(net[1:], nn.Sequential) and list(net[1:]._modules) == ["two"]


def test_module_list() -> None:
    layers = nn.ModuleList([nn.Linear(2, 2) for _ in range(3)])
    layers.insert(1, nn.ReLU())
    layers += [nn.Tanh()]
    assert len(layers) == 5 and isinstance(layers[-1], nn.Tanh) and isinstance(layers[1:3], nn.ModuleList)
    del layers[0]
    assert list(layers._modules) == ["0", "1", "2", "3"] and isinstance(layers[0], nn.ReLU)
    assert len(list(layers.parameters())) == 4 and len(layers + layers) == 8
    assert isinstance(layers.pop(0), nn.ReLU)


def test_module_dict() -> None:
    parts = nn.ModuleDict({"a": nn.ReLU()})
    parts.update([("b", nn.Linear(1, 1))])
    parts["c"] = nn.Tanh()
    assert list(parts) == list(parts.keys()) == ["a", "b", "c"] and "b" in parts and len(parts) == 3
    assert isinstance(parts.pop("a"), nn.ReLU) and [n for n, _ in parts.named_parameters()] == ["b.weight", "b.bias"]
    with pytest.raises(ValueError, match="has length 3; 2 is required"):
        parts.update([("x", nn.ReLU(), 1)])
    parts.clear()
    assert not len(parts)


def test_parameter_list() -> None:
    values = nn.ParameterList([torch.ones(2), nn.Parameter(torch.zeros(1))])
    values.append(torch.ones(3))
    values[0] = torch.full((2,), 5.0)
    assert len(values) == 3 and all(isinstance(p, nn.Parameter) for p in values)
    assert [n for n, _ in values.named_parameters()] == ["0", "1", "2"] and values[-1].shape == (3,)
    assert isinstance(values[1:], nn.ParameterList)
    with pytest.raises(RuntimeError, match="should not be called"):
        values(1)


def test_parameter_dict() -> None:
    values = nn.ParameterDict({"b": torch.ones(1), "a": torch.zeros(2)})
    assert list(values) == ["a", "b"] and isinstance(values["a"], nn.Parameter)
    merged = values | nn.ParameterDict({"c": torch.ones(3)})
    assert list(merged) == ["a", "b", "c"] and list(values) == ["a", "b"]
    assert values.get("z", 3) == 3 and values.setdefault("d", torch.ones(1)).shape == (1,)
    assert values.popitem()[0] == "d" and values.pop("a").shape == (2,) and list(reversed(merged)) == ["c", "b", "a"]
    assert [n for n, _ in merged.named_parameters()] == ["a", "b", "c"]
