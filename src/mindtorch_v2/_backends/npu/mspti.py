"""Activity records: the libraries tell, late and in pieces, when each kernel and copy began and ended."""
from __future__ import annotations

import ctypes
import threading
import time
from typing import Any

import numpy as np

from ... import _device
from ... import _dtype as dt
from ..._storage import native as recorder_module
from ..device_work import KERNEL, KINDS, MEMCPY, MEMSET, Work, joined
from . import abi, native, streams, timeline
from .clocks import Alignment, Pair
from .copies import new_tensor
from .launcher import address_of_function, entry_of, launch
from .runtime import bind, runtime
from .streams import Stream

_BUFFER = 1 << 20
_KINDS = (abi.KIND_KERNEL, abi.KIND_MEMCPY, abi.KIND_MEMSET, abi.KIND_EXTERNAL)
_ANCHORS = 8
_ANCHOR_BIT = 1 << 48        # numbers of our own small kernels
_SHORTEST_PAUSE, _LONGEST_PAUSE, _QUIET_SECONDS = 0.001, 0.025, 0.3      # waiting ends at once when every launch has its record
_COPY_NAMES = {1: "MEMCPY_HTOH", 2: "MEMCPY_HTOD", 3: "MEMCPY_DTOH", 4: "MEMCPY_DTOD"}   # the records count from 1
_Request = ctypes.CFUNCTYPE(None, ctypes.POINTER(ctypes.c_void_p), ctypes.POINTER(ctypes.c_size_t), ctypes.POINTER(ctypes.c_size_t))
_Complete = ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_size_t, ctypes.c_size_t)


class _Delivery:
    """Buffers on their way, in Python. The libraries call on a thread of their own: bytes are only put aside there."""

    def __init__(self) -> None:
        self._pieces: list[bytes] = []
        self._lent: dict[int, Any] = {}
        self._callbacks = _Request(self._request), _Complete(self._complete)
        self.addresses = tuple(address_of_function(f) for f in self._callbacks)

    def _request(self, buffer: Any, size: Any, records: Any) -> None:
        made = ctypes.create_string_buffer(_BUFFER + 8)
        address = (ctypes.addressof(made) + 7) & -8
        self._lent[address] = made
        buffer[0], size[0], records[0] = address, _BUFFER, 0

    def _complete(self, buffer: Any, size: int, valid: int) -> None:
        if valid:
            self._pieces.append(ctypes.string_at(buffer, valid))
        self._lent.pop(buffer, None)

    def take(self) -> list[bytes]:
        """What arrived since the last time."""
        count = len(self._pieces)
        found, self._pieces[:count] = self._pieces[:count], []
        return found


class _NativeDelivery:
    """The same in C, where nothing waits for the interpreter."""

    def __init__(self) -> None:
        self.addresses = native.launcher.callbacks()
        self.take = native.launcher.take_pieces
        self.take()                        # what came late for an earlier watch
        native.launcher.take_launches()


def start(host: Any) -> ActivityTimes | None:
    """Begins to receive records; None where the libraries have none to give."""
    rt = runtime()
    if any(rt.libraries.find(name) is None for name in abi.MSPTI) or entry_of("InplaceZero") is None:
        return None
    handle = ctypes.c_void_p()
    if rt.msptiSubscribe(ctypes.byref(handle), None, None):
        return None
    delivery: Any = _Delivery() if native.launcher is None else _NativeDelivery()
    register = rt.msptiActivityRegisterCallbacks(*delivery.addresses)
    if register or any(rt.msptiActivityEnable(kind) for kind in (abi.KIND_KERNEL, abi.KIND_EXTERNAL)):
        rt.msptiUnsubscribe(handle)
        return None
    for kind in (abi.KIND_MEMCPY, abi.KIND_MEMSET):
        rt.msptiActivityEnable(kind)
    return ActivityTimes(host, handle, delivery)


