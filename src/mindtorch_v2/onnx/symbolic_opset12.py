"""Functions of opset 12, by name: they raise when they are called."""

from __future__ import annotations

from ._refusals import is_operator, refusals

__getattr__ = refusals("torch.onnx.symbolic_opset12", is_operator)
