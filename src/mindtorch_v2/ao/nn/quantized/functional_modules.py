"""Arithmetic as modules, so that each use in a model can have an observer of its own."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NoReturn

from ...._dispatch import aten
from ....nn.modules.linear import Identity
from ....nn.modules.module import Module

__all__ = ["FloatFunctional"]


class FloatFunctional(Module):
    """Sums, products and concatenations of a quantisable model; each result passes through `activation_post_process`.

    >>> f = torch.ao.nn.quantized.FloatFunctional()
    >>> f.add_relu(torch.tensor([-2.0, 1.0]), torch.tensor([1.0, 1.0]))
    tensor([0., 2.])
    """

    def __init__(self) -> None:
        super().__init__()
        self.activation_post_process = Identity()

    def forward(self, x: Any) -> NoReturn:
        """RuntimeError: the functions are called by their names."""
        raise RuntimeError("FloatFunctional is not intended to use the 'forward'. Please use the underlying operation")

    def add(self, x: Any, y: Any) -> Any:
        """x + y."""
        return self.activation_post_process(x + y)

    def add_scalar(self, x: Any, y: float) -> Any:
        """x + y for a number."""
        return self.activation_post_process(x + y)

    def mul(self, x: Any, y: Any) -> Any:
        """x * y."""
        return self.activation_post_process(x * y)

    def mul_scalar(self, x: Any, y: float) -> Any:
        """x * y for a number."""
        return self.activation_post_process(x * y)

    def cat(self, x: Sequence[Any], dim: int = 0) -> Any:
        """The tensors one after the other."""
        return self.activation_post_process(aten.cat(x, dim=dim))

    def add_relu(self, x: Any, y: Any) -> Any:
        """max(x + y, 0)."""
        return self.activation_post_process((x + y).relu())

    def matmul(self, x: Any, y: Any) -> Any:
        """The matrix product."""
        return self.activation_post_process(x @ y)