class ActivityTimes:
    """The records of one time of watching."""

    def __init__(self, host: Any, handle: Any, delivery: Any) -> None:
        self._host, self._handle, self._delivery = host, handle, delivery
        self._launches: list[tuple[int, int, int, bool]] = []       # (number, device, stream, whether it is a copy)
        self._taken: list[np.ndarray] = []                          # the same, from the launcher in C
        self._anchors: list[list[tuple[int, int, int]]] = []        # groups of (number, before, after)
        self._records: dict[int, list[np.ndarray]] = {kind: [] for kind in _KINDS}
        self._parsed = 0                                            # pieces
        self._names: dict[int, str] = {}                            # address -> text
        self._next_anchor = _ANCHOR_BIT
        self._lock = threading.Lock()
        rt = runtime()
        self._push, self._pop = rt.msptiActivityPushExternalCorrelationId, rt.msptiActivityPopExternalCorrelationId
        self._last = ctypes.byref(ctypes.c_uint64())

    # --- around launches --------------------------------------------------------------------------------------------------
    def watch_natively(self) -> bool:
        """Lets the launcher in C push and pop; False where it or the recorder is none in C."""
        recorder = self._host.recorder
        known = recorder is None or (recorder_module is not None and isinstance(recorder, recorder_module.Core))
        if native.launcher is None or not known:
            return False
        native.launcher.watch(address_of_function(self._push), address_of_function(self._pop), recorder)
        return True

    def begin(self, number: int, name: str, stream: Stream) -> None:
        self._launches.append((number, stream.device_index, stream.stream_id, name == "aclrtMemcpyAsync"))
        self._push(abi.EXTERNAL_CUSTOM0, number)

    def end(self, stream: Stream) -> None:
        self._pop(abi.EXTERNAL_CUSTOM0, self._last)

    # --- clocks -----------------------------------------------------------------------------------------------------------
    def anchor(self) -> None:
        """Brackets a few small kernels."""
        index = streams.current_index()
        bind(index)
        entry, stream = entry_of("InplaceZero"), streams.default_stream(index)
        assert entry is not None
        watcher = timeline.active
        timeline.activate(None)
        try:
            target = new_tensor((1,), dt.float32, _device.device("npu", index))
            launch(entry, (target,), index)
            stream.synchronize()
            group = []
            for _ in range(_ANCHORS):
                self._next_anchor += 1
                self._push(abi.EXTERNAL_CUSTOM0, self._next_anchor)
                before = self._host.now()
                launch(entry, (target,), index)
                stream.synchronize()
                after = self._host.now()
                self._pop(abi.EXTERNAL_CUSTOM0, self._last)
                group.append((self._next_anchor, before, after))
            self._anchors.append(group)
        finally:
            timeline.activate(watcher)

    def _alignment(self, kernels: Work) -> Alignment:
        """From the anchors among the kernels, whose times are still the device's."""
        ours = kernels.where(kernels.number >= _ANCHOR_BIT)
        times = {number: (start, end) for number, start, end in zip(*(c.tolist() for c in (ours.number, ours.start_ns, ours.end_ns)))}
        return Alignment([[Pair(before, *times[n], after) for n, before, after in group if n in times] for group in self._anchors])

    # --- records ----------------------------------------------------------------------------------------------------------
    def collect(self, first: int, last: int) -> tuple[Work, dict[str, Any]]:
        """What the devices did for launches numbered from `first` up to `last`, and what is known about its times."""
        launches = self._all_launches()
        wanted = launches[(launches[:, 0] >= first) & (launches[:, 0] < last), 0]
        work = self._receive(launches, np.concatenate([wanted, [n for group in self._anchors for n, _, _ in group]]))
        alignment = self._alignment(work)
        work = work.where((work.number >= first) & (work.number < last))
        start = alignment.host(work.start_ns)
        work = work._replace(start_ns=start, end_ns=np.maximum(alignment.host(work.end_ns), start))
        lost = len(wanted) - len(np.unique(work.number))
        notes = {"source": "mspti", "clock_error_ns": round(alignment.bound), "clock_drift_ppm": round(alignment.slope * 1e6, 3)}
        return work, {**notes, "launches_without_record": lost} if lost > 0 else notes

    def _all_launches(self) -> np.ndarray:
        """Rows of (number, device, stream, whether it is a copy)."""
        if native.launcher is not None:
            self._taken.append(np.frombuffer(native.launcher.take_launches(), np.int64).reshape(-1, 4))
        return np.concatenate([*self._taken, np.array(self._launches, np.int64).reshape(-1, 4)])

    def _receive(self, launches: np.ndarray, wanted: np.ndarray) -> Work:
        """What the devices did, in their own time, once they have told about all wanted numbers or tell no more."""
        rt = runtime()
        for index in {*np.unique(launches[:, 1]).tolist(), streams.current_index()}:
            bind(index)
            rt.check(rt.aclrtSynchronizeDevice(), "waiting for the device")
        pause, quiet = _SHORTEST_PAUSE, 0.0
        while True:
            had = self._parsed
            rt.msptiActivityFlushAll(1)
            self._parse()
            work = self._linked(launches)
            if quiet >= _QUIET_SECONDS or np.isin(wanted, work.number).all():
                return work
            quiet = quiet + pause if self._parsed == had else 0.0
            time.sleep(pause)
            pause = min(2 * pause, _LONGEST_PAUSE)

    def _parse(self) -> None:
        for piece in self._delivery.take():
            self._parsed += 1
            offsets, raw = self._offsets(piece), np.frombuffer(piece, np.uint8)
            kinds = raw[offsets[:, None] + np.arange(4)].view("<u4").ravel()
            for kind, layout in abi.RECORD_LAYOUTS.items():
                places = offsets[kinds == kind]
                if len(places):
                    self._take(kind, raw[places[:, None] + np.arange(layout.itemsize)].view(layout).ravel())

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
        if kind == abi.KIND_KERNEL:      # names are read at once: nobody says how long they stay
            for pointer in set(np.unique(records["name"]).tolist()) - self._names.keys() - {0}:
                self._names[pointer] = ctypes.string_at(pointer).decode("utf-8", "replace")
        if kind == abi.KIND_EXTERNAL:
            records = records[records["external_kind"] == abi.EXTERNAL_CUSTOM0]
        self._records[kind].append(records)

    def _numbered(self, work: Work, correlation: np.ndarray) -> Work:
        """With the numbers of the launches that these correlations were given to, where that is known."""
        known = self._all(abi.KIND_EXTERNAL)
        if not len(known):
            return work
        order = np.argsort(known["correlation"], kind="stable")
        keys = known["correlation"][order]
        place = np.searchsorted(keys, correlation, "right") - 1        # the last that was said counts
        found = (place >= 0) & (keys[place] == correlation)
        return work._replace(number=np.where(found, known["number"][order][place], -1))

    def _all(self, kind: int) -> np.ndarray:
        """All records of a kind, in one array."""
        parts = self._records[kind]
        self._records[kind] = [np.concatenate(parts) if parts else np.zeros(0, abi.RECORD_LAYOUTS[kind])]
        return self._records[kind][0]

    def _linked(self, launches: np.ndarray) -> Work:
        """All records but the external ones, in the device's time. Copies may come without a correlation: those of a stream are in
        the order of their launches."""
        kernels, copies, sets = (self._all(kind) for kind in (abi.KIND_KERNEL, abi.KIND_MEMCPY, abi.KIND_MEMSET))
        work = joined([_columns(KERNEL, kernels, kernels["name"], self._names), _columns(MEMCPY, copies, copies["detail"], _COPY_NAMES),
                       _columns(MEMSET, sets, np.zeros(len(sets), int), {})])
        work = self._numbered(work, np.concatenate([records["correlation"] for records in (kernels, copies, sets)]))
        bare = (work.number < 0) & (work.kind == MEMCPY)
        for device, stream in {*zip(work.device[bare].tolist(), work.stream[bare].tolist())}:
            places = np.flatnonzero(bare & (work.device == device) & (work.stream == stream))
            numbers = launches[(launches[:, 3] == 1) & (launches[:, 1] == device) & (launches[:, 2] == stream), 0]
            if len(numbers) == len(places):
                work.number[places[np.argsort(work.start_ns[places], kind="stable")]] = numbers
        return work

    def close(self) -> None:
        rt = runtime()
        for kind in _KINDS:
            rt.msptiActivityDisable(kind)
        rt.msptiUnsubscribe(self._handle)
        _keep.append(self._delivery)       # the libraries may still hold the callbacks
        del _keep[:-4]


_keep: list[Any] = []


def _columns(kind: int, records: np.ndarray, what: np.ndarray, names: dict[int, str]) -> Work:
    """Records of a kind. `what` says which name each has; one that is not known is called after its kind."""
    def column(field: str) -> np.ndarray:
        return records[field].astype(np.int64)
    found, name = np.unique(what, return_inverse=True)
    unknown = "kernel" if kind == KERNEL else KINDS[kind].upper()
    nbytes = np.zeros(len(records), np.int64) if kind == KERNEL else column("nbytes")
    return Work([names.get(n, unknown) for n in found.tolist()], np.full(len(records), kind), name.astype(np.int64), column("start"),
                column("end"), column("device"), column("stream"), np.full(len(records), -1), nbytes)
