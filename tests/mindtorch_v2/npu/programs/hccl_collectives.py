"""Every collective on NPUs, with types and layouts; what this process got goes to a JSON file."""

import json
import os
import sys

import torch
import torch.distributed as dist

rank = int(os.environ["LOCAL_RANK"])
torch.npu.set_device(rank)
dist.init_process_group("hccl")
size = dist.get_world_size()
made = {"backend": dist.get_backend()}


def device(values, dtype=torch.float32):
    return torch.tensor(values, dtype=dtype).npu()


def listed(*tensors):
    return [t.cpu().tolist() for t in tensors]


for name in ("int8", "int16", "int32", "int64", "uint8", "bool", "float16", "bfloat16", "float32"):
    x = device([rank, 1, 3], getattr(torch, name))
    dist.all_reduce(x)
    made[f"sum {name}"] = [str(x.dtype), *listed(x)]
for op in ("PRODUCT", "MAX", "MIN", "AVG"):
    x = device([1.0 + rank, -2.0])
    dist.all_reduce(x, getattr(dist.ReduceOp, op))
    made[op] = listed(x)
x = (torch.arange(6.0).view(2, 3).npu() + rank).t()
assert not x.is_contiguous()
work = dist.all_reduce(x, async_op=True)
work.wait()
made["strided"] = listed(x)
made["completed"] = (torch.npu.synchronize(), work.is_completed())[1]
made["future"] = listed(dist.all_reduce(device([1.0]), async_op=True).get_future().wait()[0])
x = device([[float(rank)] * 2] * 2).t()
dist.broadcast(x, 1)
made["broadcast"] = listed(x)
x = device([1.0 + rank])
dist.reduce(x, 1)
made["reduce"] = listed(x)
parts = [torch.zeros(2, device="npu") for _ in range(size)]
dist.all_gather(parts, device([rank, 10.0 + rank]))
made["all_gather"] = listed(*parts)
whole = torch.zeros(size, 2, dtype=torch.bool, device="npu")
dist.all_gather_into_tensor(whole, device([[rank == 0, True]], torch.bool))
made["into"] = listed(whole)
x = torch.zeros(2, device="npu")
dist.reduce_scatter_tensor(x, device([1.0, 2.0, 3.0, 4.0]))
made["reduce_scatter_tensor"] = listed(x)
dist.reduce_scatter(x, [device([1.0 + rank, 0.0]), device([5.0, rank])], dist.ReduceOp.MAX)
made["reduce_scatter"] = listed(x)
dist.gather(
    device([float(rank)]),
    [(x := torch.zeros(1, device="npu")), (y := torch.zeros(1, device="npu"))] if rank == 0 else None,
)
made["gather"] = listed(x, y) if rank == 0 else None
x = torch.zeros(1, dtype=torch.int64, device="npu")
dist.scatter(x, [device([7], torch.int64), device([8], torch.int64)] if rank == 1 else None, src=1)
made["scatter"] = listed(x)
outputs = (
    [torch.zeros(1 + r, device="npu") for r in range(size)]
    if rank
    else [torch.zeros(1, device="npu"), torch.zeros(1, device="npu")]
)
dist.all_to_all(
    outputs, [device([10.0 * rank]), device([1.0] * (1 + rank))] if rank else [device([5.0]), device([6.0])]
)
made["all_to_all"] = listed(*outputs)
x = torch.zeros(3 if rank == 0 else 2, 2, device="npu")
rows = torch.arange(10.0).view(5, 2)[: 2 if rank == 0 else 3].npu() + 100 * rank
dist.all_to_all_single(x, rows, [1, 2] if rank == 0 else [1, 1], [1, 1] if rank == 0 else [2, 1])
made["all_to_all_single"] = listed(x)
x = device([1.5 + rank] * 4, torch.float64)  # travels, but is not added
dist.send(x, 1) if rank == 0 else made.update(sender=dist.recv(x, 0))
made["recv"] = listed(x)
x, y = device([float(rank)]), torch.zeros(1, device="npu")
for work in dist.batch_isend_irecv([dist.P2POp(dist.isend, x, 1 - rank), dist.P2POp(dist.irecv, y, 1 - rank)]):
    work.wait()
made["batch"] = listed(y)
dist.barrier()
found = [None] * size
dist.all_gather_object(found, {"rank": rank})
made["objects"] = found
for name, call in {
    "cpu": lambda: dist.all_reduce(torch.ones(2)),
    "float64": lambda: dist.all_reduce(torch.ones(2, dtype=torch.float64, device="npu")),
    "BAND": lambda: dist.all_reduce(torch.ones(2, dtype=torch.int32, device="npu"), dist.ReduceOp.BAND),
}.items():
    try:
        call()
    except RuntimeError as error:
        made[name] = str(error)
both = dist.new_group(backend="cpu:gloo,npu:hccl")
x, y = torch.ones(1), torch.ones(1, device="npu")
dist.all_reduce(x, group=both)
dist.all_reduce(y, group=both)
made["both"] = listed(x, y)
dist.destroy_process_group()
with open(f"{sys.argv[-1]}/rank{rank}.json", "w") as file:
    json.dump(made, file)
