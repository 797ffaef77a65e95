"""How long do models of real size take, with one thread and with all, with and without oneDNN?

Every figure is measured in a fresh interpreter for each number of threads, because OpenMP keeps the threads it has
begun with. `--cpu` measures processor time instead of wall time: on a busy machine only that can be compared.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from collections.abc import Callable
from typing import Any, NamedTuple

Run = Callable[[], Any]


class _Gpt:
    """A decoder of 4 layers, width 192, 6 heads, over 256 tokens."""

    WIDTH, HEADS, LENGTH = 192, 6, 128

    def __init__(self, torch: Any) -> None:
        nn, width = torch.nn, self.WIDTH
        self.torch = torch
        torch.manual_seed(0)
        self.embed, self.positions, self.head = (
            nn.Embedding(256, width),
            nn.Embedding(self.LENGTH, width),
            nn.Linear(width, 256),
        )
        self.layers = nn.ModuleList(
            [
                nn.ModuleList(
                    [
                        nn.LayerNorm(width),
                        nn.Linear(width, 3 * width),
                        nn.Linear(width, width),
                        nn.LayerNorm(width),
                        nn.Linear(width, 4 * width),
                        nn.Linear(4 * width, width),
                    ]
                )
                for _ in range(4)
            ]
        )
        self.parts = nn.ModuleList([self.embed, self.positions, self.head, self.layers])

    def __call__(self, tokens: Any) -> Any:
        torch, functional = self.torch, self.torch.nn.functional
        batch, length = tokens.shape
        x = self.embed(tokens) + self.positions(torch.arange(length))
        for norm, qkv, project, norm2, up, down in self.layers:
            heads = [
                part.view(batch, length, self.HEADS, -1).transpose(1, 2) for part in qkv(norm(x)).split(self.WIDTH, 2)
            ]
            mixed = (
                functional.scaled_dot_product_attention(*heads, is_causal=True)
                .transpose(1, 2)
                .reshape(batch, length, self.WIDTH)
            )
            x = x + project(mixed)
            x = x + down(functional.gelu(up(norm2(x))))
        return self.head(x)


def gpt_step(torch: Any, dtype: str = "float32") -> Run:
    """Batch 8, AdamW."""
    model = _Gpt(torch)
    model.parts.to(getattr(torch, dtype))
    optimizer = torch.optim.AdamW(model.parts.parameters(), lr=1e-3)
    tokens, targets = torch.randint(0, 256, (8, 128)), torch.randint(0, 256, (8, 128))

    def step() -> None:
        loss = torch.nn.functional.cross_entropy(model(tokens).view(-1, 256), targets.view(-1))
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()

    return step


def gpt_inference(torch: Any) -> Run:
    """One sequence of 64 tokens."""
    model, tokens = _Gpt(torch), torch.randint(0, 256, (1, 64))
    return _without_grad(torch, lambda: model(tokens))


def _block(nn: Any, inputs: int, outputs: int, stride: int) -> Any:
    main = nn.Sequential(
        nn.Conv2d(inputs, outputs, 3, stride, 1, bias=False),
        nn.BatchNorm2d(outputs),
        nn.ReLU(True),
        nn.Conv2d(outputs, outputs, 3, 1, 1, bias=False),
        nn.BatchNorm2d(outputs),
    )
    short = (
        nn.Sequential(nn.Conv2d(inputs, outputs, 1, stride, bias=False), nn.BatchNorm2d(outputs))
        if stride > 1
        else nn.Identity()
    )
    return nn.ModuleList([main, short])


class _ResNet18:
    def __init__(self, torch: Any) -> None:
        nn = torch.nn
        torch.manual_seed(0)
        self.stem = nn.Sequential(
            nn.Conv2d(3, 64, 7, 2, 3, bias=False), nn.BatchNorm2d(64), nn.ReLU(True), nn.MaxPool2d(3, 2, 1)
        )
        sizes = [
            (64, 64, 1),
            (64, 64, 1),
            (64, 128, 2),
            (128, 128, 1),
            (128, 256, 2),
            (256, 256, 1),
            (256, 512, 2),
            (512, 512, 1),
        ]
        self.blocks = nn.ModuleList([_block(nn, *size) for size in sizes])
        self.end = nn.Sequential(nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(512, 10))
        self.parts, self.relu = nn.ModuleList([self.stem, self.blocks, self.end]), nn.ReLU(True)

    def __call__(self, x: Any) -> Any:
        x = self.stem(x)
        for main, short in self.blocks:
            x = self.relu(main(x) + short(x))
        return self.end(x)


def resnet_step(torch: Any) -> Run:
    """4 images of 64x64, SGD with momentum."""
    model, x, y = _ResNet18(torch), torch.randn(4, 3, 64, 64), torch.randint(0, 10, (4,))
    optimizer = torch.optim.SGD(model.parts.parameters(), lr=0.01, momentum=0.9)

    def step() -> None:
        loss = torch.nn.functional.cross_entropy(model(x), y)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()

    return step


def resnet_inference(torch: Any) -> Run:
    """4 images of 64x64."""
    model, x = _ResNet18(torch), torch.randn(4, 3, 64, 64)
    model.parts.eval()
    return _without_grad(torch, lambda: model(x))


def lstm(torch: Any) -> Run:
    """2 layers of 128, 50 steps, batch 16: forward and backward."""
    model, x = torch.nn.LSTM(128, 128, 2), torch.randn(50, 16, 128)

    def step() -> None:
        model.zero_grad()
        model(x)[0].sum().backward()

    return step


def depthwise(torch: Any) -> Run:
    """A MobileNet block's depthwise convolution, 4x96x28x28: forward and backward."""
    layer, x = torch.nn.Conv2d(96, 96, 3, padding=1, groups=96), torch.randn(4, 96, 28, 28, requires_grad=True)
    return lambda: layer(x).sum().backward()


