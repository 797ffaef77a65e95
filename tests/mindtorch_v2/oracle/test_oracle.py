"""Every oracle case answers as PyTorch did."""

from __future__ import annotations

import importlib
import warnings

import pytest

import mindtorch_v2 as torch
from mindtorch_v2.profiler import _ExperimentalConfig, profile

from . import harness, replay

FAMILIES = replay.FAMILIES


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


@pytest.mark.parametrize("family", FAMILIES)
def test_a_profile_changes_no_answer(family):
    """An observed call may take other steps than an unobserved one; its answer is the same."""
    wrong = []
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        with profile(
            record_shapes=True,
            profile_memory=True,
            with_stack=True,
            with_flops=True,
            with_modules=True,
            experimental_config=_ExperimentalConfig(capture_overload_names=True),
        ) as prof:
            for case, want in replay.cases_of(family):
                try:
                    harness.compare(case, harness.observe(torch, case), want)
                except (AssertionError, KeyError) as error:
                    wrong.append((case.id, error))
    assert not wrong
    assert prof.validate() == []
