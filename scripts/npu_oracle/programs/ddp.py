"""Two processes with an NPU each: collectives over HCCL, and DistributedDataParallel."""

from __future__ import annotations

import json
import os
import socket
import subprocess
import sys
from typing import Any

from client import MARK

from .mlp import fill, losses_of_training

SIZE = 2


def run(torch: Any) -> dict[str, Any]:
    """In the process that the comparison starts: what its two children saw. In one of those: what it sees itself."""
    if "RANK" in os.environ:
        return _rank(torch, int(os.environ["RANK"]))
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    shared = {**os.environ, "MASTER_ADDR": "127.0.0.1", "MASTER_PORT": str(port), "WORLD_SIZE": str(SIZE)}
    started = [
        subprocess.Popen(
            [sys.executable, *sys.argv],
            env={**shared, "RANK": str(rank), "LOCAL_RANK": str(rank)},
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        for rank in range(SIZE)
    ]
    seen = {}
    for rank, process in enumerate(started):
        out, error = process.communicate()
        lines = [line for line in out.splitlines() if line.startswith(MARK)]
        if not lines:
            raise RuntimeError(f"rank {rank} ended with status {process.returncode}: {error[-1500:]}")
        seen[f"rank {rank}"] = json.loads(lines[-1].removeprefix(MARK))
    return seen


def _rank(torch: Any, rank: int) -> dict[str, Any]:
    dist = torch.distributed
    torch.npu.set_device(rank)
    dist.init_process_group("hccl", rank=rank, world_size=SIZE)
    seen = {"collectives": _collectives(torch, rank), "training": _training(torch, rank)}
    dist.barrier()
    dist.destroy_process_group()
    return seen


def _collectives(torch: Any, rank: int) -> dict[str, Any]:
    dist = torch.distributed
    seen: dict[str, Any] = {"backend": dist.get_backend(), "rank": dist.get_rank(), "size": dist.get_world_size()}
    for name in ("float32", "float16", "bfloat16", "int32", "int64"):
        x = (torch.arange(6) + rank).to(getattr(torch, name)).npu()
        dist.all_reduce(x)
        seen[f"sum {name}"] = x.cpu().float().tolist()
    for op in ("MAX", "MIN", "PRODUCT"):
        x = torch.tensor([1.0 + rank, 3.0 - rank]).npu()
        dist.all_reduce(x, getattr(dist.ReduceOp, op))
        seen[op] = x.cpu().tolist()
    x = torch.full((2, 2), float(rank)).npu()
    dist.broadcast(x, 1)
    seen["broadcast"] = x.cpu().tolist()
    whole = torch.zeros(SIZE * 2).npu()
    dist.all_gather_into_tensor(whole, torch.tensor([rank, rank + 10.0]).npu())
    seen["all_gather_into_tensor"] = whole.cpu().tolist()
    part = torch.zeros(2).npu()
    dist.reduce_scatter_tensor(part, torch.arange(4.0).npu() + rank)
    seen["reduce_scatter_tensor"] = part.cpu().tolist()
    parts = [torch.zeros(3).npu() for _ in range(SIZE)]
    dist.all_gather(parts, torch.full((3,), rank + 0.5).npu())
    seen["all_gather"] = [p.cpu().tolist() for p in parts]
    taken = torch.zeros(4).npu()
    dist.all_to_all_single(taken, torch.arange(4.0).npu() + 10 * rank)
    seen["all_to_all_single"] = taken.cpu().tolist()
    x = torch.full((3,), float(rank)).npu()
    dist.send(x, 1) if rank == 0 else dist.recv(x, 0)
    seen["recv"] = x.cpu().tolist()
    work = dist.all_reduce(x, async_op=True)
    work.wait()
    seen["async"] = x.cpu().tolist()
    return seen


def _training(torch: Any, rank: int) -> dict[str, Any]:
    nn = torch.nn
    model = nn.Sequential(nn.Linear(8, 16), nn.ReLU(), nn.Linear(16, 16), nn.Tanh(), nn.Linear(16, 4))
    fill(torch, model)
    with torch.no_grad():
        for p in model.parameters():
            p.add_(rank)  # the weights of the first process count
    model = nn.parallel.DistributedDataParallel(model.npu(), device_ids=[rank])
    x = (torch.arange(160.0).reshape(20, 8) * 0.11).sin()[rank * 10 : rank * 10 + 10].npu()
    y = (torch.arange(20) % 4)[rank * 10 : rank * 10 + 10].npu()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.05, momentum=0.9)
    losses = losses_of_training(torch, model, optimizer, x, y, steps=4)
    return {"losses": losses, "weight": model.module[4].weight.detach().cpu().tolist()}
