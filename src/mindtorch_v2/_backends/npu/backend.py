"""The NPU among the accelerators: what `_accelerators.register` is told.

Nothing here starts anything before a device is used.
"""

from __future__ import annotations

from importlib import import_module
from typing import Any

from ... import _accelerators
from ..._accelerators import Backend, register


def _convolution(*args: Any) -> Any:
    from .boxing import run

    return run("_convolution", *args)


def _fused_sgd_(*tensors: Any, **options: Any) -> None:
    from .programs_optimizers import fused_sgd_

    fused_sgd_(*tensors, **options)


def _fused_adam_(*tensors: Any, **options: Any) -> None:
    from .programs_optimizers import fused_adam_

    fused_adam_(*tensors, **options)


class NPUBackend(Backend):
    """Ascend NPUs, real ones or the simulator's."""

    name = "npu"
    title = "Ascend NPU"
    activity = "NPU"
    type_code = 21
    runtime_prefixes = ("npu", "aclrt", "acl", "Hccl")
    has_generators = True
    engines = ("hccl",)
    composites = {"_convolution": _convolution, "_fused_sgd_": _fused_sgd_, "_fused_adam_": _fused_adam_}
    avoids = frozenset({"mkldnn_rnn_layer", "_scaled_dot_product_flash_attention_for_cpu"})

    def engine(self, name: str) -> Any:
        from .process_group import Engine

        return Engine

    def is_available(self) -> bool:
        from .runtime import connect

        try:
            return connect() is not None
        except (OSError, RuntimeError, ValueError):  # a library that is there but broken
            return False

    def why_unavailable(self) -> str:
        from .runtime import reason

        return "" if self.is_available() else reason()

    def activate(self) -> None:
        from .runtime import connect

        if connect() is None:
            raise RuntimeError(explain_missing())

    def device_count(self) -> int:
        from .runtime import runtime

        return runtime().device_count if self.is_available() else 0

    def current_index(self) -> int:
        from .runtime import current_index

        return current_index()

    def module(self) -> Any:
        return import_module("mindtorch_v2.npu")

    def box(self, op: Any) -> Any:
        from .boxing import box

        return box(op)

    def synchronize(self) -> None:
        module = self.module()
        if module.is_initialized():
            module.synchronize()

    def memory_of(self, array: Any) -> Any:
        from .allocator import memory_of

        return memory_of(array)

    def record_use(self, array: Any, stream: Any) -> None:
        from .allocator import record_use

        record_use(array, stream)

    def pinned_like(self, array: Any) -> Any:
        from .copies import pinned_like

        return pinned_like(array)

    def is_pinned(self, owner: Any) -> bool:
        from .copies import PinnedMemory

        return isinstance(owner, PinnedMemory)

    def manual_seed_all(self, seed: int) -> None:
        from .random import seed_all

        seed_all(seed)

    def watch(self, host: Any) -> Any:
        from .activities import watch

        return watch(host)


def activate() -> None:
    """Makes NPUs usable; RuntimeError says what is missing."""
    _accelerators.activate_backend("npu")


def explain_missing() -> str:
    """Why no NPU can be used, and what would help."""
    from .runtime import connect, reason
    from .simulator import how_to_get

    connect()
    return f"device 'npu' is not usable: {reason()}. torch.npu.is_available() is False; use device 'cpu'{how_to_get()}."


register(NPUBackend())
