"""Every oracle case answers as PyTorch did."""

from __future__ import annotations

import importlib
import pathlib
import warnings

import pytest

import mindtorch_v2 as torch

from . import harness

FAMILIES = sorted(p.stem.removeprefix("cases_") for p in pathlib.Path(__file__).parent.glob("cases_*.py"))


def _cases():
    for family in FAMILIES:
        module = importlib.import_module(f"{__package__}.cases_{family}")
        answers = harness.load(family)
        for case in module.CASES:
            yield pytest.param(case, answers.get(case.id), id=f"{family}-{case.id}")


@pytest.mark.parametrize("case, want", list(_cases()))
def test_answers_as_pytorch(case, want):
    assert want is not None, "not recorded: run scripts/oracle/record.py with torch==2.13.0"
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        got = harness.observe(torch, case)
    if "error" in got and "error" not in want:
        raise AssertionError(f"raised {got['error']}, PyTorch answered {want}")
    harness.compare(case, got, want)
