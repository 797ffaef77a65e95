"""What to say when `device="npu"` is asked for and cannot be had."""
from __future__ import annotations


def explain_missing() -> str:
    """The reason, and what would help."""
    return ("device 'npu' is not usable: this version of mindtorch_v2 has no Ascend backend. "
            "torch.npu.is_available() is False; use device 'cpu' or 'meta'.")
