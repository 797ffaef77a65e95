"""The bits that decide how a call travels. A tensor carries its device and GRAD; the mode word adds the rest.

Everybody uses them by these names (`tests/mindtorch_v2/test_key_bits.py` reads the syntax trees). C has its copy in
`_native/common/keys.h`, which the same test compares.
"""

from __future__ import annotations

CPU = 1
META = 2
GRAD = 8  # the tensor requires a gradient
NO_GRAD = 16  # some thread has recording of gradients switched off: ask the thread's own state
OBSERVED = 32  # an observer is installed
SPECIAL = 64  # anomaly mode, saved-tensor hooks, inference mode: take the general path
INFERENCE = 128  # the tensor was made in inference mode
OUTPUTS = 256  # the observer wants to see what operators return: take the general path
SUBCLASS = 512  # the tensor is an instance of a subclass that is asked first: see overrides.py

# A bit for each accelerator, in the order in which they are registered (_accelerators.py). The first stands among the
# small numbers.
ACCELERATOR_BITS = (4, *(1 << n for n in range(10, 24)))
ACCELERATORS = sum(ACCELERATOR_BITS)
DEVICES = CPU | META | ACCELERATORS
