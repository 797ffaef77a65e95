"""Activity records: the libraries tell, late and in pieces, when each kernel began and ended.

Written for what the vendor's library does, where that is less than its description promises. Records of copies hold
the times of the host's call, and cannot be had without LD_PRELOAD: they are not asked for, and copies are timed by
events. External ids are one stack of the whole process: only one launch at a time is between push and pop. Stamps
jump every few seconds, when the library relates its clocks anew: small kernels between timing events are launched
now and then, which tell where stamps stand against the device's own clock.
"""

from __future__ import annotations

import contextlib
import ctypes
import threading
import time
from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np

from ... import _device
from ... import _dtype as dt
from ..._storage import native as recorder_module
from ..device_work import KERNEL, Work, join_work
from . import abi, native, streams
from .allocator import record_use
from .clocks import Pair, PiecewiseAlignment
from .copies import new_tensor
from .events import Mark, Marks
from .launcher import address_of_function, entry_of, launch
from .mspti_delivery import _Delivery, _NativeDelivery
from .runtime import NPUError, bind, runtime
from .streams import Stream

_KINDS = (abi.KIND_KERNEL, abi.KIND_EXTERNAL)
_ANCHORS = 8
_ANCHOR_BIT = 1 << 48  # ids of our own small kernels
_PROBE_PERIOD = 200_000_000  # nanoseconds between looks at the clocks
# waiting ends at once when every launch has its record
_SHORTEST_PAUSE, _LONGEST_PAUSE, _QUIET_SECONDS = 0.001, 0.025, 0.3


class Refused(NamedTuple):
    """Why there are no activity records."""

    reason: str


def start(host: Any) -> ActivityTimes | Refused:
    """Begins to receive records of kernels, or says why the libraries have none to give."""
    rt = runtime()
    missing = [name for name in abi.MSPTI if rt.libraries.find(name) is None]
    if missing:
        return Refused(f"the libraries have no {missing[0]}")
    if entry_of("InplaceZero") is None:
        return Refused("the libraries have no aclnnInplaceZero, which the clocks are compared with")
    handle = ctypes.c_void_p()
    code = rt.msptiSubscribe(ctypes.byref(handle), None, None)
    if code:
        return _refusal("msptiSubscribe", code)
    delivery: Any = _Delivery() if native.launcher is None else _NativeDelivery()
    steps = [
        ("msptiActivityRegisterCallbacks", lambda: rt.msptiActivityRegisterCallbacks(*delivery.addresses)),
        *((f"msptiActivityEnable({kind})", lambda kind=kind: rt.msptiActivityEnable(kind)) for kind in _KINDS),
    ]
    for name, step in steps:
        code = step()
        if code:
            rt.msptiUnsubscribe(handle)
            return _refusal(name, code)
    return ActivityTimes(host, handle, delivery)


def _refusal(name: str, code: int) -> Refused:
    return Refused(f"{name} answered {code}, {abi.MSPTI_ERRORS.get(code, 'unknown error')}")


class _Probe(NamedTuple):
    """A small kernel between two marks."""

    launch_id: int
    first: Mark
    last: Mark


