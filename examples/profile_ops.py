"""Which operator is slow? A table of all operators of a few training steps, the most expensive first."""

import mindtorch_v2 as torch
from mindtorch_v2 import nn
from mindtorch_v2.profiler import profile, record_function

model = nn.Sequential(
    nn.Conv2d(3, 16, 3, padding=1), nn.ReLU(), nn.MaxPool2d(2), nn.Flatten(), nn.Linear(16 * 16 * 16, 10)
)
optimizer = torch.optim.SGD(model.parameters(), lr=0.01, momentum=0.9)
images, labels = torch.randn(16, 3, 32, 32), torch.randint(0, 10, (16,))


def training_step() -> None:
    with record_function("forward"):
        loss = nn.functional.cross_entropy(model(images), labels)
    with record_function("backward"):
        loss.backward()
    optimizer.step()
    optimizer.zero_grad()


training_step()  # the first step loads code that later ones reuse; leave it out
with profile() as prof:
    for _ in range(5):
        training_step()

rows = prof.key_averages()
print(rows.table(sort_by="self_cpu_time_total", row_limit=10, max_name_column_width=50))

slowest = max((row for row in rows if row.key.startswith("aten::")), key=lambda row: row.self_cpu_time_total)
share = slowest.self_cpu_time_total / rows.self_cpu_time_total
print(
    f"slowest operator: {slowest.key}, {slowest.count} calls, {slowest.cpu_time:.0f} us each, {share:.0%} of all time"
)
