"""How long does a training step of a small model take?"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from common import best_of, implementations, row


def mlp(torch: Any) -> Callable[[], None]:
    """64-128-10, batch 32, SGD, cross entropy."""
    torch.manual_seed(0)
    model = torch.nn.Sequential(torch.nn.Linear(64, 128), torch.nn.ReLU(), torch.nn.Linear(128, 10))
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
    x, y = torch.randn(32, 64), torch.randint(0, 10, (32,))

    def step() -> None:
        optimizer.zero_grad()
        torch.nn.functional.cross_entropy(model(x), y).backward()
        optimizer.step()

    return step


def transformer(torch: Any) -> Callable[[], None]:
    """One encoder layer: width 128, 4 heads, 64 tokens, batch 8, AdamW."""
    torch.manual_seed(0)
    model = torch.nn.TransformerEncoderLayer(128, 4, 512, dropout=0.0, batch_first=True)
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3)
    x, y = torch.randn(8, 64, 128), torch.randn(8, 64, 128)

    def step() -> None:
        optimizer.zero_grad()
        torch.nn.functional.mse_loss(model(x), y).backward()
        optimizer.step()

    return step


def cnn(torch: Any) -> Callable[[], None]:
    """3-16-32 channels on 32x32 images, batch 8, SGD with momentum."""
    torch.manual_seed(0)
    nn = torch.nn
    model = nn.Sequential(
        nn.Conv2d(3, 16, 3, padding=1),
        nn.ReLU(),
        nn.MaxPool2d(2),
        nn.Conv2d(16, 32, 3, padding=1),
        nn.ReLU(),
        nn.MaxPool2d(2),
        nn.Flatten(),
        nn.Linear(32 * 8 * 8, 10),
    )
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01, momentum=0.9)
    x, y = torch.randn(8, 3, 32, 32), torch.randint(0, 10, (8,))

    def step() -> None:
        optimizer.zero_grad()
        nn.functional.cross_entropy(model(x), y).backward()
        optimizer.step()

    return step


LIMITS = {"MLP step": (mlp, 0.9), "transformer encoder layer step": (transformer, 1.6), "CNN step": (cnn, 2.0)}


def measure() -> list[dict[str, Any]]:
    rows = []
    for what, (build, limit) in LIMITS.items():
        steps = {name: build(torch) for name, torch in implementations().items()}
        rows.append(row(what, best_of(steps, seconds=4.0), limit))
    return rows


if __name__ == "__main__":
    print(*measure(), sep="\n")