class ActivityTimes:
    """The records of one time of watching."""

    def __init__(self, host: Any, handle: Any, delivery: Any) -> None:
        self._host, self._handle, self._delivery = host, handle, delivery
        self.marks = Marks(host)
        self._launches: list[tuple[int, int, int, bool]] = []  # (launch_id, device, stream, whether it is a copy)
        self._taken_launches: list[np.ndarray] = []  # the same, from the launcher in C
        # device -> groups of (launch_id, before, after)
        self._anchors: dict[int, list[list[tuple[int, int, int]]]] = {}
        self._probes: dict[int, list[_Probe]] = {}  # device -> looks at its clocks
        self._targets: dict[int, Any] = {}  # device -> what our own kernels write to
        self._records: dict[int, list[np.ndarray]] = {kind: [] for kind in _KINDS}
        self._parsed_pieces = 0  # pieces
        self._names: dict[int, str] = {}  # address -> text
        self._next_anchor, self._next_probe = _ANCHOR_BIT, 0
        self._pushing = threading.Lock()  # one launch at a time
        self._own = threading.local()
        self._native = False
        rt = runtime()
        self._push, self._pop = rt.msptiActivityPushExternalCorrelationId, rt.msptiActivityPopExternalCorrelationId
        self._last = ctypes.byref(ctypes.c_uint64())

    # --- around launches
    def watch_natively(self) -> bool:
        """Lets the launcher in C push and pop; False where it or the recorder is none in C."""
        recorder = self._host.recorder
        known = recorder is None or (recorder_module is not None and isinstance(recorder, recorder_module.Core))
        self._next_probe = self._host.now() + _PROBE_PERIOD
        if native.launcher is None or not known:
            return False
        native.launcher.watch(
            address_of_function(self._push), address_of_function(self._pop), recorder, self.probe, _PROBE_PERIOD
        )
        self._native = True
        return True

    def begin(self, launch_id: int, name: str, stream: Stream) -> None:
        self._launches.append((launch_id, stream.device_index, stream.stream_id, False))
        self._pushing.acquire()
        self._push(abi.EXTERNAL_CUSTOM0, launch_id)

    def end(self, stream: Stream) -> None:
        self._pop(abi.EXTERNAL_CUSTOM0, self._last)
        self._pushing.release()
        if self._host.now() >= self._next_probe:
            self._next_probe = self._host.now() + _PROBE_PERIOD
            self.probe()

    @property
    def is_own(self) -> bool:
        """Whether the calling thread launches kernels of this object's own."""
        return getattr(self._own, "active", False)

    @contextlib.contextmanager
    def _own_launches(self) -> Iterator[None]:
        """Launches of this thread are this object's own."""
        self._own.active = True
        if native.launcher is not None:
            native.launcher.set_anchor(-1)
        try:
            yield
        finally:
            self._own.active = False
            if native.launcher is not None:
                native.launcher.set_anchor(0)

    # --- clocks
    def _launch_own(self, index: int) -> int:
        """Launches a small kernel in the side stream of a device; gives its id."""
        entry, stream = entry_of("InplaceZero"), streams.side_stream(index)
        assert entry is not None
        target = self._targets.get(index)
        if target is None:
            target = self._targets[index] = new_tensor((1,), dt.float32, _device.device("npu", index))
            record_use(target._array, stream)
            streams.default_stream(index).synchronize()  # what had this memory before is done with it
        self._next_anchor += 1
        launch_id = self._next_anchor
        with stream:
            if self._native:
                native.launcher.set_anchor(launch_id)
                launch(entry, (target,), index)
                native.launcher.set_anchor(-1)
            else:
                with self._pushing:
                    self._push(abi.EXTERNAL_CUSTOM0, launch_id)
                    launch(entry, (target,), index)
                    self._pop(abi.EXTERNAL_CUSTOM0, self._last)
        return launch_id

    def anchor(self) -> None:
        """Brackets a few small kernels, on every device that is in use."""
        for index in {*self.marks.devices, *self._targets, streams.current_index()}:
            self._anchor(index)

    def _anchor(self, index: int) -> None:
        bind(index)
        with self._own_launches():
            self.marks.anchor(index)
            stream = streams.side_stream(index)
            self._launch_own(index)
            stream.synchronize()
            group = []
            for _ in range(_ANCHORS):
                before = self._host.now()
                launch_id = self._launch_own(index)
                stream.synchronize()
                group.append((launch_id, before, self._host.now()))
            self._anchors.setdefault(index, []).append(group)

    def probe(self) -> None:
        """Launches a small kernel between two marks, and waits for nothing."""
        index = streams.current_index()
        try:
            with self._own_launches():
                stream = streams.side_stream(index)
                first = self.marks.mark(stream)
                launch_id = self._launch_own(index)
                last = self.marks.mark(stream)
            if first is not None and last is not None:
                self._probes.setdefault(index, []).append(_Probe(launch_id, first, last))
        except NPUError:  # a device that has failed: who waits for it is told
            return

    def _alignments(self, kernels: Work) -> dict[int, PiecewiseAlignment]:
        """From our own kernels, whose times are still the device's."""
        ours = kernels.where(kernels.launch_id >= _ANCHOR_BIT)
        times = {
            launch_id: (start, end)
            for launch_id, start, end in zip(*(c.tolist() for c in (ours.launch_id, ours.start_ns, ours.end_ns)))
        }
        clocks, found = self.marks.alignments(), {}
        for index, anchored in self._anchors.items():
            groups = [
                [Pair(before, *times[n], after) for n, before, after in group if n in times] for group in anchored
            ]
            for probe in self._probes.get(index, ()):
                if probe.launch_id in times and index in clocks:
                    marked = clocks[index].host(np.array([self.marks.time(probe.first), self.marks.time(probe.last)]))
                    groups.append([Pair(int(marked[0]), *times[probe.launch_id], int(marked[1]))])
            found[index] = PiecewiseAlignment(groups, clocks[index].slope if index in clocks else 0.0)
        return found

    # --- records
    def collect(self, first: int, last: int, began: int, ended: int) -> tuple[Work, dict[str, Any]]:
        """What the devices did for launches with ids from `first` up to `last`, and what is known about its times.
        Kernels that nobody told an id belong to it if they ran between the host's moments `began` and `ended`.
        """
        launches = self._all_launches()
        mine = launches[(launches[:, 0] >= first) & (launches[:, 0] < last)]
        wanted = mine[mine[:, 3] == 0, 0]
        own = [
            *(n for groups in self._anchors.values() for group in groups for n, _, _ in group),
            *(probe.launch_id for probes in self._probes.values() for probe in probes),
        ]
        work = self._receive(launches, np.concatenate([wanted, own]))
        alignments = self._alignments(work)
        work = self._on_the_host(work.where(work.launch_id < _ANCHOR_BIT), alignments)
        work = work.where(
            np.where(
                work.launch_id >= 0,
                (work.launch_id >= first) & (work.launch_id < last),
                (work.start_ns >= began) & (work.start_ns < ended),
            )
        )
        lost = len(np.setdiff1d(wanted, work.launch_id))
        copies, copies_bound = self.marks.collect(first, last)
        known = [*alignments.values()]
        bound = max([copies_bound if len(copies.launch_id) else 0.0, *(a.bound for a in known)])
        notes = {
            "source": "mspti",
            "copies": "events",
            "clock_error_ns": round(bound),
            "clock_drift_ppm": round(max((a.slope for a in known), key=abs, default=0.0) * 1e6, 3),
        }
        odd = {"clock_jumps": max((a.jumps for a in known), default=0), "launches_without_record": lost}
        return join_work([work, copies]), {**notes, **{name: count for name, count in odd.items() if count}}

    def _on_the_host(self, work: Work, alignments: dict[int, PiecewiseAlignment]) -> Work:
        """With the host's times: each device by its own clock; one whose clock was never looked at by that of
        another.
        """
        usual = next(iter(alignments.values()), None)
        start, end = work.start_ns.copy(), work.end_ns.copy()
        for index in np.unique(work.device).tolist():
            rows, alignment = work.device == index, alignments.get(index, usual)
            if alignment is not None:
                start[rows] = alignment.host(work.start_ns[rows])
                end[rows] = start[rows] + np.maximum(work.end_ns[rows] - work.start_ns[rows], 0)
        return work._replace(start_ns=start, end_ns=end)

    def _all_launches(self) -> np.ndarray:
        """Rows of (launch_id, device, stream, whether it is a copy)."""
        if native.launcher is not None:
            self._taken_launches.append(np.frombuffer(native.launcher.take_launches(), np.int64).reshape(-1, 4))
        return np.concatenate([*self._taken_launches, np.array(self._launches, np.int64).reshape(-1, 4)])

    def _receive(self, launches: np.ndarray, wanted: np.ndarray) -> Work:
        """What the devices did, in their own time, once they have told about all wanted ids or tell no more."""
        rt = runtime()
        for index in {*np.unique(launches[:, 1]).tolist(), streams.current_index()}:
            bind(index)
            rt.check(rt.aclrtSynchronizeDevice(), "waiting for the device")
        pause, quiet = _SHORTEST_PAUSE, 0.0
        while True:
            had = self._parsed_pieces
            rt.msptiActivityFlushAll(1)
            self._parse()
            work = self._kernel_work()
            if quiet >= _QUIET_SECONDS or np.isin(wanted, work.launch_id).all():
                return work
            quiet = quiet + pause if self._parsed_pieces == had else 0.0
            time.sleep(pause)
            pause = min(2 * pause, _LONGEST_PAUSE)

    def _parse(self) -> None:
        for piece in self._delivery.take():
            self._parsed_pieces += 1
            offsets, raw = self._offsets(piece), np.frombuffer(piece, np.uint8)
            kinds = raw[offsets[:, None] + np.arange(4)].view("<u4").ravel()
            for kind, layout in abi.RECORD_LAYOUTS.items():
                starts = offsets[kinds == kind]
                if len(starts):
                    self._take(kind, raw[starts[:, None] + np.arange(layout.itemsize)].view(layout).ravel())

    def _offsets(self, piece: bytes) -> np.ndarray:
        """Where the records of a buffer begin. Only the libraries know how long each is."""
        rt = runtime()
        if native.launcher is not None:
            found = native.launcher.record_offsets(piece, address_of_function(rt.msptiActivityGetNextRecord))
            return np.frombuffer(found, np.int64)
        whole = ctypes.create_string_buffer(piece, len(piece))
        start, record, offsets = ctypes.addressof(whole), ctypes.c_void_p(), []
        while rt.msptiActivityGetNextRecord(start, len(piece), ctypes.byref(record)) == 0 and record.value:
            offsets.append(record.value - start)
        return np.array(offsets, np.int64)

    def _take(self, kind: int, records: np.ndarray) -> None:
        if kind == abi.KIND_KERNEL:  # names are read at once: nobody says how long they stay
            for pointer in set(np.unique(records["name"]).tolist()) - self._names.keys() - {0}:
                self._names[pointer] = ctypes.string_at(pointer).decode("utf-8", "replace")
        if kind == abi.KIND_EXTERNAL:
            records = records[records["external_kind"] == abi.EXTERNAL_CUSTOM0]
        self._records[kind].append(records)

    def _with_launch_ids(self, work: Work, correlation: np.ndarray) -> Work:
        """With the ids of the launches that these correlations were given to, where that is known."""
        known = self._all(abi.KIND_EXTERNAL)
        if not len(known):
            return work
        order = np.argsort(known["correlation"], kind="stable")
        keys = known["correlation"][order]
        position = np.searchsorted(keys, correlation, "right") - 1  # the last that was said counts
        found = (position >= 0) & (keys[position] == correlation)
        return work._replace(launch_id=np.where(found, known["launch_id"][order][position], -1))

    def _all(self, kind: int) -> np.ndarray:
        """All records of a kind, in one array."""
        parts = self._records[kind]
        self._records[kind] = [np.concatenate(parts) if parts else np.zeros(0, abi.RECORD_LAYOUTS[kind])]
        return self._records[kind][0]

    def _kernel_work(self) -> Work:
        """All kernels, in the device's time."""
        kernels = self._all(abi.KIND_KERNEL)
        return self._with_launch_ids(_columns(kernels, self._names), kernels["correlation"])

    def close(self) -> None:
        rt = runtime()
        for kind in _KINDS:
            rt.msptiActivityDisable(kind)
        rt.msptiUnsubscribe(self._handle)
        self.marks.close()
        self._targets.clear()
        _keep.append(self._delivery)  # the libraries may still hold the callbacks
        del _keep[:-4]


_keep: list[Any] = []


def _columns(records: np.ndarray, names: dict[int, str]) -> Work:
    """Records of kernels."""

    def column(field: str) -> np.ndarray:
        return records[field].astype(np.int64)

    found, name = np.unique(records["name"], return_inverse=True)
    count = len(records)
    return Work(
        [names.get(n, "kernel") for n in found.tolist()],
        np.full(count, KERNEL),
        name.astype(np.int64),
        column("start"),
        column("end"),
        column("device"),
        column("stream"),
        np.full(count, -1),
        np.zeros(count, np.int64),
    )
