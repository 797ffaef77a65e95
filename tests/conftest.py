"""What all tests share."""
from __future__ import annotations

import os

from mindtorch_v2 import _native

if not _native.available():
    # Every process that imports the package says that it lacks its native part. Tests start many, and look at what they say.
    os.environ["PYTHONWARNINGS"] = "ignore:mindtorch_v2 runs without its native part:UserWarning"
