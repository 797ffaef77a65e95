"""What the tests of the recorder's safety look at, and the step of training that they record."""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any

import mindtorch_v2 as torch
from mindtorch_v2 import nn
from mindtorch_v2.profiler.store.event_store import EventStore

from ..profiler.helpers import names

EVERYTHING = {"record_shapes": True, "profile_memory": True, "with_stack": True, "with_modules": True}


def tools() -> list[str]:
    """Who uses sys.monitoring; nobody before it came."""
    monitoring: Any = getattr(sys, "monitoring", None)
    return [] if monitoring is None else [name for n in range(6) if (name := monitoring.get_tool(n)) is not None]


def ops(store: EventStore) -> list[str]:
    return [n for n in names(store) if n.startswith("aten::")]


def python_calls(store: EventStore, name: str) -> int:
    return sum(n.endswith(f": {name}") for n in names(store))


def training_step() -> Callable[[], None]:
    model = nn.Sequential(nn.Linear(4, 8), nn.ReLU(), nn.Linear(8, 2))
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    data = torch.ones(3, 4)

    def step() -> None:
        optimizer.zero_grad()
        model(data).sum().backward()
        optimizer.step()

    return step
