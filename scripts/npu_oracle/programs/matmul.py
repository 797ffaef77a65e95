"""Matrix products of all ranks, transposed operands, half precision."""

from __future__ import annotations

from typing import Any


def run(torch: Any) -> dict[str, Any]:
    a = (torch.arange(12.0).reshape(3, 4) / 7 - 0.5).npu()
    b = (torch.arange(20.0).reshape(4, 5) / 9 - 1).npu()
    batch = (torch.arange(24.0).reshape(2, 3, 4) / 11 - 1).npu()
    seen = {
        "mm": a @ b,
        "transposed": b.t() @ a.t(),
        "bmm": torch.bmm(batch, batch.transpose(1, 2)),
        "broadcast": batch @ b,
        "addmm": torch.addmm(torch.ones(5).npu(), a, b, beta=0.5, alpha=2),
        "linear": torch.nn.functional.linear(batch, b.t()),
        "half": (a.half() @ b.half()).float(),
        "einsum": torch.einsum("bij,jk->bik", batch, b),
        "baddbmm": torch.baddbmm(torch.ones(2, 3, 3).npu(), batch, batch.transpose(1, 2)),
    }
    return {name: t.cpu().tolist() for name, t in seen.items()}
