"""Calls of functions on the NPU and on the CPU, and how their results are compared."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

import mindtorch_v2 as torch
from mindtorch_v2 import nn


class Inputs:
    """Makes the same tensors on any device. `leaves` are those whose gradients are compared."""

    def __init__(self, device: str, dtype: Any = torch.float32) -> None:
        self.device, self.dtype, self.leaves, self._seed = device, dtype, [], 0

    def _next(self) -> torch.Generator:
        self._seed += 1
        return torch.Generator().manual_seed(self._seed)

    def normal(self, *shape: int) -> torch.Tensor:
        made = torch.randn(shape, generator=self._next()).to(self.device, self.dtype).requires_grad_()
        self.leaves.append(made)
        return made

    def positive(self, *shape: int) -> torch.Tensor:
        """In (0.1, 0.9), where every function is defined."""
        return torch.sigmoid(self.normal(*shape)) * 0.8 + 0.1

    def constant(self, *shape: int) -> torch.Tensor:
        return torch.rand(shape, generator=self._next()).to(self.device, self.dtype)

    def whole(self, *shape: int, below: int = 4) -> torch.Tensor:
        return torch.randint(0, below, shape, generator=self._next()).to(self.device)

    def mask(self, *shape: int) -> torch.Tensor:
        return (torch.rand(shape, generator=self._next()) > 0.5).to(self.device)

    def layer(self, make: Callable[[], nn.Module]) -> nn.Module:
        torch.manual_seed(1)
        made = make().to(self.device)
        self.leaves += list(made.parameters())
        return made


Call = Callable[[Inputs], Any]


def flat(result: Any) -> list[torch.Tensor]:
    if isinstance(result, torch.Tensor):
        return [result]
    return [t for part in result for t in flat(part)] if isinstance(result, (tuple, list)) else []


def results(call: Call, device: str, dtype: Any) -> list[np.ndarray]:
    """What a call gives, and the gradients of the sum of its squares."""
    given = Inputs(device, dtype)
    outs = flat(call(given))
    sums = [(x * x).sum() for x in outs if x.requires_grad]
    if sums:
        sum(sums).backward()
    return [x.detach().cpu().numpy() for x in outs] + [x.grad.cpu().numpy() for x in given.leaves if x.grad is not None]


def compare(call: Call, dtype: Any = torch.float32, relative: float = 3e-4, absolute: float = 3e-5) -> None:
    here, there = results(call, "cpu", dtype), results(call, "npu", dtype)
    assert [x.shape for x in here] == [x.shape for x in there] and [x.dtype for x in here] == [x.dtype for x in there]
    assert here
    for x, y in zip(here, there):
        np.testing.assert_allclose(y.astype(np.float64), x.astype(np.float64), relative, absolute)


def image(g: Inputs) -> torch.Tensor:
    return g.normal(2, 6, 9, 8)


def volume(g: Inputs) -> torch.Tensor:
    return g.normal(2, 4, 5, 6, 5)


def sequence(g: Inputs) -> torch.Tensor:
    return g.normal(2, 6, 9)
