"""Where does memory go? Bytes by operator, memory over time by purpose, and who holds it when most is in use."""

import pathlib

import mindtorch_v2 as torch
from mindtorch_v2 import nn
from mindtorch_v2.profiler import profile

model = nn.Sequential(nn.Linear(256, 512), nn.ReLU(), nn.Linear(512, 512), nn.ReLU(), nn.Linear(512, 10))
optimizer = torch.optim.Adam(model.parameters())
x, y = torch.randn(128, 256), torch.randint(0, 10, (128,))

with profile(profile_memory=True, record_shapes=True, with_stack=True) as prof:
    for _ in range(2):
        optimizer.zero_grad()
        nn.functional.cross_entropy(model(x), y).backward()
        optimizer.step()

print(prof.key_averages().table(sort_by="self_cpu_memory_usage", row_limit=6, max_name_column_width=40))

out = pathlib.Path("demo-out")
out.mkdir(exist_ok=True)
prof.export_memory_timeline(out / "memory.html")
print("held at the peak:")
for holder in prof.mem_tl.holders[:5]:
    print(
        f"  {holder.nbytes / 1024:8.1f} KB  {holder.category.name.lower():16} {holder.name:24} {holder.module:8} "
        f"{holder.line}"
    )
print("the whole picture: open demo-out/memory.html in a browser")
