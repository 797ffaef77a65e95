"""Tracing below autograd, which PyTorch does with modes. No such mode exists here: programs are traced by
`symbolic_trace`."""

from __future__ import annotations

__all__ = ["get_proxy_mode"]


def get_proxy_mode() -> None:
    """The mode that traces operators of the running program: none."""
    return
