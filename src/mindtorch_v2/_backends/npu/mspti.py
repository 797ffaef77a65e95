"""Activity records: the libraries tell, late and in pieces, when each kernel and copy began and ended."""
from __future__ import annotations

import ctypes
import struct
import threading
import time
from typing import Any

import numpy as np

from ... import _device
from ... import _dtype as dt
from ..._storage import native as recorder_module
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
_QUIET_ROUNDS, _ROUND_SECONDS = 12, 0.025      # waiting ends at once when every launch has its record
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
        self._launches: dict[int, tuple[str, int, int]] = {}        # number -> (name, device, stream)
        self._anchors: list[list[tuple[int, int, int]]] = []        # groups of (number, before, after)
        self._external: dict[int, int] = {}                         # correlation -> our number
        self._records: list[tuple[int, tuple[Any, ...]]] = []
        self._parsed = 0
        self._unseen: set[int] = set()
        self._names: dict[int, str] = {}
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
        self._launches[number] = name, stream.device_index, stream.stream_id
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

    def _alignment(self, kernels: dict[int, tuple[int, int]]) -> Alignment:
        """`kernels`: number of an anchor -> when it began and ended."""
        groups = [[Pair(before, *kernels[n], after) for n, before, after in group if n in kernels] for group in self._anchors]
        return Alignment(groups)

    # --- records ----------------------------------------------------------------------------------------------------------
    def collect(self, first: int, last: int) -> tuple[list[Any], dict[str, Any]]:
        """What the devices did for launches numbered from `first` up to `last`, and what is known about its times."""
        from .activities import Work
        if native.launcher is not None:
            self._launches.update((number, (name, device, stream)) for number, name, device, stream in native.launcher.take_launches())
        wanted = {n for n in self._launches if first <= n < last} | {n for group in self._anchors for n, _, _ in group}
        self._receive(wanted)
        linked = self._linked()
        alignment = self._alignment({n: (r[1], r[2]) for kind, r, n in linked if kind == abi.KIND_KERNEL and n >= _ANCHOR_BIT})
        work = []
        for kind, record, number in linked:
            if number >= _ANCHOR_BIT or not (first <= number < last):
                continue
            what, name, begin, end, device, stream, nbytes = self._described(kind, record)
            start_ns = alignment.host(begin)
            work.append(Work(what, name, start_ns, max(alignment.host(end), start_ns), device, stream, number, nbytes))
        lost = sum(1 for n in self._launches if first <= n < last) - len({w.number for w in work})
        notes = {"source": "mspti", "clock_error_ns": round(alignment.bound), "clock_drift_ppm": round(alignment.slope * 1e6, 3)}
        return work, {**notes, "launches_without_record": lost} if lost > 0 else notes

    def _receive(self, wanted: set[int]) -> None:
        """Waits for the devices, and for the records of all wanted numbers, or until no more come."""
        rt = runtime()
        for index in {d for _, d, _ in self._launches.values()} | {streams.current_index()}:
            bind(index)
            rt.check(rt.aclrtSynchronizeDevice(), "waiting for the device")
        quiet = 0
        while quiet < _QUIET_ROUNDS:
            had = self._parsed
            rt.msptiActivityFlushAll(1)
            self._parse()
            seen = {self._external.get(r[5 if k == abi.KIND_KERNEL else 7], -1) for k, r in self._records}
            if wanted <= seen:
                return
            quiet = quiet + 1 if self._parsed == had else 0
            time.sleep(_ROUND_SECONDS)

    def _parse(self) -> None:
        for piece in self._delivery.take():
            self._parsed += 1
            offsets, raw = self._offsets(piece), np.frombuffer(piece, np.uint8)
            kinds = raw[offsets[:, None] + np.arange(4)].view("<u4").ravel()
            for kind, layout in abi.RECORD_LAYOUTS.items():
                places = offsets[kinds == kind]
                rows = raw[places[:, None] + np.arange(struct.calcsize(layout))]
                self._take(kind, list(struct.iter_unpack(layout, rows.tobytes())))

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

    def _take(self, kind: int, records: list[tuple[Any, ...]]) -> None:
        if kind == abi.KIND_EXTERNAL:
            self._external.update((r[3], r[2]) for r in records if r[1] == abi.EXTERNAL_CUSTOM0)
            return
        if kind == abi.KIND_KERNEL:      # names are read at once: nobody says how long they stay
            for pointer in {p for r in records for p in r[6:8]} - self._names.keys() - {0}:
                self._names[pointer] = ctypes.string_at(pointer).decode("utf-8", "replace")
        self._records.extend((kind, r) for r in records)

    def _linked(self) -> list[tuple[int, tuple[Any, ...], int]]:
        """(kind, record, number of the launch or -1). Copies may come without a correlation: those of a stream are in the
        order of their launches."""
        found: list[tuple[int, tuple[Any, ...], int]] = []
        bare: dict[tuple[int, int], list[int]] = {}
        for kind, record in self._records:
            number = self._external.get(record[5 if kind == abi.KIND_KERNEL else 7], -1)
            found.append((kind, record, number))
            if number < 0 and kind == abi.KIND_MEMCPY:
                bare.setdefault((record[5], record[6]), []).append(len(found) - 1)
        for (device, stream), places in bare.items():
            numbers = [n for n, (name, d, s) in self._launches.items() if name == "aclrtMemcpyAsync" and (d, s) == (device, stream)]
            if len(numbers) == len(places):
                for place, number in zip(sorted(places, key=lambda p: found[p][1][3]), numbers):
                    found[place] = (*found[place][:2], number)
        return found

    def _described(self, kind: int, record: tuple[Any, ...]) -> tuple[str, str, int, int, int, int, int]:
        """What, its name, begin, end, device, stream, bytes."""
        if kind == abi.KIND_KERNEL:
            _, begin, end, device, stream, _, _, name = record
            return "kernel", self._names.get(name, "kernel"), begin, end, device, stream, 0
        _, detail, nbytes, begin, end, device, stream, _, _ = record
        if kind == abi.KIND_MEMCPY:
            return "memcpy", _COPY_NAMES.get(detail, "MEMCPY"), begin, end, device, stream, nbytes
        return "memset", "MEMSET", begin, end, device, stream, nbytes

    def close(self) -> None:
        rt = runtime()
        for kind in _KINDS:
            rt.msptiActivityDisable(kind)
        rt.msptiUnsubscribe(self._handle)
        _keep.append(self._delivery)       # the libraries may still hold the callbacks
        del _keep[:-4]


_keep: list[Any] = []
