"""`fully_shard` with DTensors, tied weights, other types, copies and tensor parallelism: equal to one process."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

import mindtorch_v2 as torch
from mindtorch_v2 import nn
from mindtorch_v2.distributed.checkpoint import Stateful
from mindtorch_v2.distributed.checkpoint.format_utils import dcp_to_torch_save, torch_save_to_dcp

SIZE = 4
# AdamW divides by the gradient's size, so that an error of one unit in a gradient moves a weight by the learning rate
# times the gradient's relative error; five steps of sums of 48 terms.
TOLERANCE = 5 * 0.1 * 48 * 64 * 2.0**-24


class _Net(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.embed = nn.Embedding(6, 4)
        self.up, self.down = nn.Linear(4, 8), nn.Linear(8, 4)
        self.out = nn.Linear(4, 6, bias=False)
        self.out.weight = self.embed.weight

    def forward(self, x: Any) -> Any:
        return self.out(self.down(self.up(self.embed(x)).tanh()))


def _alone(steps: int, clip: float = 0.3) -> tuple[list[float], list[float]]:
    """The norms and the weights of the same training in one process."""
    torch.manual_seed(0)
    net, norms = _Net(), []
    optimizer = torch.optim.AdamW(net.parameters(), lr=0.1)
    for step in range(steps):
        x = torch.randint(0, 6, (8,), generator=torch.Generator().manual_seed(step))
        y = torch.randn(8, 6, generator=torch.Generator().manual_seed(step))
        optimizer.zero_grad()
        ((net(x) - y) ** 2).mean().backward()
        norms.append(float(nn.utils.clip_grad_norm_(net.parameters(), clip)))
        optimizer.step()
    return norms, _flat(net)


def _flat(net: nn.Module) -> list[float]:
    return [value for _, p in sorted(net.named_parameters()) for value in p.detach().flatten().tolist()]


def _tensor_parallel() -> tuple[list[float], list[float]]:
    torch.manual_seed(0)
    net, norms = nn.Sequential(nn.Linear(4, 8), nn.Tanh(), nn.Linear(8, 6)), []
    optimizer = torch.optim.SGD(net.parameters(), lr=0.5)
    for step in range(3):
        optimizer.zero_grad()
        (net(torch.randn(4, 4, generator=torch.Generator().manual_seed(step))) ** 2).mean().backward()
        norms.append(float(nn.utils.clip_grad_norm_(net.parameters(), 0.2)))
        optimizer.step()
    return norms, _flat(net)


def test_a_checkpoint_and_a_file_become_each_other(tmp_path: Path) -> None:
    torch.manual_seed(0)
    net = _Net()
    optimizer = torch.optim.AdamW(net.parameters(), lr=0.1)
    net(torch.tensor([1, 2])).sum().backward()
    optimizer.step()
    state = {"net": net.state_dict(), "optimizer": optimizer.state_dict(), "notes": [1, {"a": [2, torch.ones(2)]}]}
    torch.save(state, tmp_path / "a.pt")
    torch_save_to_dcp(tmp_path / "a.pt", tmp_path / "folder")
    dcp_to_torch_save(tmp_path / "folder", tmp_path / "b.pt")
    found = torch.load(tmp_path / "b.pt")
    assert list(found["optimizer"]["state"]) == [0, 1, 2, 3, 4] and isinstance(found["optimizer"]["param_groups"], list)
    assert found["notes"][0] == 1 and found["notes"][1]["a"][0] == 2 and found["notes"][1]["a"][1].tolist() == [1, 1]
    other = _Net()
    other.load_state_dict(found["net"])
    again = torch.optim.AdamW(other.parameters(), lr=0.5)
    again.load_state_dict(found["optimizer"])
    assert _flat(other) == _flat(net) and again.param_groups[0]["lr"] == 0.1
    assert torch.equal(again.state[other.up.weight]["exp_avg"], optimizer.state[net.up.weight]["exp_avg"])
    assert isinstance(net, Stateful) and isinstance(optimizer, Stateful) and not isinstance(state, Stateful)


def test_parameters_that_are_spread_as_dtensors_train_as_in_one_process(run_ranks: Callable[..., list[Any]]) -> None:
    norms, weights = _alone(3)
    torch.manual_seed(0)
    rows = (2 * _Net().embed.weight.sum(0)).tolist()
    _, on = _alone(5)
    _, unclipped = _alone(3, 1e9)
    both_norms, both = _tensor_parallel()
    for rank, made in enumerate(run_ranks("spread.py", SIZE)):
        assert made["kinds"] and made["tied"] and made["both loaded"]
        assert made["state"] == ["Tensor", "DTensor", "DTensor"]  # the step, and the two moments
        np.testing.assert_allclose(made["norms"], norms, rtol=TOLERANCE)
        for name in ("plain", "copies"):
            np.testing.assert_allclose(made[name], weights, rtol=0, atol=TOLERANCE, err_msg=name)
        for name in ("plain", "given", "pickled", "late"):
            np.testing.assert_allclose(made[f"{name} goes on"], on, rtol=0, atol=TOLERANCE, err_msg=name)
            assert made[f"{name} goes on"] == made["plain goes on"]
        assert made["wrong"].endswith("was not written: 'x' is float32 [3] on rank 1, and float32 [2] before")
        # a state dict has the tied weight by both its names
        np.testing.assert_allclose(sorted(set(made["hybrid"])), sorted(set(unclipped)), rtol=0, atol=TOLERANCE)
        assert made["full"] == ([6, 2] if rank == 0 else [0, 0])
        assert made["types"] == [f"torch.{t}" for t in ("bfloat16", "float64", "float32", "float32", "bfloat16")]
        # The gradient of the sum over all 6 outputs of 2 samples is 2 times the sum of the weight's rows, which bfloat16
        # rounds 6 times for each, with weights below 3.
        np.testing.assert_allclose(made["half"], rows, rtol=0, atol=2 * 6 * 3 * 2.0**-8)
        assert made["local"] == [2, 4]  # a quarter of the rows: half of the columns' half
        np.testing.assert_allclose(made["both norms"], both_norms, rtol=2.0**-24 * 48 * 64)
        np.testing.assert_allclose(made["both"], both, rtol=0, atol=3 * 0.5 * 48 * 64 * 2.0**-24)
