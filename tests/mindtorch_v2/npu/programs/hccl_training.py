"""Trains a model on NPUs with DistributedDataParallel under a profile; losses, weights and events go to a JSON file."""

import json
import os
import sys

import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel

rank = int(os.environ["LOCAL_RANK"])
torch.npu.set_device(rank)
dist.init_process_group("hccl")
size = dist.get_world_size()


def build(seed):
    torch.manual_seed(seed)
    return nn.Sequential(nn.Linear(4, 8), nn.Tanh(), nn.Linear(8, 2)).npu()


def batch(step):
    generator = torch.Generator().manual_seed(step)
    return torch.randn(12, 4, generator=generator), torch.randn(12, 2, generator=generator)


def train(model, own):
    optimizer, losses = torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9), []
    for step in range(3):
        x, y = (t[own] for t in batch(step))
        if not isinstance(model, DistributedDataParallel):  # which moves its inputs itself
            x = x.npu()
        loss = ((model(x) - y.npu()) ** 2).mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    return losses, [value for p in model.parameters() for value in p.detach().cpu().flatten().tolist()]


alone = train(build(0), slice(None))
share = 12 // size
with torch.profiler.profile() as prof:
    model = DistributedDataParallel(
        build(rank), device_ids=[rank], bucket_cap_mb=0.0001
    )  # the first one's weights count
    together = train(model, slice(rank * share, (rank + 1) * share))
prof.save(f"{sys.argv[-1]}/rank{rank}.mindprof")
kernels = [e.name for e in prof.events() if e.name.startswith("hcom_")]
calls = sorted({e.name for e in prof.events() if e.name.startswith(("hccl:", "Hccl"))})
dist.destroy_process_group()
with open(f"{sys.argv[-1]}/rank{rank}.json", "w") as file:
    json.dump({"alone": alone, "together": together, "kernels": kernels, "calls": calls}, file)
