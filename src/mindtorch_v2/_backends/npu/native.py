"""The part of this backend that is written in C (`_native/npu/*.c`), where it was built and is not switched off."""

from __future__ import annotations

import os
from typing import Any

from ..._native import native_module

launcher: Any = native_module("_npu_launch") if os.environ.get("MINDTORCH_NPU_SHIM", "1") != "0" else None
