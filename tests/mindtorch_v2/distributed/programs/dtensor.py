"""Every rule of DTensors against the same computation on whole tensors, with gradients; and a model that is spread."""

import json
import sys

import torch
import torch.distributed as dist
import torch.nn.functional as F
from torch import nn
from torch.distributed.device_mesh import init_device_mesh
from torch.distributed.tensor import DTensor, Partial, Replicate, Shard, distribute_tensor
from torch.distributed.tensor.parallel import (
    ColwiseParallel,
    PrepareModuleInput,
    RowwiseParallel,
    SequenceParallel,
    parallelize_module,
)

dist.init_process_group("gloo")
rank, size = dist.get_rank(), dist.get_world_size()
mesh = init_device_mesh("cpu", (size,))
made = {}
LEFT, RIGHT = (torch.arange(24.0).reshape(4, 6) - 11) / 8, torch.cos(torch.arange(24.0)).reshape(4, 6)
PLACEMENTS = (Shard(0), Shard(1), Replicate())


def differs(a, b):
    """How far apart two tensors are, by the largest element."""
    return float((a - b).abs().max() / b.abs().max().clamp(min=1))


def worst(function, *placements):
    """The largest difference from whole tensors, of the result and the gradients."""
    found = []
    wholes = [t.clone().requires_grad_() for t in (LEFT, RIGHT)]
    spread = [distribute_tensor(t, mesh, [p]).detach().requires_grad_() for t, p in zip((LEFT, RIGHT), placements)]
    results = []
    for arguments in (wholes, spread):
        result = function(*arguments)
        result = result.full_tensor() if isinstance(result, DTensor) else result
        (result * torch.sin(torch.arange(1.0, result.numel() + 1)).reshape(result.shape)).sum().backward()
        results.append(result)
    found.append(differs(*results))
    for whole, part in zip(wholes, spread):
        assert (whole.grad is None) == (part.grad is None)
        if part.grad is not None:
            assert part.grad.placements == part.placements
            found.append(differs(part.grad.full_tensor(), whole.grad))
    return max(found)


BOTH = {
    "add": lambda a, b: a + b,
    "mul": lambda a, b: a * b,
    "where": lambda a, b: torch.where(a > 0, a, b),
    "rows": lambda a, b: a * b.sum(0),
    "mm": lambda a, b: a @ b.t(),
    "linear": lambda a, b: F.linear(a, b, b.sum(1)),
    "chain": lambda a, b: (a @ b.t()).sum(0) * 2 - (a @ b.t()).sum(0),
}
ONE = {
    "gelu": lambda a, b: F.gelu(a),
    "sum": lambda a, b: a.sum(),
    "mean": lambda a, b: a.mean(1) + a.mean(),
    "softmax": lambda a, b: F.softmax(a, 1),
    "layer_norm": lambda a, b: F.layer_norm(a, (6,)),
    "view": lambda a, b: a.view(4, 2, 3).transpose(0, 1) * 2,
    "flatten": lambda a, b: a.flatten() + 1,
    "cumsum": lambda a, b: a.cumsum(0),  # no rule: whole tensors
}
made["rules"] = {
    f"{name} {first} {second}": worst(function, first, second)
    for first in PLACEMENTS
    for second in PLACEMENTS
    for name, function in {**BOTH, **(ONE if second == Replicate() else {})}.items()
}

# --- placements
uneven = distribute_tensor(torch.arange(5.0), mesh, [Shard(0)])
made["uneven"] = [uneven.to_local().tolist(), (uneven * 2).tolist(), list(uneven.shape)]
summands = torch.ones(3, requires_grad=True)
joined = DTensor.from_local(summands * (rank + 1), mesh, [Partial()]).redistribute(mesh, [Shard(0)])
joined.full_tensor().sum().backward()
made["partial"] = [joined.tolist(), summands.grad.tolist()]
made["parameter"] = [isinstance(p := nn.Parameter(uneven), c) for c in (nn.Parameter, DTensor)] + [list(p.shape)]
try:
    uneven + torch.ones(5)
except RuntimeError as error:
    made["mixed"] = "mixed torch.Tensor and DTensor" in str(error)


# --- a model
class Model(nn.Module):
    def __init__(self):
        super().__init__()
        self.table, self.norm = nn.Embedding(12, 8), nn.LayerNorm(8)
        self.up, self.down, self.out = nn.Linear(8, 16), nn.Linear(16, 8), nn.Linear(8, 12)

    def forward(self, ids):
        x = self.norm(self.table(ids))
        return self.out(x + self.down(F.gelu(self.up(x))))


def train(plan, **options):
    model = Model()
    for index, p in enumerate(model.parameters()):
        p.data.copy_(torch.sin(torch.arange(float(p.numel())) + index).reshape(p.shape) / 4)
    parallelize_module(model, mesh, plan)
    optimizer = torch.optim.AdamW(model.parameters(), lr=0.01, **options)
    for step in range(3):
        ids = torch.arange(10).reshape(2, 5) * (step + 3) % 12
        loss = F.cross_entropy(model(ids).reshape(-1, 12), (ids.reshape(-1) + 1) % 12)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    return torch.cat(
        [(p.full_tensor() if isinstance(p, DTensor) else p).detach().flatten() for p in model.parameters()]
    )


PLAN = {
    "table": RowwiseParallel(input_layouts=Replicate()),
    "u*": ColwiseParallel(),
    "down": RowwiseParallel(),
    "out": ColwiseParallel(output_layouts=Replicate()),
}
alone = train({})
made["training"] = [differs(train(PLAN), alone), differs(train(PLAN, foreach=False), alone)]

# --- positions spread
layers = nn.Sequential(nn.LayerNorm(8), nn.Linear(8, 16), nn.Linear(16, 8))
for index, p in enumerate(layers.parameters()):
    p.data.copy_(torch.cos(torch.arange(float(p.numel())) + index).reshape(p.shape) / 3)
x = torch.sin(torch.arange(64.0)).reshape(2, 4, 8)
whole = layers(x)
whole.square().sum().backward()
want = [p.grad.clone() for p in layers.parameters()]
parallelize_module(
    layers,
    mesh,
    {
        "0": SequenceParallel(),
        "1": ColwiseParallel(input_layouts=Shard(1)),
        "2": RowwiseParallel(output_layouts=Shard(1)),
    },
)
parallelize_module(layers, mesh, PrepareModuleInput(input_layouts=Shard(1), desired_input_layouts=Shard(1)))
part = layers(x.chunk(size, 1)[rank].contiguous())
part.square().sum().backward()
made["sequence"] = [differs(part, whole.chunk(size, 1)[rank])] + [
    differs(p.grad.full_tensor(), w) for p, w in zip(layers.parameters(), want)
]
with open(f"{sys.argv[-1]}/rank{rank}.json", "w") as file:
    json.dump(made, file)
dist.destroy_process_group()
