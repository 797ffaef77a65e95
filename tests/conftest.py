"""What all tests share."""

from __future__ import annotations

import gc
import os

from hypothesis import HealthCheck, settings

from mindtorch_v2 import _native
from mindtorch_v2.profiler.record.python_recorder import Recorder

if not _native.available():
    # Every process that imports the package says that it lacks its native part. Tests start many, and look at what they
    # say.
    os.environ["PYTHONWARNINGS"] = "ignore:mindtorch_v2 runs without its native part:UserWarning"

# The same examples on every machine, however slow it is. Tests that need more or fewer of them say so themselves.
settings.register_profile(
    "everywhere",
    max_examples=100,
    deadline=None,
    derandomize=True,
    database=None,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.filter_too_much, HealthCheck.data_too_large],
)
settings.load_profile("everywhere")

# Which operators a test is the first to use depends on those that ran before it: no test sees events of loading but
# those that put this back.
begin_loading = Recorder.begin_loading
del Recorder.begin_loading


def pytest_collection_finish() -> None:
    """Without the native part a profile of memory looks through all objects that the garbage collector knows. Those
    of thousands of collected cases would make every such profile take most of a second.
    """
    if not _native.available():
        gc.collect()
        gc.freeze()
