"""Activation functions."""

from __future__ import annotations

from .layer import accelerate

accelerate("gelu_backward", "mish", "silu")
