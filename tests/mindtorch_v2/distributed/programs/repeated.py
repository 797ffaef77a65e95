"""One line that calls all_reduce again and again, of everything."""

import json
import sys
import time

import torch
import torch.distributed as dist

dist.init_process_group("gloo")
rank, size = dist.get_rank(), dist.get_world_size()
pair, every = dist.new_group([0, 1]), dist.new_group(list(range(size)))


def reduced(tensor: torch.Tensor, op: dist.ReduceOp = dist.ReduceOp.SUM, group: dist.ProcessGroup | None = None):
    dist.all_reduce(tensor, op, group)
    return tensor


def refused(*arguments: object) -> str:
    try:
        reduced(*arguments)
    except (RuntimeError, TypeError) as error:
        return f"{type(error).__name__}: {str(error).splitlines()[0]}"
    return ""


found: dict[str, object] = {}
x = torch.full((2, 3), 1.0 + rank)
version = x._version
found["again"] = [reduced(x).clone().tolist() for _ in range(3)]
found["versions"] = x._version - version
found["ops"] = [
    reduced(torch.tensor([1.0 + rank]), op).item()
    for op in (dist.ReduceOp.AVG, dist.ReduceOp.MAX, dist.ReduceOp.AVG, dist.ReduceOp.SUM, dist.ReduceOp.PRODUCT)
]
types = (torch.float64, torch.int64, torch.bfloat16, torch.float32, torch.bool, torch.int64, torch.complex64)
found["types"] = [complex(reduced(torch.ones(1, dtype=dtype)).item()).real for dtype in types]
found["number"] = [reduced(torch.tensor(float(rank))).item() for _ in range(2)]
found["nothing"] = [list(reduced(torch.ones(0, 2)).shape) for _ in range(2)]
strided = torch.full((4, 2), float(rank)).t()[:, ::2]
found["strided"] = [reduced(strided).tolist() for _ in range(2)]
found["groups"] = [reduced(torch.tensor([1.0 + rank]), group=g).item() for g in (None, pair, every, pair)]
found["refused"] = [refused(torch.ones(1), dist.ReduceOp.BAND), refused(torch.ones(1).to_sparse()), refused([1.0])]
late = []
for i in range(4):
    if i == 2 and rank == 1:  # longer than the others ask without a Work
        time.sleep(0.02)
    late.append(reduced(torch.tensor([i + rank])).item())
found["late"] = late
# one process records, another holds Works: the line is the same for all, how they run it is not
profile = torch.profiler.profile() if rank == 0 else None
mixed = []
for i in range(4):
    if profile is not None and i == 1:
        profile.start()
    y = torch.tensor([float(i + rank)])
    if rank == 1 and i > 1:
        work = dist.all_reduce(y, async_op=True)
        work.wait()
    else:
        reduced(y)
    mixed.append(y.item())
if profile is not None:
    profile.stop()
    found["recorded"] = [e.name for e in profile.events() if e.name == "c10d::allreduce_"]
found["mixed"] = mixed
with open(f"{sys.argv[1]}/rank{rank}.json", "w", encoding="ascii") as file:
    json.dump(found, file)
dist.barrier()
dist.destroy_process_group()
