"""Reductions over all and some dimensions, softmax, cumulative sums."""

from __future__ import annotations

from typing import Any


def run(torch: Any) -> dict[str, Any]:
    x = torch.tensor([[3.0, -1.0, 2.0, 0.5], [0.25, 4.0, -2.0, 1.0], [1.0, 1.5, -0.5, 2.5]]).npu()
    whole = torch.arange(12).reshape(3, 4).npu()
    values, places = x.max(1)
    seen = {
        "sum": x.sum(),
        "sum 1": x.sum(1, keepdim=True),
        "mean": x.mean(),
        "mean 0": x.mean(0),
        "amax": x.amax(0),
        "amin": x.amin(1),
        "max": values,
        "places": places,
        "argmax": x.argmax(1),
        "argmin": x.argmin(),
        "all": (x > -3).all(),
        "any": (x > 3).any(1),
        "softmax": x.softmax(1),
        "log_softmax": x.log_softmax(0),
        "cumsum": x.cumsum(1),
        "whole": whole.sum(),
        "min": x.min(),
        "prod of few": x[:, :2].mul(2).sum((0, 1)),
    }
    return {
        name: {"values": t.cpu().tolist(), "dtype": str(t.dtype), "shape": list(t.shape)} for name, t in seen.items()
    }
