"""Spread parameters, checkpoints, meshes and batch statistics of several processes; writes what each process sees as
JSON."""

import json
import sys

import torch
import torch.distributed as dist
import torch.distributed.checkpoint as dcp
from torch import nn
from torch.distributed.checkpoint.state_dict import StateDictOptions, get_model_state_dict
from torch.distributed.device_mesh import init_device_mesh
from torch.distributed.fsdp import FullyShardedDataParallel, fully_shard

from mindtorch_v2.distributed._shards import local, mark, shard_of
from mindtorch_v2.distributed.checkpoint.state_dict import whole as whole_tensor

mode, folder = sys.argv[1], sys.argv[-1]
dist.init_process_group("gloo")
rank, size = dist.get_rank(), dist.get_world_size()
whole = StateDictOptions(full_state_dict=True)
made: dict = {}


class Net(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.first, self.second, self.scale = nn.Linear(4, 7), nn.Linear(7, 2), nn.Parameter(torch.tensor(1.5))

    def forward(self, x):
        return self.second(self.first(x).tanh()) * self.scale


def batch(step: int) -> tuple:
    generator = torch.Generator().manual_seed(step)
    x, y = torch.randn(12, 4, generator=generator), torch.randn(12, 2, generator=generator)
    part = 12 // size
    return x[rank * part : (rank + 1) * part], y[rank * part : (rank + 1) * part]


def train(model, optimizer, steps) -> None:
    for step in steps:
        optimizer.zero_grad()
        x, y = batch(step)
        ((model(x) - y) ** 2).mean().backward()
        optimizer.step()


def flat(state) -> list:
    return [value for name in sorted(state) for value in state[name].flatten().tolist()]


def spread() -> tuple:
    torch.manual_seed(0)
    net = Net()
    fully_shard(net.first)
    fully_shard(net)
    return net, torch.optim.Adam(net.parameters(), lr=0.1)


if mode == "train":
    net, optimizer = spread()
    made["rows"] = [list(local(p).shape) for p in net.parameters()]
    train(net, optimizer, range(4))
    made["fully_shard"] = flat(get_model_state_dict(net, options=whole))
    made["after"] = [list(local(p).shape) for p in net.parameters()]
    torch.manual_seed(0)
    wrapped = FullyShardedDataParallel(Net(), auto_wrap_policy={nn.Linear})
    train(wrapped, torch.optim.Adam(wrapped.parameters(), lr=0.1), range(4))
    made["wrapper"] = flat(wrapped.state_dict())
    wrapped.zero_grad()
    x, y = batch(9)
    ((wrapped(x) - y) ** 2).mean().backward()
    made["norm"] = float(wrapped.clip_grad_norm_(0.5))
    made["norms"] = {}
    for order in (1.0, 2.0, 3.0, float("inf"), float("-inf"), 0.0):
        net.zero_grad()
        ((net(x) - y) ** 2).mean().backward()
        norm = nn.utils.clip_grad_norm_(net.parameters(), 0.5, order)
        parts = [whole_tensor(mark(p.grad, shard_of(p))).flatten().tolist() for p in net.parameters()]
        made["norms"][str(order)] = [float(norm), sum(parts, [])]

    mesh = init_device_mesh("cpu", (size // 2, 2), mesh_dim_names=("dp", "tp"))
    value = torch.tensor(float(rank))
    dist.all_reduce(value, group=mesh.get_group("tp"))
    other = torch.tensor(float(rank))
    dist.all_reduce(other, group=mesh["dp"].get_group())
    made["mesh"] = [float(value), float(other), list(mesh.get_coordinate()), mesh["dp"].mesh.tolist(), mesh.size()]

    torch.manual_seed(0)
    norm = nn.SyncBatchNorm.convert_sync_batchnorm(nn.Sequential(nn.Linear(4, 3), nn.BatchNorm1d(3)))
    x, y = batch(0)
    x = x.requires_grad_()
    result = norm(x)
    (result**3).sum().backward()
    made["norm gradient"] = x.grad.tolist()
    made["norm result"] = result.tolist()
    made["running"] = norm[1].running_mean.tolist() + norm[1].running_var.tolist() + [int(norm[1].num_batches_tracked)]
elif mode == "save":
    net, optimizer = spread()
    train(net, optimizer, range(2))
    dcp.save(
        {"model": net, "optimizer": optimizer, "epoch": 7, "extra": {"a": [torch.arange(3), "x"]}},
        checkpoint_id=folder + "/ck",
    )
    train(net, optimizer, range(2, 4))
    made["weights"] = flat(get_model_state_dict(net, options=whole))
elif mode in ("kill in metadata", "kill in file"):
    import os

    from mindtorch_v2.distributed.checkpoint import _save

    def die(*args) -> None:
        os._exit(3)

    net, optimizer = spread()
    train(net, optimizer, range(3))
    if mode == "kill in metadata" and rank == 0:
        _save.write_metadata = die
    elif mode == "kill in file" and rank == 1:
        _save._bytes_of = die
    dcp.save({"model": net, "optimizer": optimizer, "epoch": 8}, checkpoint_id=folder + "/ck")
elif mode == "load":
    net, optimizer = spread()
    state = {"model": net, "optimizer": optimizer, "epoch": 0, "extra": {"a": [torch.zeros(3, dtype=torch.int64), ""]}}
    dcp.load(state, checkpoint_id=folder + "/ck")
    made["values"] = [state["epoch"], state["extra"]["a"][0].tolist(), state["extra"]["a"][1]]
    train(net, optimizer, range(2, 4))
    made["weights"] = flat(get_model_state_dict(net, options=whole))
with open(f"{folder}/rank{rank}.json", "w") as out:
    json.dump(made, out)
dist.destroy_process_group()
