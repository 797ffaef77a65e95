"""Trains a small model with hooks and averagers; writes the weights of each way as JSON for each process."""

import json
import sys

import torch
import torch.distributed as dist
from torch import nn
from torch.distributed.algorithms.ddp_comm_hooks import DDPCommHookType, post_localSGD_hook, register_ddp_comm_hook
from torch.distributed.algorithms.ddp_comm_hooks.powerSGD_hook import (
    PowerSGDState,
    batched_powerSGD_hook,
    powerSGD_hook,
)
from torch.distributed.algorithms.model_averaging.averagers import PeriodicModelAverager
from torch.distributed.optim import PostLocalSGDOptimizer
from torch.nn.parallel import DistributedDataParallel

dist.init_process_group("gloo")
rank = dist.get_rank()
STEPS = 6


def train(prepare, averager=None):
    torch.manual_seed(0)
    net = nn.Linear(12, 12)
    model = DistributedDataParallel(net)
    prepare(model)
    optimizer = torch.optim.SGD(net.parameters(), lr=0.1, momentum=0.5)
    if averager is not None:
        optimizer = PostLocalSGDOptimizer(optimizer, averager)
    for step in range(STEPS):
        x = torch.randn(1, 12, generator=torch.Generator().manual_seed(2 * step + rank))
        optimizer.zero_grad()
        (model(x) - x.flip(1)).pow(2).sum().backward()  # of one sample: a gradient of rank 1 in each process
        optimizer.step()
    made["count"] = optimizer.state_dict().get("step", -1)
    return [value for p in net.parameters() for value in p.detach().flatten().tolist()]


def power(hook, rank_of_factors, **options):
    states.append(PowerSGDState(None, rank_of_factors, 2, **options))
    return lambda model: model.register_comm_hook(states[-1], hook)


made, states = {}, []
made["plain"] = train(lambda model: None)
made["power"] = train(power(powerSGD_hook, 2, min_compression_rate=1))
made["cold"] = train(power(powerSGD_hook, 2, min_compression_rate=1, warm_start=False, use_error_feedback=False))
made["batched"] = train(power(batched_powerSGD_hook, 13))
made["rate"] = states[0].compression_stats()
made["half"] = train(lambda model: register_ddp_comm_hook(DDPCommHookType.BF16_COMPRESS, model))
local = post_localSGD_hook.PostLocalSGDState(None, None, 0, post_local_gradient_allreduce=False)
made["local"] = train(
    lambda model: model.register_comm_hook(local, post_localSGD_hook.post_localSGD_hook),
    PeriodicModelAverager(STEPS - 1, warmup_steps=0),
)
with open(f"{sys.argv[1]}/rank{rank}.json", "w") as out:
    json.dump(made, out)
dist.destroy_process_group()
