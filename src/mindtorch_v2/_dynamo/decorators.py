"""Marks for the compiler, by the module that PyTorch keeps them in."""

from __future__ import annotations

from . import allow_in_graph, disable, graph_break, mark_dynamic, mark_static, mark_static_address

__all__ = ["allow_in_graph", "disable", "graph_break", "mark_dynamic", "mark_static", "mark_static_address"]
