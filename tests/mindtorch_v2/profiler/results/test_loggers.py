"""The profiler's loggers have PyTorch's names where the program knows the package as torch."""

from __future__ import annotations

import sys

import mindtorch_v2
from mindtorch_v2.profiler import profile
from mindtorch_v2.profiler.results.loggers import logger


def test_names(monkeypatch):
    monkeypatch.delitem(sys.modules, "torch", raising=False)
    assert logger("autograd.profiler").name == "mindtorch_v2.autograd.profiler"
    monkeypatch.setitem(sys.modules, "torch", mindtorch_v2)
    assert logger("autograd.profiler").name == "torch.autograd.profiler"


def test_a_timeout_is_logged_under_pytorchs_name(monkeypatch, caplog):
    monkeypatch.setitem(sys.modules, "torch", mindtorch_v2)
    with profile(post_processing_timeout_s=0.0) as prof:
        mindtorch_v2.ones(2) + 1
    prof.events()
    (record,) = caplog.records
    assert record.name == "torch.autograd.profiler" and "timed out" in record.getMessage()
