"""Which module is slow? Forward and backward time, memory and FLOPs by nn.Module, as a tree."""

import mindtorch_v2 as torch
from mindtorch_v2 import nn
from mindtorch_v2.profiler import profile

model = nn.TransformerEncoder(nn.TransformerEncoderLayer(64, 4, 256, batch_first=True), 2, enable_nested_tensor=False)
x = torch.randn(8, 32, 64)


def training_step() -> None:
    model(x).square().mean().backward()


training_step()
with profile(with_modules=True, profile_memory=True, with_flops=True) as prof:
    training_step()

report = prof.module_report()
print(report.table())

first = report.find("layers.0")
print(
    f"layers.0: {first.forward_ns / 1e6:.2f} ms forward, {first.backward_ns / 1e6:.2f} ms backward, "
    f"{first.flops / 1e6:.1f} MFLOPs"
)
slowest = max(first.children, key=lambda node: node.forward_ns + node.backward_ns)
print(f"most of it in {slowest.path} ({slowest.type_name})")