def gru_cell(torch: Any) -> Run:
    """20 steps of a GRUCell of 64, batch 32: forward and backward."""
    cell, x = torch.nn.GRUCell(64, 64), torch.randn(32, 64)

    def step() -> None:
        h = torch.zeros(32, 64)
        for _ in range(20):
            h = cell(x, h)
        h.sum().backward()

    return step


def _elementwise(name: str) -> Callable[[Any], Run]:
    def build(torch: Any) -> Run:
        x = torch.randn(4 << 20) if name != "sort" else torch.randn(1 << 20)
        calls: dict[str, Run] = {
            "gelu": lambda: torch.nn.functional.gelu(x),
            "exp": x.exp,
            "softmax": lambda: x.view(4096, -1).softmax(-1),
            "layer_norm": lambda: torch.nn.functional.layer_norm(x.view(4096, -1), (1024,)),
            "sum": x.sum,
            "add": lambda: x + x,
            "sort": x.sort,
        }
        return _without_grad(torch, calls[name])

    return build


def _conv(torch: Any) -> Run:
    layer, x = torch.nn.Conv2d(32, 64, 3, padding=1), torch.randn(8, 32, 56, 56, requires_grad=True)
    return lambda: layer(x).sum().backward()


def _mm(dtype: str) -> Callable[[Any], Run]:
    def build(torch: Any) -> Run:
        a, b = (torch.randn(1024, 1024).to(getattr(torch, dtype)) for _ in range(2))
        return _without_grad(torch, lambda: a @ b)

    return build


def graph_layers(torch: Any) -> Run:
    """Messages along 20,000 edges between 2,000 nodes, 64 wide: gather, share by destination, scatter; both ways."""
    torch.manual_seed(0)
    x, edges = torch.randn(2000, 64, requires_grad=True), torch.randint(0, 2000, (2, 20000))
    weight = torch.randn(64, 64, requires_grad=True)

    def step() -> None:
        source, target = edges[0], edges[1]
        h = x @ weight
        messages = h.index_select(0, source)
        scores = (messages * h.index_select(0, target)).sum(-1).exp()
        norms = torch.zeros(2000).index_add(0, target, scores)
        share = scores / norms.gather(0, target)
        spread = target.unsqueeze(-1).expand_as(messages)
        torch.zeros(2000, 64).scatter_add(0, spread, messages * share.unsqueeze(-1)).sum().backward()

    return step


