"""Functional collectives, gradients of parts of DTensors, local_map, scaled gradients; writes JSON for each process."""

import json
import sys

import torch
import torch.distributed as dist
import torch.distributed._functional_collectives as fc
from torch.distributed.device_mesh import init_device_mesh
from torch.distributed.fsdp.sharded_grad_scaler import ShardedGradScaler
from torch.distributed.tensor import DTensor, Partial, Replicate, Shard, distribute_tensor
from torch.distributed.tensor._utils import compute_local_shape_and_global_offset
from torch.distributed.tensor.experimental import local_map

dist.init_process_group("gloo")
rank, size = dist.get_rank(), dist.get_world_size()
made = {}

# each process has 2 rows for each process
x = (torch.arange(2.0 * size) + 10 * rank).requires_grad_()
moved = fc.all_to_all_single_autograd(x, None, None, dist.group.WORLD)
(moved * (rank + 1)).sum().backward()
made["moved"], made["moved gradient"] = moved.tolist(), x.grad.tolist()
x = torch.full((2,), rank + 1.0, requires_grad=True)
joined = fc.all_gather_tensor_autograd(x, 0, dist.group.WORLD)
(joined * torch.arange(2.0 * size) * (rank + 1)).sum().backward()
made["joined"], made["joined gradient"] = joined.tolist(), x.grad.tolist()
for op in ("sum", "avg"):
    x = (torch.arange(2.0 * size) * (rank + 1)).requires_grad_()
    part = fc.reduce_scatter_tensor_autograd(x, op, 0, dist.group.WORLD)
    (part * (rank + 1)).sum().backward()
    made[op], made[f"{op} gradient"] = part.tolist(), x.grad.tolist()

mesh = init_device_mesh("cpu", (size,))
weight = DTensor.from_local(torch.ones(2), mesh, [Replicate()]).requires_grad_()
(weight.to_local(grad_placements=[Partial()]) * (rank + 1)).sum().backward()
made["summands"] = weight.grad.full_tensor().tolist()
rows = distribute_tensor(torch.arange(4.0), mesh, [Shard(0)]).requires_grad_()
(rows.full_tensor(grad_placements=[Partial()]) * (rank + 1)).sum().backward()
made["whole"] = rows.grad.full_tensor().tolist()


@local_map(out_placements=[Partial()], in_placements=([Shard(0)], None), redistribute_inputs=True)
def summed(t, factor):
    return t.sum() * factor


made["mapped"] = summed(distribute_tensor(torch.arange(4.0), mesh, [Replicate()]), 2.0).full_tensor().item()
made["pair"] = [
    type(t).__name__ for t in local_map(lambda t: (t, 1), ([Shard(0)], None))(distribute_tensor(torch.ones(4), mesh))
]
try:
    local_map(lambda t: t, [Shard(0)], ([Shard(0)],))(distribute_tensor(torch.ones(4), mesh, [Replicate()]))
except ValueError as error:
    made["mismatch"] = str(error)[:47]

made["part"] = compute_local_shape_and_global_offset((5, 3), mesh, [Shard(0)])
model = torch.nn.parallel.DistributedDataParallel(torch.nn.Linear(2, 3), static_graph=True)
facts = model._get_ddp_logging_data()
made["facts"] = [facts["world_size"], facts["static_graph"], facts["total_parameter_size_bytes"], facts["module_name"]]
p = torch.nn.Parameter(torch.ones(1))
optimizer, scaler = torch.optim.SGD([p], lr=1.0), ShardedGradScaler("cpu", init_scale=4.0)
scaler.scale(p.sum() * (float("inf") if rank == 0 else 1.0)).backward()
scaler.step(optimizer)
scaler.update()
made["scale"], made["kept"] = scaler.get_scale(), p.item()
with open(f"{sys.argv[1]}/rank{rank}.json", "w") as out:
    json.dump(made, out)
dist.destroy_process_group()
