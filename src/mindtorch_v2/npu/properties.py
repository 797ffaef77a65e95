"""What is known about a device."""

from __future__ import annotations

import ctypes
from typing import Any, NamedTuple

from .._backends.npu import abi
from .._backends.npu.allocator import allocator_of
from .._backends.npu.backend import activate
from .._backends.npu.runtime import runtime
from .._backends.npu.streams import index_of


class DeviceProperties(NamedTuple):
    """`name` says "simulated" if this is no hardware."""

    name: str
    total_memory: int
    cube_core_num: int
    vector_core_num: int
    simulated: bool

    def __repr__(self) -> str:
        return (
            f"_NPUDeviceProperties(name='{self.name}', total_memory={self.total_memory >> 20}MB, "
            f"cube_core_num={self.cube_core_num}, vector_core_num={self.vector_core_num}"
            f"{', simulated=True' if self.simulated else ''})"
        )


def get_device_name(device: Any = None) -> str:
    """The device's model."""
    activate()
    _check_index(device)
    rt = runtime()
    name = (rt.aclrtGetSocName() or b"Ascend").decode()
    return f"{name} (simulated)" if rt.simulated else name


def _check_index(device: Any) -> int:
    index = index_of(device)
    if not 0 <= index < runtime().device_count:
        raise AssertionError("Invalid device id")
    return index


def get_device_capability(device: Any = None) -> None:
    """NPUs have no capability number; kept for programs that ask."""
    activate()


def get_device_properties(device: Any = None) -> DeviceProperties:
    """Name, memory and cores of a device."""
    activate()
    index = _check_index(device)
    return DeviceProperties(
        get_device_name(index),
        allocator_of(index).device_memory()[1],
        _capability(index, abi.CAPABILITY_AI_CORES),
        _capability(index, abi.CAPABILITY_VECTOR_CORES),
        runtime().simulated,
    )


def _capability(index: int, what: int) -> int:
    rt = runtime()
    value = ctypes.c_int64()
    if rt.libraries.find("aclGetDeviceCapability") is None:
        return 0
    return 0 if rt.aclGetDeviceCapability(index, what, ctypes.byref(value)) else value.value
