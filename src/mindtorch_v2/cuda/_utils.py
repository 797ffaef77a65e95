"""Device arguments of `torch.cuda`."""

from __future__ import annotations

from typing import Any

from .. import _absent


def _get_device_index(device: Any, optional: bool = False, allow_cpu: bool = False) -> int | None:
    """The index that an argument names: an int, "cuda:1" or a torch.device."""
    return _absent.device_index("cuda", device, optional, allow_cpu)
