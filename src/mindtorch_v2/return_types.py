"""The named tuples that operators with several outputs give: `torch.return_types.max`."""

from __future__ import annotations

import contextlib
from typing import Any

from ._dispatch.return_types import Unnamed, named_outputs, tuple_type
from ._ops.table import OVERLOADS


def __getattr__(name: str) -> Any:
    if name == "histogramdd":  # a function of operators, not one itself
        return named_outputs("histogramdd", "hist", "bin_edges")
    for op in OVERLOADS.get(name, ()):
        if len(op.schema.returns) > 1 and not op.schema.returns_list:
            found = tuple_type(op)
            if found is not Unnamed:
                return found
    if name.endswith("_out"):  # of the form with `out=`, which has the same fields
        with contextlib.suppress(AttributeError):
            plain = __getattr__(name.removesuffix("_out"))
            return named_outputs(name, *plain._fields)
    raise AttributeError(f"module 'torch.return_types' has no attribute '{name}'")
