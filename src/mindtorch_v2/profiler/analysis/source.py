"""What `FunctionEvent` views read: the columns of a tree as Python values, one list per attribute, made on demand.

Reading one attribute of every event costs a list index per event; attributes that nobody asks for cost nothing.
"""

from __future__ import annotations

import weakref
from functools import cached_property
from typing import Any

import numpy as np

from ..record.descriptions import InputDescription
from ..record.enums import DeviceType
from ..record.kinds import ACTIVITY_NAMES, Flag, Kind
from .entries import MEMORY_KIND
from .flows import Flows, find_flows
from .tree import EventTree
from .values import Kernel

_DEVICE_NAMES = {
    Kind.RUNTIME: "runtime",
    Kind.DRIVER: "runtime",
    Kind.OVERHEAD: "overhead",
    Kind.KERNEL: "kernel",
    Kind.MEMCPY: "memcpy",
    Kind.MEMSET: "memset",
    Kind.DEVICE_SCOPE: "scope",
    Kind.SYNC: "sync",
    Kind.RANGE: "range",
}
KIND_NAMES = {int(kind): "scope" if kind in (Kind.SCOPE, Kind.STEP) else _DEVICE_NAMES.get(kind, "op") for kind in Kind}
KIND_NAMES[MEMORY_KIND] = "memory"
_DEVICES = {member.value: member for member in DeviceType}


