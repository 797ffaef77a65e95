"""A tensor that a call has just made has version 0, whatever ops filled it, with a profile and without."""

from __future__ import annotations

import pytest

import mindtorch_v2 as torch
from mindtorch_v2 import nn
from mindtorch_v2.profiler import profile

F = nn.functional
x = torch.tensor([[0.5, -1.0, 2.0]] * 3)
mask = x > 0
rows = torch.zeros(1, 3, dtype=torch.int64)

# PyTorch's `_version` of each is 0.
MADE = {
    "zeros": lambda: torch.zeros(3),
    "ones": lambda: torch.ones(3, dtype=torch.int64),
    "full": lambda: torch.full((3,), 2),
    "rand": lambda: torch.rand(3),
    "randn_like": lambda: torch.randn_like(x),
    "randint": lambda: torch.randint(0, 3, (3,)),
    "bernoulli": lambda: torch.bernoulli(x.sigmoid()),
    "new_full": lambda: x.new_full((3,), 2.0),
    "clone": lambda: x.clone(),
    "contiguous": lambda: x.t().contiguous(),
    "double": lambda: x.double(),
    "type": lambda: x.type(torch.int32),
    "full_like": lambda: torch.full_like(x, 1),
    "dropout": lambda: F.dropout(x),
    "pad": lambda: F.pad(x, (1, 1)),
    "index_put": lambda: x.index_put((torch.tensor([0]),), torch.tensor(1.0)),
    "index_fill": lambda: x.index_fill(0, rows[0], 1.0),
    "put": lambda: x.put(torch.tensor([0]), torch.tensor([1.0])),
    "masked_fill": lambda: x.masked_fill(mask, 0),
    "masked_scatter": lambda: x.masked_scatter(mask, x),
    "slice_scatter": lambda: torch.slice_scatter(x, x[:1], 0, 0, 1),
    "diag_embed": lambda: torch.diag_embed(x),
    "block_diag": lambda: torch.block_diag(x, x),
    "hann_window": lambda: torch.hann_window(4),
    "rot90": lambda: torch.rot90(x),
    "mean": lambda: x.mean(0),
    "bce": lambda: F.binary_cross_entropy_with_logits(x, x.sigmoid()),
}


@pytest.mark.parametrize("name", MADE)
def test_a_new_tensor_has_version_0(name: str) -> None:
    assert MADE[name]()._version == 0
    for options in ({}, {"record_shapes": True, "profile_memory": True, "with_stack": True}):
        with profile(**options):
            made = MADE[name]()
        assert made._version == 0


@pytest.mark.parametrize("observed", [False, True])
def test_writes_to_tensors_that_a_call_gives_back_still_count(observed: bool) -> None:
    """`to`, `contiguous` and dropout in evaluation may return their argument, and `select_scatter` takes one."""
    with profile() if observed else torch.no_grad():
        y = torch.zeros(3, 3)
        y.add_(1)
        assert y.to(torch.float32)._version == 1
        assert y.contiguous()._version == 1
        assert F.dropout(y, training=False)._version == 1
        assert y.reshape(9)._version == 1
        assert y._version == 1


def test_what_a_graph_has_saved_is_still_guarded() -> None:
    w = torch.ones(3, requires_grad=True)
    with profile():
        made = w.clone()
        loss = (made * made).sum()
        assert made._version == 0
        made.add_(1)
    with pytest.raises(RuntimeError, match="is at version 1; expected version 0"):
        loss.backward()
