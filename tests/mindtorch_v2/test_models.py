"""Seeded models start from PyTorch's weights and train along PyTorch's losses."""
from __future__ import annotations

import json
import pathlib

import pytest

import mindtorch_v2 as torch

from . import models

# Biases whose gradient is zero but for rounding (of keys, and before a batch norm): Adam makes full steps of that noise.
NOISE = ("in_proj_bias", "0.bias")
ANSWERS = json.loads((pathlib.Path(__file__).parent / "data" / "models.json").read_text())


@pytest.mark.parametrize("name", models.MODELS)
@pytest.mark.parametrize("optimizer", models.OPTIMIZERS)
def test_trains_as_pytorch(name: str, optimizer: str) -> None:
    want = ANSWERS[f"{name}-{optimizer}"]
    got = models.train(torch, name, optimizer)
    assert got["losses"] == pytest.approx(want["losses"], rel=2e-4)
    assert got["norms"] == pytest.approx(want["norms"], rel=2e-3, abs=1e-5)
    # In front of a batch norm a bias has no gradient but noise, which AdamW makes a full step; evaluation shows it.
    assert got["eval"] == pytest.approx(want["eval"], rel=1e-3 if optimizer == "sgd" else 5e-3)
    assert got["state"].keys() == want["state"].keys()
    firm = [k for k in want["state"] if optimizer == "sgd" or not k.endswith(NOISE)]
    assert [got["state"][k] for k in firm] == pytest.approx([want["state"][k] for k in firm], rel=2e-3, abs=5e-3 if optimizer == "adamw" else 1e-4)
