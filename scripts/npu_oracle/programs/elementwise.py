"""Elementwise arithmetic, types, broadcasting, comparison."""

from __future__ import annotations

from typing import Any


def run(torch: Any) -> dict[str, Any]:
    x = torch.linspace(-2, 2, 12).reshape(3, 4).npu()
    row = torch.tensor([0.5, -1.0, 2.0, 4.0]).npu()
    whole = torch.arange(12).reshape(3, 4).npu()
    seen = {
        "add": x + row,
        "scaled": torch.add(x, row, alpha=3),
        "sub": 1 - x,
        "mul": x * row,
        "div": x / row,
        "pow": x**2,
        "exp": x.exp(),
        "tanh": x.tanh(),
        "sigmoid": x.sigmoid(),
        "relu": x.relu(),
        "clamp": x.clamp(-1, 1),
        "abs": x.abs(),
        "where": torch.where(x > 0, x, row),
        "greater": x > row,
        "equal": whole == 5,
        "both": (x > -1) & (x < 1),
        "int": whole * 3 - 1,
        "mixed": whole + x,
        "cast": x.to(torch.int32),
        "half": (x.half() * 2).float(),
        "maximum": torch.maximum(x, row),
        "addcmul": torch.addcmul(x, x, row, value=0.5),
        "lerp": x.lerp(row.expand(3, 4), 0.25),
    }
    result = {
        name: {"values": t.cpu().tolist(), "dtype": str(t.dtype), "device": str(t.device)} for name, t in seen.items()
    }
    y = torch.ones(4).npu()
    y.add_(2).mul_(3).sub_(1).div_(2)
    result["in place"] = y.tolist()
    return result
