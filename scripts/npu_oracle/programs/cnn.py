"""A convolutional network: convolution, batch normalization, pooling; training and evaluation."""

from __future__ import annotations

from typing import Any

from .mlp import fill, losses_of_training


def run(torch: Any) -> dict[str, Any]:
    nn = torch.nn
    model = nn.Sequential(
        nn.Conv2d(2, 4, 3, padding=1),
        nn.BatchNorm2d(4),
        nn.ReLU(),
        nn.MaxPool2d(2),
        nn.Conv2d(4, 6, 3, stride=2),
        nn.GELU(),
        nn.Flatten(),
        nn.Linear(6, 3),
    )
    fill(torch, model)
    model = model.npu()
    x = (torch.arange(256.0).reshape(2, 2, 8, 8) * 0.07).cos().npu()
    y = torch.tensor([0, 2]).npu()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.05)
    losses = losses_of_training(torch, model, optimizer, x, y, steps=4)
    norm = model[1]
    model.eval()
    return {
        "losses": losses,
        "running mean": norm.running_mean.cpu().tolist(),
        "running var": norm.running_var.cpu().tolist(),
        "filters": model[0].weight.detach().cpu().tolist(),
        "evaluated": model(x).detach().cpu().tolist(),
    }
