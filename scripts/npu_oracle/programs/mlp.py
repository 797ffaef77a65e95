"""A multilayer perceptron trained with SGD, Adam and AdamW from the same weights."""

from __future__ import annotations

from typing import Any


def fill(torch: Any, model: Any) -> None:
    """Weights that need no generator: the same in both clients."""
    with torch.no_grad():
        for number, p in enumerate(model.parameters()):
            count = p.numel()
            p.copy_(((torch.arange(float(count)) * 0.37 + number).sin() * 0.3).reshape(p.shape))


def losses_of_training(torch: Any, model: Any, optimizer: Any, x: Any, y: Any, steps: int) -> list[float]:
    """Trains a classifier on one batch; the loss before each step."""
    losses = []
    for _ in range(steps):
        optimizer.zero_grad()
        loss = torch.nn.functional.cross_entropy(model(x), y)
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    return losses


def train(torch: Any, optimizer: str, **options: Any) -> dict[str, Any]:
    nn = torch.nn
    model = nn.Sequential(nn.Linear(8, 16), nn.ReLU(), nn.Linear(16, 16), nn.Tanh(), nn.Linear(16, 4))
    fill(torch, model)
    model = model.npu()
    x = (torch.arange(80.0).reshape(10, 8) * 0.11).sin().npu()
    y = (torch.arange(10) % 4).npu()
    chosen = getattr(torch.optim, optimizer)(model.parameters(), **options)
    losses = losses_of_training(torch, model, chosen, x, y, steps=6)
    return {
        "losses": losses,
        "weight": model[4].weight.detach().cpu().tolist(),
        "gradient": model[0].bias.grad.cpu().tolist(),
    }


def run(torch: Any) -> dict[str, Any]:
    return {
        "sgd": train(torch, "SGD", lr=0.1),
        "momentum": train(torch, "SGD", lr=0.05, momentum=0.9, weight_decay=0.01),
        "adam": train(torch, "Adam", lr=0.01),
        "adamw": train(torch, "AdamW", lr=0.01, weight_decay=0.1),
    }