class EventSource:
    """The entries of one tree as lists. It knows the list of all its events only weakly: events hold their source, so
    a strong reference back would be a cycle."""

    is_store = True

    def __init__(self, tree: EventTree) -> None:
        self.tree = tree
        self.all_events: weakref.ref[Any] | None = None

    def __getstate__(self) -> dict[str, Any]:
        return {"tree": self.tree, "all_events": None}

    # ---- columns as lists, in the units of PyTorch's attributes ---------------------------------------------

    @cached_property
    def name(self) -> list[str]:
        names = self.tree.name_of_id
        return [names[i] for i in self.tree.name_id.tolist()]

    @cached_property
    def trace_name(self) -> list[str | None]:
        strings = self.tree.store.strings
        return [None if i < 0 else strings[i] for i in self.tree.column(self.tree.store.name, -1).tolist()]

    @cached_property
    def overload_name(self) -> list[str]:
        if not self.tree.store.metadata.options.capture_overload_names:
            return [""] * len(self.tree)
        strings = self.tree.store.strings
        return [strings[i] if i >= 0 else "" for i in self.tree.column(self.tree.store.overload, -1).tolist()]

    @cached_property
    def start_ns(self) -> list[int]:
        return self.tree.start_ns.tolist()

    @cached_property
    def end_ns(self) -> list[int]:
        return self.tree.end_ns.tolist()

    @cached_property
    def start_us(self) -> list[float]:
        return ((self.tree.start_ns - self.tree.store.metadata.start_ns) / 1000).tolist()

    @cached_property
    def end_us(self) -> list[float]:
        return ((self.tree.end_ns - self.tree.store.metadata.start_ns) / 1000).tolist()

    @cached_property
    def total_us(self) -> list[float]:
        return (self.tree.total_ns / 1000).tolist()

    @cached_property
    def self_us(self) -> list[float]:
        return (self.tree.self_ns / 1000).tolist()

    @cached_property
    def device_us(self) -> list[float]:
        return (self.tree.device_ns / 1000).tolist()

    @cached_property
    def self_device_us(self) -> list[float]:
        return (self.tree.self_device_ns / 1000).tolist()

    def kernels(self, entry: int) -> list[Kernel]:
        """What the entry launched on devices."""
        if not self.tree.has_device_entries:
            return []
        launched = self.tree.launched_by(entry)
        return [
            Kernel(self.name[i], self.device_index(i), (self.end_ns[i] - self.start_ns[i]) / 1000) for i in launched
        ]

    def device_index(self, entry: int) -> int:
        """The device that it ran on; on the CPU, as in PyTorch, the id of the process."""
        store, row = self.tree.store, int(self.tree.row[entry])
        if row < 0:
            return store.metadata.pid
        thread = store.threads[store.thread[row]]
        return thread.device if thread.device >= 0 else thread.process or store.metadata.pid

    @cached_property
    def thread(self) -> list[int]:
        return self._of_thread([thread.id for thread in self.tree.store.threads])

    @cached_property
    def device_resource_id(self) -> list[int]:
        return self._of_thread([thread.os_id for thread in self.tree.store.threads])

    def _of_thread(self, values: list[int]) -> list[int]:
        tree = self.tree
        index = tree.column(tree.store.thread, -1)
        if len(tree.store.memory):
            index = np.where(tree.record >= 0, tree.store.memory.thread[tree.record], index)
        return [values[i] for i in index.tolist()]

    @cached_property
    def kind(self) -> list[int]:
        return self.tree.kind.tolist()

    @cached_property
    def scope(self) -> list[int]:
        return self.tree.scope_of(slice(None)).tolist()

    @cached_property
    def step(self) -> list[int]:
        tree = self.tree
        steps = tree.column(tree.store.step, 0)
        if tree.record.max(initial=-1) < 0:
            return steps.tolist()
        # A memory record is in the step of the event before it.
        before = np.maximum.accumulate(np.where(tree.record < 0, np.arange(len(tree)), -1))
        first = steps[np.argmax(tree.record < 0)] if (tree.record < 0).any() else 0
        return np.where(before >= 0, steps[before], first).tolist()

    @cached_property
    def is_user_annotation(self) -> list[bool]:
        return self.tree.is_annotation.tolist()

    @cached_property
    def is_async(self) -> list[bool]:
        return self.tree.is_async.tolist()

    @cached_property
    def is_unfinished(self) -> list[bool]:
        return ((self.tree.column(self.tree.store.flags, 0) & Flag.UNFINISHED) != 0).tolist()

    @cached_property
    def device_type(self) -> list[DeviceType]:
        return [_DEVICES[i] for i in self.tree.device_type.tolist()]

    @cached_property
    def sequence_nr(self) -> list[int]:
        return self.tree.column(self.tree.store.sequence_nr, -1).tolist()

    @cached_property
    def fwd_thread(self) -> list[int]:
        return self.tree.column(self.tree.store.forward_thread, 0).tolist()

    @cached_property
    def parent(self) -> list[int]:
        return self.tree.parent.tolist()

    @cached_property
    def flops(self) -> list[int]:
        return self.tree.flops.tolist()

    @cached_property
    def cpu_memory_usage(self) -> list[int]:
        return self.tree.cpu_bytes.tolist()

    @cached_property
    def device_memory_usage(self) -> list[int]:
        return self.tree.device_bytes.tolist()

    @cached_property
    def self_cpu_bytes(self) -> list[int]:
        return self.tree.self_cpu_bytes.tolist()

    @cached_property
    def self_device_bytes(self) -> list[int]:
        return self.tree.self_device_bytes.tolist()

    @cached_property
    def flows(self) -> Flows:
        return find_flows(self.tree)

    @cached_property
    def flow_of_entry(self) -> dict[int, tuple[int, bool]]:
        """(id, does it start here?) of the entries that a flow joins."""
        ends = {entry: (flow, False) for flow, entry in enumerate(self.flows.backward.tolist(), 1)}
        return ends | {entry: (flow, True) for flow, entry in enumerate(self.flows.forward.tolist(), 1)}

    # ---- what is looked up per entry ------------------------------------------------------------------------

    @cached_property
    def _input_index(self) -> list[int]:
        return self.tree.column(self.tree.store.columns["inputs"], -1).tolist()

    def inputs(self, entry: int) -> InputDescription | None:
        index = self._input_index[entry]
        return self.tree.store.inputs[index] if index >= 0 else None

    def activity_type(self, entry: int) -> str:
        return ACTIVITY_NAMES.get(self.kind[entry], "cpu_op")

    @cached_property
    def _stack_index(self) -> list[int]:
        return self.tree.column(self.tree.store.stack, -1).tolist()

    def stack(self, entry: int) -> list[str]:
        return self.tree.store.frames(self._stack_index[entry])

    @cached_property
    def _live_bytes(self) -> tuple[list[int], list[int], list[int], list[int]]:
        """Live bytes before and after each entry, on the CPU and on other devices, among those the profiler saw."""
        memory, found = self.tree.store.memory, []
        for on_cpu in (True, False):
            chosen = (memory.device_type == 0) == on_cpu
            times = memory.time_ns[chosen]
            total = np.concatenate([[0], memory.nbytes[chosen].cumsum()])
            if chosen.any():  # blocks of an earlier window may be live already
                total += memory.total[chosen][0] - memory.nbytes[chosen][0]
            found += [
                total[np.searchsorted(times, self.tree.start_ns, "left")].tolist(),
                total[np.searchsorted(times, self.tree.end_ns, "right")].tolist(),
            ]
        return found[0], found[1], found[2], found[3]

    def live_bytes(self, entry: int, on_cpu: bool) -> tuple[int, int]:
        """Live bytes (before, after) an entry."""
        first = 0 if on_cpu else 2
        return self._live_bytes[first][entry], self._live_bytes[first + 1][entry]
