"""Which events are listed: the rule that PyTorch's `events()` applies, used for lists, averages and traces alike.

An event that is the only child of an event with the same name is taken into its parent (`aten::sum` that calls
`aten::sum`), and its children become the parent's. Operators and annotations never take in one another: a scope that a
user names like the operator inside it hides nothing. Calls of a device's runtime are never taken in, nor are events
without length of a loaded trace: from times alone they may as well stand beside each other.
"""

from __future__ import annotations

import numpy as np

from ..record.columns import constant, is_constant

# Names that PyTorch does not list: they are how its own bookkeeping is called.
UNLISTED_NAMES = frozenset(
    {
        "[OutOfMemory]",
        "profiler::_record_function_enter",
        "profiler::_record_function_enter_new",
        "profiler::_record_function_exit",
        "aten::is_leaf",
        "aten::output_nr",
        "aten::_version",
    }
)


BLOCK = 1 << 14


def looked_up(table: np.ndarray, column: np.ndarray) -> np.ndarray:
    """`table[column]`, block by block: as a whole, numpy would make eight bytes of every small integer first."""
    if is_constant(column):
        return constant(table[column[0]], len(column), table.dtype)
    made = np.empty(len(column), table.dtype)
    for first in range(0, len(column), BLOCK):
        made[first : first + BLOCK] = table[column[first : first + BLOCK]]
    return made


def repeats_its_parent(name: np.ndarray, parent: np.ndarray, annotation: np.ndarray) -> np.ndarray:
    """The mask of events that are taken into their parent.

    One look at the original tree is enough: what a parent adopts from its only child are that child's children, so
    whether a grandchild is an only child does not change when its parent is taken in.
    """
    mask = np.zeros(len(parent), bool)
    found = []
    # what does not leave the processor's cache is compared several times faster
    for first in range(0, len(parent), BLOCK):
        above = parent[first : first + BLOCK]
        found.append(first + np.flatnonzero((name[above] == name[first : first + BLOCK]) & (above >= 0)))
    repeats = np.concatenate(found) if found else parent
    if len(repeats):
        above = parent[repeats]
        children = np.bincount(parent + 1, minlength=len(parent) + 1)[1:]
        mask[repeats] = (children[above] == 1) & (annotation[repeats] == annotation[above])
    return mask
