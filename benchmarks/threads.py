"""What does a second thread gain on large tensors?"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from common import best_of, implementations, row


def _call(function: str, *shape: int, **options: Any) -> Callable[[Any], Callable[[], Any]]:
    def setup(torch: Any) -> Callable[[], Any]:
        x = torch.randn(*shape)
        call = getattr(torch, function, None) or getattr(torch.nn.functional, function)
        return lambda: call(x, **options)

    return setup


def _layer_norm(torch: Any) -> Callable[[], Any]:
    layer, x = torch.nn.LayerNorm(1024), torch.randn(2048, 1024)
    return lambda: layer(x)


def _matmul(torch: Any) -> Callable[[], Any]:
    a, b = torch.randn(768, 768), torch.randn(768, 768)
    return lambda: a @ b


def _adam(torch: Any) -> Callable[[], Any]:
    parameter = torch.randn(2_000_000, requires_grad=True)
    parameter.grad = torch.randn(2_000_000)
    return torch.optim.Adam([parameter], fused=True).step


CASES: dict[str, Callable[[Any], Callable[[], Any]]] = {
    "softmax 2048x2048": _call("softmax", 2048, 2048, dim=-1),
    "gelu 4M": _call("gelu", 4_000_000),
    "layer_norm 2048x1024": _layer_norm,
    "sum 2048x2048, last dim": _call("sum", 2048, 2048, dim=-1),
    "Adam 2M (fused)": _adam,
    "matmul 768": _matmul,
}


def _with_threads(torch: Any, count: int, call: Callable[[], Any]) -> Callable[[], Any]:
    def run() -> None:
        torch.set_num_threads(count)  # below a microsecond beside milliseconds of work
        call()

    return run


def measure() -> list[dict[str, Any]]:
    found = implementations()
    rows = []
    for what, setup in CASES.items():
        works = {name: setup(torch) for name, torch in found.items()}
        times = best_of(
            {
                f"{name} {count}": _with_threads(found[name], count, work)
                for name, work in works.items()
                for count in (1, 2)
            },
            seconds=3.0,
            rounds=40,
        )
        gains = {name: times[f"{name} 1"] / times[f"{name} 2"] for name in found}
        for count in (1, 2):
            note = f", gain {gains['mindtorch_v2']:.2f}x (torch {gains['torch']:.2f}x)" if count == 2 else ""
            rows.append(
                row(
                    f"{what}, {count} thread{'s' * (count > 1)}{note}",
                    {name: times[f"{name} {count}"] for name in found},
                    2.0,
                )
            )
    for torch in found.values():
        torch.set_num_threads(1)
    return rows
