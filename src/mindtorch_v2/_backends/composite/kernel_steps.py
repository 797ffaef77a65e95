"""The steps that PyTorch shows around a kernel, as data; see `_dispatch/steps.py`."""

from __future__ import annotations

from ..._dispatch.registry import steps
from ..._dispatch.steps import copy_steps, node_inside, product_steps, step_inside
from ..._ops.table import find
from ..._tensor import contiguous_format

_RESOLVE, _EXPAND = find("resolve_conj"), find("expand")

steps("t", around=step_inside(find("transpose.int"), 0, 1, dimensions=2, fewer=(0, 0)))
steps("detach", around=node_inside("detach"))
steps("relu", around=step_inside(find("clamp_min"), 0))
steps("relu_", around=step_inside(find("clamp_min_"), 0))
steps("mm", around=product_steps(_RESOLVE, lists_result=True))
steps("bmm", around=product_steps(_RESOLVE))
steps("addmm", around=product_steps(_RESOLVE, first=1, lists_result=True, expand=_EXPAND))
steps("baddbmm", around=product_steps(None, first=1, rank=3, expand=_EXPAND))
steps(
    "clone",
    around=copy_steps(
        find("copy_"), (find("empty_strided"),), (find("empty_like"), find("empty.memory_format")), contiguous_format
    ),
)
