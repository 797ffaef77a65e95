"""Views, indexing, gathering, scattering, joining."""

from __future__ import annotations

from typing import Any


def run(torch: Any) -> dict[str, Any]:
    x = torch.arange(24.0).reshape(4, 6).npu()
    index = torch.tensor([2, 0, 3]).npu()
    wide = torch.tensor([[0, 1, 2, 0, 1, 2]]).npu()
    written = x.clone()
    written[1] = -1
    written[:, 2] = x[:, 3]
    written[index, index] = 100.0
    seen = {
        "slice": x[1:, ::2] * 1,
        "negative": x[-1],
        "none": x[None, 1].squeeze(0) * 1,
        "rows": x[index],
        "pairs": x[index, index],
        "select": x.index_select(1, index),
        "gather": x.gather(0, wide),
        "scatter_add": x.scatter_add(0, wide, torch.ones(1, 6).npu()),
        "cat": torch.cat([x, x[:1]]),
        "stack": torch.stack([x[0], x[1]], 1),
        "permuted": x.t().contiguous(),
        "reshaped": x.t().reshape(-1),
        "repeated": x[:2, :2].repeat(2, 2),
        "flipped": x.flip(0),
        "tril": x.tril(),
        "masked": x.masked_fill(x > 10, 0.0),
        "written": written,
        "embedding": torch.nn.functional.embedding(index, x),
        "split": torch.split(x, 4, 1)[1] * 1,
        "expanded": x[:, :1].expand(4, 3) + 0,
    }
    return {name: t.cpu().tolist() for name, t in seen.items()}
