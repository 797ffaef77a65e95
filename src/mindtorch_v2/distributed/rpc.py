"""`torch.distributed.rpc`: calls of functions in other processes. Not here."""

from __future__ import annotations

from ._refusals import function


def is_available() -> bool:
    """False."""
    return False


init_rpc, rpc_sync, rpc_async, remote, shutdown = (
    function(f"rpc.{n}") for n in ("init_rpc", "rpc_sync", "rpc_async", "remote", "shutdown")
)
__all__ = ["init_rpc", "is_available", "remote", "rpc_async", "rpc_sync", "shutdown"]
