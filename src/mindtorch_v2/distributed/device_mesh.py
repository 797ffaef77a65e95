"""`torch.distributed.device_mesh`: devices of several processes, in rows and columns. There are none."""

from __future__ import annotations

from ._refusals import function, kind

DeviceMesh = kind("device_mesh.DeviceMesh")
init_device_mesh = function("device_mesh.init_device_mesh")
__all__ = ["DeviceMesh", "init_device_mesh"]
