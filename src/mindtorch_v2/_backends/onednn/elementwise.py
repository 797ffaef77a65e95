"""Functions of single elements."""

from __future__ import annotations

from .layer import accelerate

accelerate("tanh", "sigmoid", "log")
