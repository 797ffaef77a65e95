"""Every collective once, with values that tell who sent what; the results go to a JSON file for each process."""

import json
import os
import sys

import torch
import torch.distributed as dist

dist.init_process_group("gloo")
rank, size = dist.get_rank(), dist.get_world_size()
made = {"ranks": [rank, size, int(os.environ["RANK"]), int(os.environ["LOCAL_RANK"]), int(os.environ["WORLD_SIZE"])]}


def note(name, value):
    made[name] = value.tolist() if isinstance(value, torch.Tensor) else value


# --- reductions in every type
for name in ("float32", "float64", "float16", "bfloat16", "int64", "int32", "int16", "uint8", "complex64"):
    x = torch.arange(3).to(getattr(torch, name)) + rank
    dist.all_reduce(x)
    note(f"sum {name}", torch.view_as_real(x) if name == "complex64" else x.float())
    assert x.dtype is getattr(torch, name)
for name in ("MIN", "MAX", "PRODUCT", "AVG"):
    x = torch.tensor([1.0, 2.0]) + rank
    dist.all_reduce(x, op=getattr(dist.ReduceOp, name))
    note(name, x)
for name in ("BAND", "BOR", "BXOR"):
    x = torch.tensor([1 << rank, 7])
    dist.all_reduce(x, op=getattr(dist.ReduceOp, name))
    note(name, x)
flags = torch.tensor([rank == 0, True, False])
dist.all_reduce(flags)
note("any", flags)

# --- layouts
grid = torch.zeros(2, 3)
column = grid[:, 1]
column += rank + 1
dist.all_reduce(column)
note("strided", grid)
empty = torch.empty(0, 3)
dist.all_reduce(empty)
version = grid._version
dist.broadcast(grid, 0)
note("versions", grid._version > version or rank == 0)

# --- parts
x = torch.full((2,), float(rank))
dist.broadcast(x, src=size - 1)
note("broadcast", x)
x = torch.full((2,), float(rank + 1))
dist.reduce(x, dst=1)
note("reduce", x)
parts = [torch.empty(2, 2) for _ in range(size)]
dist.all_gather(parts, torch.arange(4.0).reshape(2, 2).t() + 10 * rank)
note("all_gather", torch.stack(parts))
joined = torch.empty(2 * size, dtype=torch.bool)
dist.all_gather_into_tensor(joined, torch.tensor([rank % 2 == 0, True]))
note("all_gather_into_tensor", joined)
part = torch.empty(2)
dist.reduce_scatter_tensor(part, torch.arange(2.0 * size) * (rank + 1))
note("reduce_scatter_tensor", part)
dist.reduce_scatter(part, [torch.full((2,), float(i + rank)) for i in range(size)])
note("reduce_scatter", part)
parts = [torch.empty(1, dtype=torch.int64) for _ in range(size)] if rank == 0 else None
dist.gather(torch.tensor([rank * rank]), parts, dst=0)
note("gather", None if parts is None else torch.cat(parts))
dist.scatter(part, [torch.full((2,), float(i)) for i in range(size)] if rank == 1 else None, src=1)
note("scatter", part)
received = torch.empty(size)
dist.all_to_all_single(received, torch.arange(float(size)) + 10 * rank)
note("all_to_all_single", received)
parts = [torch.empty(i + 1) for i in range(size)]
dist.all_to_all(parts, [torch.full((rank + 1,), float(rank * 10 + i)) for i in range(size)])
note("all_to_all", [p.tolist() for p in parts])

# --- two processes, and several at once
if rank == 0:
    dist.send(torch.arange(4), dst=1, tag=3)
elif rank == 1:
    x = torch.zeros(4, dtype=torch.int64)
    note("received from", dist.recv(x, tag=3))
    note("received", x)
x, y = torch.tensor([rank]), torch.tensor([-1])
works = dist.batch_isend_irecv(
    [dist.P2POp(dist.isend, x, (rank + 1) % size), dist.P2POp(dist.irecv, y, (rank - 1) % size)]
)
for work in works:
    work.wait()
