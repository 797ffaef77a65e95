"""`torch._inductor`: PyTorch's code generator. Nothing is generated here; settings are kept."""

from __future__ import annotations

from typing import Any, NoReturn

from . import config

__all__ = ["compile", "config", "cudagraph_mark_step_begin"]


def cudagraph_mark_step_begin() -> None:
    """Nothing: there are no recorded launches to begin anew."""


def compile(gm: Any, example_inputs: Any, options: Any = None) -> NoReturn:
    """Refused: it generates code for a graph."""
    raise NotImplementedError("torch._inductor generates code for graphs; programs run eagerly here")
