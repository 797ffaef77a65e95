"""Trains a small model with DistributedDataParallel in several ways; the weights of each go to a JSON file for each
process.
"""

import json
import sys

import torch
import torch.distributed as dist
from torch import nn
from torch.distributed.algorithms.ddp_comm_hooks import default_hooks
from torch.distributed.optim import ZeroRedundancyOptimizer
from torch.nn.parallel import DistributedDataParallel

dist.init_process_group("gloo")
rank, size = dist.get_rank(), dist.get_world_size()


class Net(nn.Module):
    """Two layers, and one that is used only when asked for."""

    def __init__(self):
        super().__init__()
        self.first, self.second, self.spare = nn.Linear(4, 8), nn.Linear(8, 2), nn.Linear(4, 2)

    def forward(self, x, spare=True):
        y = self.second(self.first(x).tanh())
        return y + self.spare(x) if spare else y


def batch(step):
    generator = torch.Generator().manual_seed(step)
    x, y = torch.randn(12, 4, generator=generator), torch.randn(12, 2, generator=generator)
    share = 12 // size
    return x[rank * share : (rank + 1) * share], y[rank * share : (rank + 1) * share]


def train(spare=True, accumulate=1, zero=False, hook=None, **options):
    torch.manual_seed(rank)  # processes begin apart: the first one's weights count
    net = Net()
    model = DistributedDataParallel(net, **options)
    if hook is not None:
        model.register_comm_hook(None, hook)
    optimizer = (
        ZeroRedundancyOptimizer(net.parameters(), torch.optim.Adam, lr=0.1)
        if zero
        else torch.optim.Adam(net.parameters(), lr=0.1)
    )
    for step in range(4):
        optimizer.zero_grad()
        for part in range(accumulate):
            x, y = batch(step * accumulate + part)
            loss = lambda: ((model(x, spare) - y) ** 2).mean() / accumulate  # noqa: E731, B023
            if part < accumulate - 1:
                with model.no_sync():
                    loss().backward()
            else:
                loss().backward()
        optimizer.step()
    return [value for p in net.parameters() for value in p.detach().flatten().tolist()]


made = {
    "plain": train(),
    "small buckets": train(bucket_cap_mb=0.0001),
    "accumulated": train(accumulate=2),
    "zero": train(zero=True),
    "unused": train(spare=False, find_unused_parameters=True),
    "static": train(spare=False, static_graph=True),
    "hook": train(hook=default_hooks.allreduce_hook),
    "half": train(hook=default_hooks.fp16_compress_hook),
}
torch.manual_seed(0)
rows = DistributedDataParallel(nn.Embedding(7, 2, sparse=True))
optimizer = torch.optim.SGD(rows.parameters(), lr=0.3)
(rows(torch.tensor([rank, 5])) * (rank + 1)).sum().backward()
optimizer.step()
gradient = rows.module.weight.grad
made["sparse"] = [gradient.is_sparse, gradient.coalesce().indices().tolist(), rows.module.weight.tolist()]
net = Net()
try:
    model = DistributedDataParallel(net)
    for _ in range(2):
        model(torch.ones(1, 4), False).sum().backward()
except RuntimeError as error:
    made["complaint"] = str(error)
with open(f"{sys.argv[-1]}/rank{rank}.json", "w") as file:
    json.dump(made, file)
dist.barrier()
