"""Stands where functorch, which comes with PyTorch, would stand."""

import sys

import torch  # noqa: F401 - opens the door

from mindtorch_v2 import _functorch

sys.modules[__name__] = _functorch
