"""The way from `device="npu"` to the backend, or to the reason why there is none."""
from __future__ import annotations

from importlib import import_module


def activate() -> None:
    """Makes NPUs usable; RuntimeError says what is missing."""
    if not import_module(f"{__package__}._backends.npu.activation").activate():
        raise RuntimeError(explain_missing())


def explain_missing() -> str:
    """The reason, and what would help."""
    runtime = import_module(f"{__package__}._backends.npu.runtime")
    runtime.connect()
    advice = import_module(f"{__package__}._backends.npu.simulator").how_to_get()
    return f"device 'npu' is not usable: {runtime.reason()}. torch.npu.is_available() is False; use device 'cpu'{advice}."


def current_index() -> int:
    """The calling thread's NPU."""
    return import_module(f"{__package__}._backends.npu.runtime").current_index()
