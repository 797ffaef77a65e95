"""Seeded models start from PyTorch's weights and train along PyTorch's losses."""
from __future__ import annotations

import json
import pathlib

import pytest

import mindtorch_v2 as torch

from . import models

# Biases whose gradient is zero but for rounding (of keys, and before a batch norm): Adam makes full steps of that noise, so they
# may differ by a few learning rates, and a running mean follows the bias in front of it. Evaluation shows the latter.
_KEYS = {"in_proj_bias": 0.05}
NOISE = {"cnn-adamw": {"0.bias": 0.05, "1.running_mean": 0.02}, "transformer-adamw": _KEYS, "seq2seq-adamw": _KEYS}
NOISY_EVALUATION = {"cnn-adamw": 5e-3}
ANSWERS = json.loads((pathlib.Path(__file__).parent / "data" / "models.json").read_text())


@pytest.mark.parametrize("name", models.MODELS)
@pytest.mark.parametrize("optimizer", models.OPTIMIZERS)
def test_trains_as_pytorch(name: str, optimizer: str) -> None:
    case = f"{name}-{optimizer}"
    want = ANSWERS[case]
    got = models.train(torch, name, optimizer)
    assert got["losses"] == pytest.approx(want["losses"], rel=2e-6)
    assert got["norms"] == pytest.approx(want["norms"], rel=5e-6)
    assert got["eval"] == pytest.approx(want["eval"], rel=NOISY_EVALUATION.get(case, 2e-6))
    assert got["state"].keys() == want["state"].keys()
    for key, value in want["state"].items():
        slack = next((slack for end, slack in NOISE.get(case, {}).items() if key.endswith(end)), 1e-6)
        assert got["state"][key] == pytest.approx(value, rel=2e-5, abs=slack), key
