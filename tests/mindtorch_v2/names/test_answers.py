"""Modules of absent devices, and settings, answer as PyTorch without a device does."""

from __future__ import annotations

import json
import pathlib

import pytest

import mindtorch_v2 as torch

from .probes import PROBES, answer

ANSWERS = json.loads((pathlib.Path(__file__).parent / "answers.json").read_text())


def test_every_probe_was_recorded():
    assert set(PROBES) == set(ANSWERS)


@pytest.mark.parametrize("probe", PROBES)
def test_the_answer_is_pytorchs(probe):
    assert answer(torch, probe) == ANSWERS[probe]