note("ring", y)
x = torch.ones(1000)
work = dist.all_reduce(x, async_op=True)
note("future", work.get_future().then(lambda f: float(f.value()[0].sum())).wait())
note("done", [work.is_completed(), work.is_success()])

# --- groups and objects
pair = dist.new_group([0, size - 1])
x = torch.tensor([float(rank)])
dist.all_reduce(x, group=pair)
note("pair", [x.item(), dist.get_rank(pair), dist.get_world_size(pair)])
objects = [None] * size
dist.all_gather_object(objects, {"rank": rank})
note("objects", objects)
objects = ["from 1", 2] if rank == 1 else [None, None]
dist.broadcast_object_list(objects, src=1)
note("broadcast objects", objects)
mine = [None]
dist.scatter_object_list(mine, [f"for {i}" for i in range(size)] if rank == 0 else None)
note("scattered object", mine[0])
objects = [{"sent": 1}, "two"] if rank == 0 else [None, None]
if rank == 0:
    dist.send_object_list(objects, dst=1)
elif rank == 1:
    dist.recv_object_list(objects, src=0)
note("sent objects", objects)

# --- gradients
from torch.distributed.nn import all_gather, all_reduce  # noqa: E402

w = torch.tensor([1.0, 2.0], requires_grad=True)
(all_reduce(w * (rank + 1)) * (rank + 1)).sum().backward()
note("gradient of all_reduce", w.grad)
w.grad = None
sum((rank + 1) * (i + 1) * part.sum() for i, part in enumerate(all_gather(w))).backward()
note("gradient of all_gather", w.grad)

# --- several at once, parts of different sizes, groups formed by their members alone
with dist._coalescing_manager(async_ops=True) as several:
    dist.all_reduce(x := torch.ones(2))
    dist.all_reduce(y := torch.ones(1) * rank)
several.wait()
dist.all_reduce_coalesced([x, y])
note("coalesced", [x.tolist(), y.tolist()])
part = torch.empty(rank + 1)
dist.reduce_scatter(part, [torch.arange(i + 1.0) * (rank + 1) for i in range(size)])
note("uneven", part)
x = torch.tensor([1 + 2j]).to(torch.complex32)
dist.all_reduce(x)
note("sum complex32", torch.view_as_real(x.to(torch.complex64)))
x = torch.tensor([float(rank)])
if rank > 0:
    for _ in range(2):
        local = dist.new_group([1, 2], use_local_synchronization=True)
        dist.all_reduce(x, group=local)
note("local", x)

# --- results as new tensors
import torch.distributed._functional_collectives as functional  # noqa: E402

x = torch.tensor([[1.0, 2.0, 3.0]]) * (rank + 1)
note("functional sum", functional.wait_tensor(functional.all_reduce(x, "sum", dist.group.WORLD)))
note("functional gather", functional.all_gather_tensor(x, 1, dist.group.WORLD))
note("functional parts", functional.reduce_scatter_tensor(x, "max", 1, dist.group.WORLD))

# --- errors
if rank == 0:  # refused before it begins: the others need not know of it
    try:
        dist.gather(torch.ones(1), dst=0)
    except ValueError as error:
        note("refused", str(error))
for name, call in {
    "twice": lambda: dist.init_process_group("mpi"),
    "nccl": lambda: dist.all_reduce(torch.ones(1), op=dist.ReduceOp.BAND),
    "count": lambda: dist.all_gather([torch.ones(1)], torch.ones(1)),
    "type": lambda: dist.all_reduce([1]),
}.items():
    try:
        call()
    except (RuntimeError, ValueError, TypeError) as error:
        note(f"error {name}", [type(error).__name__, str(error)])
dist.barrier()
dist.destroy_process_group()
note("initialized", dist.is_initialized())
with open(f"{sys.argv[-1]}/rank{rank}.json", "w") as file:
    json.dump(made, file)
