"""Which modules are under way, in forward and in backward."""

from __future__ import annotations

import mindtorch_v2 as torch
from mindtorch_v2 import nn
from mindtorch_v2.utils.module_tracker import ModuleTracker


def test_parents_in_both_passes():
    tracker, seen = ModuleTracker(), []

    class Telling(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            seen.append(("forward", sorted(tracker.parents), tracker.is_bw))
            return x * 1

        @staticmethod
        def backward(ctx, grad):
            seen.append(("backward", sorted(tracker.parents), tracker.is_bw))
            return grad

    class Inner(nn.Module):
        def __init__(self):
            super().__init__()
            self.layer = nn.Linear(2, 2)

        def forward(self, x):
            return Telling.apply(self.layer(x))

    model = nn.Sequential(Inner(), nn.Sequential(Inner()))
    with tracker:
        out = model(torch.ones(1, 2))
        assert tracker.parents == {"Global"}
        out.sum().backward()
        assert tracker.parents == {"Global"} and not tracker.is_bw
    first, second = ["Global", "Sequential", "Sequential.0"], ["Global", "Sequential", "Sequential.1", "Sequential.1.0"]
    assert seen[:2] == [("forward", first, False), ("forward", second, False)]
    assert [name for name, _, _ in seen[2:]] == ["backward", "backward"] and all(back for _, _, back in seen[2:])
    assert seen[2][1] == second and set(first) <= set(seen[3][1])
    model(torch.ones(1, 2))
    assert len(seen) == 6 and tracker.parents == {"Global"}
