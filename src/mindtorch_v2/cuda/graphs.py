"""Recorded launches of CUDA devices: they cannot be made."""

from __future__ import annotations

from .. import _absent

_refuse = _absent.Refuser(__name__, RuntimeError, "torch.cuda.Stream requires CUDA support")
CUDAGraph = _refuse.dummy("CUDAGraph")
graph = _refuse("graph")
graph_pool_handle = _refuse("graph_pool_handle", "Tried to instantiate dummy base class _graph_pool_handle")
is_current_stream_capturing = _refuse(
    "is_current_stream_capturing", "Tried to instantiate dummy base class _cuda_isCurrentStreamCapturing"
)
make_graphed_callables = _refuse("make_graphed_callables")