def _without_grad(torch: Any, call: Run) -> Run:
    def run() -> None:
        with torch.no_grad():
            call()

    return run


class Load(NamedTuple):
    """What is measured, and the ratios to PyTorch that are allowed with the default install and with oneDNN."""

    build: Callable[[Any], Run]
    default: float
    fast: float


LOADS: dict[str, Load] = {
    "GPT step": Load(gpt_step, 1.1, 0.95),
    "GPT inference": Load(gpt_inference, 1.1, 0.95),
    "ResNet-18 step": Load(resnet_step, 1.3, 0.95),
    "ResNet-18 inference": Load(resnet_inference, 1.3, 0.95),
    "LSTM 2x128, 16x50": Load(lstm, 1.2, 1.0),
    **{
        f"{name} of 4M": Load(_elementwise(name), 1.0, 0.95)
        for name in ("gelu", "exp", "softmax", "layer_norm", "sum", "add")
    },
    "sort of 1M": Load(_elementwise("sort"), 1.0, 1.0),
    "conv2d 8x32x56x56 by 64x3x3, both ways": Load(_conv, 1.4, 1.0),
    "mm 1024": Load(_mm("float32"), 1.4, 1.0),
    "depthwise conv 4x96x28x28, both ways": Load(depthwise, 1.2, 1.0),
    "GRUCell, 20 steps": Load(gru_cell, 1.2, 1.0),
    "graph layers: gather and scatter, both ways": Load(graph_layers, 1.2, 1.0),
    "mm 1024 in bfloat16": Load(_mm("bfloat16"), 3.0, 1.05),
    "GPT step in bfloat16": Load(lambda torch: gpt_step(torch, "bfloat16"), 3.0, 1.05),
}


def _measure_here(threads: int) -> list[dict[str, Any]]:
    from common import best_of, implementations, row

    modules = implementations()
    for module in modules.values():
        module.set_num_threads(threads)
    fast = modules["mindtorch_v2"].backends.mkldnn.is_available()
    clock = time.process_time if "--cpu" in sys.argv else time.perf_counter
    words = f"{threads} thread{'s' * (threads > 1)}{', oneDNN' * fast}"
    rows = []
    for what, load in LOADS.items():
        calls = {name: load.build(module) for name, module in modules.items()}
        times = best_of(calls, seconds=2.0, rounds=12, clock=clock)
        rows.append(row(f"{what}, {words}", times, load.fast if fast else load.default))
    return rows


def _has_onednn() -> bool:
    code = "import mindtorch_v2 as t, sys; sys.exit(not t.backends.mkldnn.is_available())"
    return subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


def parts() -> list[str]:
    """One thread and all of them, each without and, where it is installed, with oneDNN."""
    counts = sorted({1, len(os.sched_getaffinity(0))})
    return [
        f"{threads} thread{'s' * (threads > 1)}{onednn}"
        for onednn in (["", ", oneDNN"] if _has_onednn() else [""])
        for threads in counts
    ]


def measure(part: str | None = None) -> list[dict[str, Any]]:
    rows: list[dict[str, Any]] = []
    for words in parts() if part is None else [part]:
        threads = words.partition(" ")[0]
        environment = {**os.environ, **{f"{name}_NUM_THREADS": threads for name in ("OMP", "OPENBLAS", "MKL")}}
        environment["MINDTORCH_ONEDNN"] = "" if words.endswith("oneDNN") else "0"
        command = [sys.executable, __file__, threads, *(["--cpu"] if "--cpu" in sys.argv else [])]
        done = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True, env=environment)
        rows += json.loads(done.stdout.splitlines()[-1])
    return rows


if __name__ == "__main__":
    if len(sys.argv) > 1 and sys.argv[1].isdecimal():
        print(json.dumps(_measure_here(int(sys.argv[1]))))
    else:
        print(*measure(), sep="\n")
