"""How does the time depend on the shape? The same operator, one row per input shape, with FLOPs."""

import mindtorch_v2 as torch
from mindtorch_v2.profiler import profile

small, large = torch.randn(64, 64), torch.randn(256, 256)
small @ small, large @ large

with profile(record_shapes=True, with_flops=True) as prof:
    for _ in range(20):
        small @ small
        large @ large

rows = prof.key_averages(group_by_input_shape=True)
print(rows.table(sort_by="cpu_time_total", row_limit=4, max_shapes_column_width=30))

times = {str(row.input_shapes): row for row in rows if row.key == "aten::mm"}
for shapes, row in times.items():
    print(f"{shapes}: {row.cpu_time:8.1f} us a call, {row.flops / row.cpu_time_total / 1e3:6.2f} GFLOP/s")
a, b = sorted(times.values(), key=lambda row: row.flops)
print(f"{b.flops // a.flops} times the work takes {b.cpu_time / a.cpu_time:.0f} times as long")
