"""Trains in processes of which each has one batch more than the one before; weights go to a JSON file for each."""

import json
import sys

import torch
import torch.distributed as dist
from torch import nn
from torch.distributed.algorithms.join import Join, Joinable, JoinHook
from torch.distributed.optim import ZeroRedundancyOptimizer
from torch.nn.parallel import DistributedDataParallel

dist.init_process_group("gloo")
rank = dist.get_rank()


class Net(nn.Module):
    """Two layers, of which the second is used by the last process only, and one that nobody uses."""

    def __init__(self):
        super().__init__()
        self.first, self.second, self.third = nn.Linear(3, 2), nn.Linear(3, 2), nn.Linear(3, 2)
        self.register_buffer("seen", torch.zeros(1))

    def forward(self, x):
        self.seen += 1
        return self.first(x) + (self.second(x) if rank == 2 else 0)


def batch(step):
    return torch.randn(4, 3, generator=torch.Generator().manual_seed(10 * rank + step))


def train(kind=None, accumulate=False, context=None, **options):
    torch.manual_seed(0)
    net = Net()
    model = DistributedDataParallel(net, find_unused_parameters=True)
    if kind is ZeroRedundancyOptimizer:
        optimizer = kind(net.parameters(), torch.optim.Adam, lr=0.1)
        context = Join([model, optimizer], **options)
    else:
        optimizer = (kind or torch.optim.SGD)(net.parameters(), lr=0.1)
        context = model.join(**options)
    with context:
        for step in range(2 * rank):
            if accumulate and step % 2 == 0:
                with model.no_sync():
                    (model(batch(step)) ** 2).mean().backward()
                continue
            (model(batch(step)) ** 2).mean().backward()
            optimizer.step()
            optimizer.zero_grad()
    return [value for p in net.parameters() for value in p.detach().flatten().tolist()], net.seen.item()


class Counter(Joinable):
    """Counts the inputs of all processes."""

    def __init__(self):
        super().__init__()
        self.count, self.last = torch.zeros(1), None

    def __call__(self):
        Join.notify_join_context(self)
        one = torch.ones(1)
        dist.all_reduce(one)
        self.count += one

    def join_hook(self, **kwargs):
        counter, scale = self, kwargs["scale"]

        class Hook(JoinHook):
            def main_hook(self):
                dist.all_reduce(torch.zeros(1))

            def post_hook(self, is_last_joiner):
                counter.last = [is_last_joiner, scale]

        return Hook()

    @property
    def join_device(self):
        return torch.device("cpu")

    @property
    def join_process_group(self):
        return dist.group.WORLD


def count():
    counter = Counter()
    with Join([counter], scale=3):
        for _ in range(1 + rank):
            counter()
    return [counter.count.item(), *counter.last]


def ended_early():
    model = DistributedDataParallel(nn.Linear(3, 1))
    try:
        with model.join(throw_on_early_termination=True):
            for step in range(1 + rank):
                model(batch(step)).sum().backward()
    except RuntimeError as error:
        return str(error)


made = {
    "plain": train(),
    "effective": train(divide_by_initial_world_size=False),
    "accumulated": train(accumulate=True),
    "adam": train(torch.optim.Adam),
    "zero": train(ZeroRedundancyOptimizer),
    "count": count(),
    "ended": ended_early(),
}
model = DistributedDataParallel(Net(), find_unused_parameters=True)
model(batch(0)).sum().backward()
made["with gradient"] = [p.grad is not None for p in model.parameters()]
with open(f"{sys.argv[-1]}/rank{rank}.json", "w") as file:
    json.dump(made, file)
dist.barrier()
