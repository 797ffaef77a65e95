"""What does one small operation cost?"""
from __future__ import annotations

from typing import Any

from common import best_of, implementations, row


def measure() -> list[dict[str, Any]]:
    plain, with_grad, backward = {}, {}, {}
    for name, torch in implementations().items():
        x = torch.ones(4, 4)
        g = torch.ones(4, 4, requires_grad=True)
        plain[name] = lambda x=x: x + x
        with_grad[name] = lambda g=g: g + g
        backward[name] = lambda g=g: (g * g).sum().backward()
    return [row("x + x, 4x4", best_of(plain), 1.0),
            row("x + x, 4x4, with grad", best_of(with_grad), 1.0),
            row("(x * x).sum().backward()", best_of(backward), 0.5)]


if __name__ == "__main__":
    print(*measure(), sep="\n")
