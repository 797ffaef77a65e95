"""How fast are single operations on large tensors?"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from common import best_of, implementations, row

Setup = Callable[[Any], Callable[[], Any]]


def _unary(function: str, *shape: int, **options: Any) -> Setup:
    """`torch.<function>(x)` or `torch.nn.functional.<function>(x)` without gradients."""

    def setup(torch: Any) -> Callable[[], Any]:
        x = torch.randn(*shape)
        call = getattr(torch, function, None) or getattr(torch.nn.functional, function)
        return lambda: call(x, **options)

    return setup


def _backward(function: str, *shape: int, **options: Any) -> Setup:
    """The same with its gradient."""

    def setup(torch: Any) -> Callable[[], Any]:
        x, g = torch.randn(*shape, requires_grad=True), torch.randn(*shape)
        call = getattr(torch.nn.functional, function, None) or getattr(torch, function)

        def run() -> None:
            x.grad = None
            call(x, **options).backward(g)

        return run

    return setup


def _layer_norm(torch: Any) -> Callable[[], Any]:
    layer, x = torch.nn.LayerNorm(512), torch.randn(1024, 512)
    return lambda: layer(x)


def _layer_norm_backward(torch: Any) -> Callable[[], Any]:
    layer, x, g = torch.nn.LayerNorm(512), torch.randn(1024, 512, requires_grad=True), torch.randn(1024, 512)

    def run() -> None:
        x.grad = layer.weight.grad = layer.bias.grad = None
        layer(x).backward(g)

    return run


def _embedding_backward(torch: Any) -> Callable[[], Any]:
    table, index, g = torch.nn.Embedding(10000, 128), torch.randint(0, 10000, (4096,)), torch.randn(4096, 128)

    def run() -> None:
        table.weight.grad = None
        table(index).backward(g)

    return run


def _transposed_copy(torch: Any) -> Callable[[], Any]:
    x = torch.randn(1024, 1024).t()
    return lambda: x.contiguous()


def _batched_transposed_copy(torch: Any) -> Callable[[], Any]:
    x = torch.randn(16, 256, 256).transpose(1, 2)
    return lambda: x.contiguous()


def _in_place(call: Callable[[Any, Any, Any], Any]) -> Setup:
    def setup(torch: Any) -> Callable[[], Any]:
        x, y, z = torch.zeros(1_000_000), torch.randn(1_000_000), torch.rand(1_000_000) + 1
        return lambda: call(x, y, z)

    return setup


def _optimizer(name: str, **options: Any) -> Setup:
    def setup(torch: Any) -> Callable[[], Any]:
        params = [torch.nn.Parameter(torch.randn(512, 1024)) for _ in range(2)]
        for p in params:
            p.grad = torch.randn(512, 1024)
        return getattr(torch.optim, name)(params, lr=1e-3, **options).step

    return setup


def _nll(torch: Any) -> Callable[[], Any]:
    x, y = torch.randn(1024, 100, requires_grad=True), torch.randint(0, 100, (1024,))

    def run() -> None:
        x.grad = None
        torch.nn.functional.cross_entropy(x, y).backward()

    return run


def _max_pool(torch: Any) -> Callable[[], Any]:
    x = torch.randn(16, 32, 64, 64, requires_grad=True)
    g = torch.randn(16, 32, 32, 32)

    def run() -> None:
        x.grad = None
        torch.nn.functional.max_pool2d(x, 2).backward(g)

    return run


def _conv(torch: Any) -> Callable[[], Any]:
    layer, x, g = (
        torch.nn.Conv2d(16, 32, 3, padding=1),
        torch.randn(8, 16, 32, 32, requires_grad=True),
        torch.randn(8, 32, 32, 32),
    )

    def run() -> None:
        x.grad = layer.weight.grad = layer.bias.grad = None
        layer(x).backward(g)

    return run


KERNELS: dict[str, tuple[Setup, float]] = {
    "relu 1M": (_unary("relu", 1000, 1000), 1.3),
    "relu 1M with backward": (_backward("relu", 1000, 1000), 1.3),
    "exp 1M": (_unary("exp", 1000, 1000), 1.3),
    "tanh 1M": (_unary("tanh", 1000, 1000), 1.3),
    "sigmoid 1M": (_unary("sigmoid", 1000, 1000), 1.3),
    "sigmoid 1M with backward": (_backward("sigmoid", 1000, 1000), 1.3),
    "silu 1M": (_unary("silu", 1000, 1000), 1.3),
    "silu 1M with backward": (_backward("silu", 1000, 1000), 1.3),
    "gelu 1M": (_unary("gelu", 1000, 1000), 1.3),
    "gelu 1M with backward": (_backward("gelu", 1000, 1000), 1.3),
    "gelu tanh 1M with backward": (_backward("gelu", 1000, 1000, approximate="tanh"), 1.3),
    "softmax 1024x1000": (_unary("softmax", 1024, 1000, dim=-1), 1.3),
    "softmax 1024x1000 with backward": (_backward("softmax", 1024, 1000, dim=-1), 1.3),
    "log_softmax 1024x1000": (_unary("log_softmax", 1024, 1000, dim=-1), 1.3),
    "log_softmax 1024x1000 with backward": (_backward("log_softmax", 1024, 1000, dim=-1), 1.3),
    "layer_norm 1024x512": (_layer_norm, 1.3),
    "layer_norm 1024x512 with backward": (_layer_norm_backward, 1.3),
    "sum 1M": (_unary("sum", 1_000_000), 1.3),
    "sum 1000x1000 dim -1": (_unary("sum", 1000, 1000, dim=-1), 1.3),
    "sum 1000x1000 dim 0": (_unary("sum", 1000, 1000, dim=0), 1.3),
    "cumsum 1000x1000 dim -1": (_unary("cumsum", 1000, 1000, dim=-1), 1.3),
    "cumsum 1000x1000 dim 0": (_unary("cumsum", 1000, 1000, dim=0), 1.3),
    "embedding 4096x128 with backward": (_embedding_backward, 1.3),
    "transposed copy 1024x1024": (_transposed_copy, 1.5),
    "transposed copy 16x256x256": (_batched_transposed_copy, 1.5),
    "add_ alpha 1M": (_in_place(lambda x, y, z: x.add_(y, alpha=0.5)), 1.3),
    "addcmul_ 1M": (_in_place(lambda x, y, z: x.addcmul_(y, z, value=0.5)), 1.3),
    "addcdiv_ 1M": (_in_place(lambda x, y, z: x.addcdiv_(y, z, value=0.5)), 1.3),
    "lerp_ 1M": (_in_place(lambda x, y, z: x.lerp_(y, 0.1)), 1.3),
    "Adam fused 1M": (_optimizer("Adam", fused=True), 1.3),
    "Adam 1M": (_optimizer("Adam"), 1.3),
    "SGD momentum fused 1M": (_optimizer("SGD", momentum=0.9, fused=True), 1.3),
    "cross_entropy 1024x100 with backward": (_nll, 1.3),
    "max_pool2d 16x32x64x64 with backward": (_max_pool, 1.3),
    "conv2d 8x16x32x32 with backward": (_conv, 1.6),
}


def measure(seconds: float = 1.0) -> list[dict[str, Any]]:
    rows = []
    for what, (setup, limit) in KERNELS.items():
        calls = {name: setup(torch) for name, torch in implementations().items()}
        rows.append(row(what, best_of(calls, seconds=seconds, rounds=40), limit))
    return rows


if __name__ == "__main__":
    for r in measure():
        print(f"{r['what']:40} {r['torch_us']:10.1f} {r['mindtorch_v2_us']:10.1f} {r['ratio']:6.2f}")
