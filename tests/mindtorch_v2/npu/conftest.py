"""Tests in `simulated/` need a process that was started with MINDTORCH_NPU_SIM=1; `test_on_the_simulator.py` starts
one.
"""

import os

collect_ignore_glob = [] if os.environ.get("MINDTORCH_NPU_SIM") == "1" else ["simulated/*"]
