"""Each process profiles collectives and a training step, and writes a profile and a trace."""

import sys

import torch
from torch import distributed as dist
from torch import nn

folder = sys.argv[1]
dist.init_process_group("gloo")
rank, size = dist.get_rank(), dist.get_world_size()
pair = dist.new_group([0, 1])
torch.manual_seed(0)
model = nn.parallel.DistributedDataParallel(nn.Linear(8, 8))
with torch.profiler.profile() as prof:
    for _ in range(2):
        model(torch.ones(4, 8)).sum().backward()
        prof.step()
    x = torch.ones(1000)
    dist.all_reduce(x)
    dist.broadcast(x, 1)
    dist.all_gather([torch.zeros(10, dtype=torch.int64) for _ in range(size)], torch.ones(10, dtype=torch.int64))
    if rank < 2:
        dist.all_reduce(x, group=pair)
    work = dist.all_reduce(x, async_op=True)
    y = x.new_ones(3) + 1
    work.wait()
    dist.barrier()
prof.save(f"{folder}/rank{rank}.mindprof")
prof.export_chrome_trace(f"{folder}/traces/{rank}.json")
dist.destroy_process_group()
