"""`fully_shard` with DTensors, tied weights, types, copies and tensor parallelism; writes what each process sees."""

import io
import json
import sys

import torch
import torch.distributed as dist
import torch.distributed.checkpoint as dcp
from torch import nn
from torch.distributed.checkpoint.state_dict import (
    StateDictOptions,
    get_model_state_dict,
    get_optimizer_state_dict,
    set_model_state_dict,
    set_optimizer_state_dict,
)
from torch.distributed.device_mesh import init_device_mesh
from torch.distributed.fsdp import (
    FullyShardedDataParallel,
    MixedPrecision,
    MixedPrecisionPolicy,
    ShardingStrategy,
    fully_shard,
)
from torch.distributed.tensor import DTensor, Shard
from torch.distributed.tensor.parallel import ColwiseParallel, RowwiseParallel, parallelize_module

folder = sys.argv[-1]
dist.init_process_group("gloo")
rank, size = dist.get_rank(), dist.get_world_size()
mesh = init_device_mesh("cpu", (2, 2), mesh_dim_names=("dp", "tp"))
made: dict = {}


class Net(nn.Module):
    """An embedding whose weights are those of the output, with a layer between them."""

    def __init__(self):
        super().__init__()
        self.embed = nn.Embedding(6, 4)
        self.up, self.down = nn.Linear(4, 8), nn.Linear(8, 4)
        self.out = nn.Linear(4, 6, bias=False)
        self.out.weight = self.embed.weight

    def forward(self, x):
        return self.out(self.down(self.up(self.embed(x)).tanh()))


def batch(step, share, parts):
    x = torch.randint(0, 6, (8,), generator=torch.Generator().manual_seed(step))
    y = torch.randn(8, 6, generator=torch.Generator().manual_seed(step))
    return x.chunk(parts)[share], y.chunk(parts)[share]


def build(device="cpu"):
    torch.manual_seed(0)
    with torch.device(device):
        return Net()


def train(net, share=rank, parts=size, clip=0.3, steps=range(3), optimizer=None):
    optimizer = optimizer or torch.optim.AdamW(net.parameters(), lr=0.1)
    norms = []
    for step in steps:
        x, y = batch(step, share, parts)
        optimizer.zero_grad()
        ((net(x).float() - y) ** 2).mean().backward()
        norms.append(float(nn.utils.clip_grad_norm_(net.parameters(), clip)))
        optimizer.step()
    return norms, optimizer


def values(net):
    found = {name: p.full_tensor() if isinstance(p, DTensor) else p for name, p in net.named_parameters()}
    return [value for name in sorted(found) for value in found[name].detach().flatten().tolist()]


def shard(net, **options):
    fully_shard(net.up, **options)
    return fully_shard(net, **options)


net = shard(build())
made["kinds"] = all(isinstance(p, DTensor) and p.placements == (Shard(0),) for p in net.parameters())
made["tied"] = net.out.weight is net.embed.weight
made["norms"], optimizer = train(net)
made["plain"] = values(net)
made["state"] = [type(v).__name__ for v in optimizer.state[net.up.weight].values()]

# states: whole ones in the first process, given to all again; of each process's own part; in a checkpoint
whole = StateDictOptions(full_state_dict=True, cpu_offload=True)
full, full_optimizer = get_model_state_dict(net, options=whole), get_optimizer_state_dict(net, optimizer, options=whole)
made["full"] = [len(full), len(full_optimizer)]
given = StateDictOptions(full_state_dict=True, broadcast_from_rank0=True)
other = shard(build("meta"))
set_model_state_dict(other, full, options=given)
again = torch.optim.AdamW(other.parameters(), lr=0.1)
set_optimizer_state_dict(other, again, full_optimizer, options=given)
file = io.BytesIO()
torch.save({"net": net.state_dict(), "optimizer": optimizer.state_dict()}, file)
file.seek(0)
held = torch.load(file, weights_only=False)
third = shard(build())
third.load_state_dict(held["net"])
third_optimizer = torch.optim.AdamW(third.parameters(), lr=0.1)
third_optimizer.load_state_dict(held["optimizer"])
dcp.save({"net": net, "optimizer": optimizer}, checkpoint_id=folder + "/ck")
future = dcp.async_save({"net": net, "optimizer": optimizer, "notes": [1, {"a": 2}]}, checkpoint_id=folder + "/later")
for name, model, own in (("plain", net, optimizer), ("given", other, again), ("pickled", third, third_optimizer)):
    train(model, steps=range(3, 5), optimizer=own)
    made[f"{name} goes on"] = values(model)

future.result()
late = shard(build())
late_optimizer = torch.optim.AdamW(late.parameters(), lr=0.1)
dcp.load({"net": late, "optimizer": late_optimizer}, checkpoint_id=folder + "/later")
train(late, steps=range(3, 5), optimizer=late_optimizer)
made["late goes on"] = values(late)
wrong = dcp.async_save({"x": torch.ones(2 + rank)}, checkpoint_id=folder + "/later")
made["wrong"] = str(wrong.exception())

copies = shard(build(), mesh=mesh)
train(copies)
made["copies"] = values(copies)
hybrid = FullyShardedDataParallel(build(), device_mesh=mesh, sharding_strategy=ShardingStrategy.HYBRID_SHARD)
train(hybrid, clip=1e9)
made["hybrid"] = [v for _, value in sorted(hybrid.state_dict().items()) for v in value.flatten().tolist()]

types = (torch.bfloat16, torch.float32)
half = build()
fully_shard(half.up, mp_policy=MixedPrecisionPolicy(*types))
fully_shard(half, mp_policy=MixedPrecisionPolicy(*types, output_dtype=torch.float64))
half.unshard()
made["types"] = [str(half.embed.weight.dtype)]
half.reshard()
result = half(batch(0, rank, size)[0])
result.sum().backward()
made["types"] += [str(result.dtype), str(half.up.weight.grad.dtype), str(half.up.weight.dtype)]
low = FullyShardedDataParallel(build(), mixed_precision=MixedPrecision(param_dtype=torch.bfloat16))
made["types"].append(str(low(batch(0, rank, size)[0]).dtype))
made["half"] = half.down.bias.grad.full_tensor().tolist()

torch.manual_seed(0)
both = nn.Sequential(nn.Linear(4, 8), nn.Tanh(), nn.Linear(8, 6))
parallelize_module(both, mesh["tp"], {"0": ColwiseParallel(), "2": RowwiseParallel()})
fully_shard(both, mesh=mesh["dp"])
made["local"] = list(both[0].weight.to_local().shape)
optimizer, norms = torch.optim.SGD(both.parameters(), lr=0.5), []
for step in range(3):
    x = torch.randn(4, 4, generator=torch.Generator().manual_seed(step)).chunk(2)[mesh["dp"].get_local_rank()]
    optimizer.zero_grad()
    (both(x) ** 2).mean().backward()
    norms.append(float(nn.utils.clip_grad_norm_(both.parameters(), 0.2)))
    optimizer.step()
made["both"], made["both norms"] = values(both), norms
dcp.save({"both": both}, checkpoint_id=folder + "/both")
before = values(both)
with torch.no_grad():
    for p in both.parameters():
        p.mul_(0)
dcp.load({"both": both}, checkpoint_id=folder + "/both")
made["both loaded"] = values(both) == before
with open(f"{folder}/rank{rank}.json", "w") as out:
    json.dump(made, out)
dist.destroy_process_group()
