"""Transformers with the masks that programs make."""

from __future__ import annotations

import mindtorch_v2 as torch
from mindtorch_v2 import nn


def test_a_bool_mask_hides_what_comes_later():
    torch.manual_seed(0)
    model = nn.Transformer(8, 2, 1, 1, 16, dropout=0.0, batch_first=True).eval()
    source, target = torch.randn(1, 4, 8), torch.randn(1, 3, 8)
    hidden = torch.triu(torch.ones(3, 3, dtype=torch.bool), diagonal=1)
    assert hidden.tolist() == [[False, True, True], [False, False, True], [False, False, False]]
    out = model(source, target, tgt_mask=hidden)
    as_numbers = model(source, target, tgt_mask=torch.zeros(3, 3).masked_fill(hidden, float("-inf")))
    assert torch.equal(out, as_numbers)
    changed = target.clone()
    changed[0, 2] += 1.0
    assert torch.equal(model(source, changed, tgt_mask=hidden)[0, :2], out[0, :2])
