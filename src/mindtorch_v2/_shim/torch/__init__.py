"""Stands where PyTorch's package would stand, and makes `torch` mean `mindtorch_v2`."""

__mindtorch_shim__ = True

import mindtorch_v2  # noqa: E402

mindtorch_v2.install_as_torch()
