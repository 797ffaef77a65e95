"""Functions of opset 10, by name: they raise when they are called."""

from __future__ import annotations

from ._refusals import is_operator, refusals

__getattr__ = refusals("torch.onnx.symbolic_opset10", is_operator)
