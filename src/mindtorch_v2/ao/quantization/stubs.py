"""Marks in a model where static quantisation would begin and end."""

from __future__ import annotations

from typing import Any

from ...nn.modules.module import Module

__all__ = ["DeQuantStub", "QuantStub", "QuantWrapper"]


class QuantStub(Module):
    """Where floats would become quantised. Models pass it unchanged: static quantisation is not here."""

    def __init__(self, qconfig: Any = None) -> None:
        super().__init__()
        if qconfig:
            self.qconfig = qconfig

    def forward(self, x: Any) -> Any:
        return x


class DeQuantStub(QuantStub):
    """Where quantised numbers would become floats again."""


class QuantWrapper(Module):
    """A module between the two marks."""

    def __init__(self, module: Module) -> None:
        super().__init__()
        self.quant, self.dequant, self.module = QuantStub(), DeQuantStub(), module
        self.train(module.training)

    def forward(self, X: Any) -> Any:  # noqa: N803 - PyTorch's name
        return self.dequant(self.module(self.quant(X)))
