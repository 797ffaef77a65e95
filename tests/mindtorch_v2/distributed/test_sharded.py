"""Spread parameters, checkpoints, meshes and SyncBatchNorm: equal to one process."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import mindtorch_v2 as torch
from mindtorch_v2 import nn
from mindtorch_v2.distributed._mpi import is_installed
from mindtorch_v2.distributed._shards import rows_of
from mindtorch_v2.distributed.checkpoint import CheckpointException, FileSystemReader, load, save

from .conftest import PROGRAMS, launch

SIZE = 4
# Adam divides by the gradient's size, so that an error of one unit in a gradient moves a weight by the learning rate
# times
# the gradient's relative error, at most; four steps of sums of 12 terms.
TOLERANCE = 4 * 0.1 * 12 * 64 * 2.0**-24


class _Net(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.first, self.second, self.scale = nn.Linear(4, 7), nn.Linear(7, 2), nn.Parameter(torch.tensor(1.5))

    def forward(self, x: Any) -> Any:
        return self.second(self.first(x).tanh()) * self.scale


def _batch(step: int) -> tuple[Any, Any]:
    generator = torch.Generator().manual_seed(step)
    return torch.randn(12, 4, generator=generator), torch.randn(12, 2, generator=generator)


def _alone(steps: int = 4) -> _Net:
    torch.manual_seed(0)
    net = _Net()
    optimizer = torch.optim.Adam(net.parameters(), lr=0.1)
    for step in range(steps):
        optimizer.zero_grad()
        x, y = _batch(step)
        ((net(x) - y) ** 2).mean().backward()
        optimizer.step()
    return net


def _flat(net: nn.Module) -> list[float]:
    state = net.state_dict()
    return [value for name in sorted(state) for value in state[name].flatten().tolist()]


def _clipped(order: float) -> tuple[float, list[float]]:
    """The norm of one process's gradients, and the gradients after clipping."""
    net = _alone()
    x, y = _batch(9)
    net.zero_grad()
    ((net(x) - y) ** 2).mean().backward()
    norm = float(nn.utils.clip_grad_norm_(net.parameters(), 0.5, order))
    return norm, [value for p in net.parameters() for value in p.grad.flatten().tolist()]


def test_training_equals_one_process(run_ranks: Callable[..., list[Any]]) -> None:
    everyone = run_ranks("sharded.py", SIZE, "train")
    net = _alone()
    x, y = _batch(9)
    net.zero_grad()
    ((net(x) - y) ** 2).mean().backward()
    norm = float(nn.utils.clip_grad_norm_(net.parameters(), 0.5))
    torch.manual_seed(0)
    layers = nn.Sequential(nn.Linear(4, 3), nn.BatchNorm1d(3))
    inputs = _batch(0)[0].requires_grad_()
    result = layers(inputs)
    (result**3).sum().backward()
    for rank, made in enumerate(everyone):
        lengths = (1, 7, 7, 2, 2)
        assert [shape[0] for shape in made["rows"]] == [rows_of(n, SIZE, rank)[1] for n in lengths]
        assert made["after"] == made["rows"]  # whole parameters are there only while a module runs
        np.testing.assert_allclose(made["fully_shard"], _flat(_alone()), rtol=0, atol=TOLERANCE)
        np.testing.assert_allclose(made["wrapper"], _flat(_alone()), rtol=0, atol=TOLERANCE)
        np.testing.assert_allclose(made["norm"], norm, rtol=2.0**-24 * 64 * 12 + TOLERANCE)
        for order, (norm_of_all, gradients) in made["norms"].items():
            expected, clipped = _clipped(float(order))
            # Gradients are sums of 12 terms, and powers up to the third and their roots multiply relative errors.
            np.testing.assert_allclose(norm_of_all, expected, rtol=2.0**-24 * 64 * 12 * 3 + TOLERANCE)
            np.testing.assert_allclose(gradients, clipped, rtol=0, atol=2.0**-24 * 64 * 12 * 3 + TOLERANCE)
        row, column = divmod(rank, 2)
        assert made["mesh"] == [4.0 * row + 1, 2.0 + 2 * column, [row, column], [column, column + 2], 4]
        part = slice(3 * rank, 3 * rank + 3)
        # Sums of 12 terms of size below 4, and a division by a standard deviation of some tenths.
        np.testing.assert_allclose(made["norm result"], result[part].tolist(), rtol=0, atol=2.0**-24 * 12 * 64)
        np.testing.assert_allclose(made["norm gradient"], inputs.grad[part].tolist(), rtol=0, atol=2.0**-24 * 12 * 640)
        running = layers[1].running_mean.tolist() + layers[1].running_var.tolist() + [1]
        np.testing.assert_allclose(made["running"], running, rtol=0, atol=2.0**-24 * 12 * 64)


def test_a_checkpoint_loads_with_another_number_of_processes_and_survives_a_kill(
    run_ranks: Callable[..., list[Any]], tmp_path: Path
) -> None:
    saved = run_ranks("sharded.py", SIZE, "save")
    for kind in ("kill in metadata", "kill in file"):
        assert launch(SIZE, PROGRAMS / "sharded.py", kind, str(tmp_path)).returncode != 0
    (loaded, *_) = run_ranks("sharded.py", 3, "load")
    assert loaded["values"] == [7, [0, 1, 2], "x"]
    # The first two steps are the checkpoint's, bit by bit; sums over other numbers of processes round differently.
    np.testing.assert_allclose(loaded["weights"], saved[0]["weights"], rtol=0, atol=TOLERANCE)
    known = FileSystemReader(tmp_path / "ck").read_metadata().state_dict_metadata["model.first.weight"]
    assert list(known.size) == [7, 4]
    assert [(c.offsets[0], c.sizes[0]) for c in known.chunks] == [(0, 2), (2, 2), (4, 2), (6, 1)]


def test_one_process_saves_and_loads_without_a_group(tmp_path: Path) -> None:
    net = _alone(1)
    save({"model": net, "n": 3}, checkpoint_id=tmp_path / "a")
    save({"model": net, "n": 4}, checkpoint_id=tmp_path / "a")
    assert sum(name.suffix == ".distcp" for name in (tmp_path / "a").iterdir()) == 1  # that of the first is gone
    torch.manual_seed(5)
    other = _Net()
    state = {"model": other, "n": 0}
    load(state, checkpoint_id=tmp_path / "a")
    assert _flat(other) == _flat(net) and state["n"] == 4
    with pytest.raises(CheckpointException, match="Missing key in checkpoint state_dict: other"):
        load({"other": torch.ones(1)}, checkpoint_id=tmp_path / "a")
    with pytest.raises(
        CheckpointException, match=r"Size mismatch of model.scale: it is \[\] in the checkpoint, and \[2\]"
    ):
        load({"model": {"scale": torch.ones(2)}}, checkpoint_id=tmp_path / "a")
    with pytest.raises(CheckpointException, match="holds no checkpoint"):
        load({"n": 0}, checkpoint_id=tmp_path / "b")


@pytest.mark.skipif(not is_installed(), reason="mpi4py is not installed")
def test_rows_are_spread_as_chunks() -> None:
    for length in range(9):
        for size in range(1, 5):
            parts = [rows_of(length, size, rank) for rank in range(size)]
            assert sum(count for _, count in parts) == length
            chunks = [len(part) for part in torch.arange(length).chunk(size)] if length else []
            assert [count for _, count in parts if count] == chunks
