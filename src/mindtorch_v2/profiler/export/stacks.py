"""Collapsed stacks, the format of flame graphs: `outermost;...;innermost value`, one line per distinct stack."""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence

from .atomic import atomic_writer

STACK_METRICS = ("self_cpu_time_total", "self_cuda_time_total", "self_xpu_time_total", "self_privateuse1_time_total")
# A frame may hold none of the characters that structure a line.
_CLEAN = dict.fromkeys(
    [*map(ord, " ;"), *range(0x20), *range(0x7F, 0xA0), 0x2028, 0x2029, *range(0x202A, 0x202F), *range(0x2066, 0x206A)],
    "_",
)


def write_stacks(path: str | os.PathLike[str], stacks: Iterable[tuple[Sequence[str], float]]) -> None:
    """Write (frames outermost first, microseconds) with equal stacks summed, in the order of first appearance.

    Values are whole microseconds; a stack whose sum is less than one but more than none counts as one, so that it stays
    visible.
    """
    sums: dict[tuple[str, ...], float] = {}
    for frames, value in stacks:
        key = tuple(frames)
        sums[key] = sums.get(key, 0.0) + value
    with atomic_writer(path) as out:
        for frames, value in sums.items():
            if value > 0:
                out.write(";".join(frame.translate(_CLEAN) for frame in frames) + f" {max(int(value), 1)}\n")
