"""Which line is slow? Every operator knows the Python calls that led to it."""

import pathlib

import mindtorch_v2 as torch
from mindtorch_v2.profiler import profile


def normalise(x: torch.Tensor) -> torch.Tensor:
    return (x - x.mean(0)) / x.std(0)


def distances(x: torch.Tensor) -> torch.Tensor:
    differences = x[:, None] - x[None]  # makes a large tensor
    return differences.pow(2).sum(-1).sqrt()


def nearest(x: torch.Tensor) -> torch.Tensor:
    return distances(normalise(x)).topk(5, largest=False).indices


points = torch.randn(300, 16)
nearest(points)
with profile(with_stack=True) as prof:
    nearest(points)

print(prof.key_averages(group_by_stack_n=2).table(sort_by="self_cpu_time_total", row_limit=5, max_name_column_width=30))

out = pathlib.Path("demo-out")
out.mkdir(exist_ok=True)
prof.export_stacks(out / "stacks.txt", "self_cpu_time_total")
line = max((out / "stacks.txt").read_text().splitlines(), key=lambda text: int(text.rpartition(" ")[2]))
stack, _, microseconds = line.rpartition(" ")
print(f"slowest line: {stack.split(';')[-1]} with {microseconds} us")
print(
    "flame graph: drop demo-out/stacks.txt on https://www.speedscope.app, or run flamegraph.pl demo-out/stacks.txt > "
    "flame.svg"
)
