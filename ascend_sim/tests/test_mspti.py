"""Activity records: layouts, delivery on a foreign thread, correlation, clocks, refusals."""

from __future__ import annotations

import ctypes as C
import struct
import threading
import time
from collections.abc import Iterator

import numpy as np
import pytest
from simlib import D2H, H2D, Sim

KERNEL, MEMORY, MEMSET, MEMCPY, EXTERNAL = 2, 5, 6, 7, 8
REQUEST = C.CFUNCTYPE(None, C.POINTER(C.c_void_p), C.POINTER(C.c_size_t), C.POINTER(C.c_size_t))
COMPLETE = C.CFUNCTYPE(None, C.c_void_p, C.c_size_t, C.c_size_t)


class Collector:
    """A subscriber that keeps raw buffers and parses them with the offsets of the packed records."""

    def __init__(self, sim: Sim, size: int = 4096) -> None:
        self.sim, self.size, self.pieces, self.threads = sim, size, [], set()
        self.buffers: dict[int, C.Array] = {}
        self.callbacks = REQUEST(self.request), COMPLETE(self.complete)
        self.handle = C.c_void_p()
        assert sim.lib.msptiSubscribe(C.byref(self.handle), None, None) == 0
        assert sim.lib.msptiActivityRegisterCallbacks(*self.callbacks) == 0

    def request(self, buffer, size, maximum) -> None:
        made = C.create_string_buffer(self.size)
        self.buffers[C.addressof(made)] = made
        buffer[0], size[0], maximum[0] = C.addressof(made), self.size, 0

    def complete(self, buffer: int, size: int, valid: int) -> None:
        self.threads.add(threading.get_ident())
        self.pieces.append(C.string_at(buffer, valid))
        del self.buffers[buffer]

    def enable(self, *kinds: int) -> None:
        for kind in kinds:
            assert self.sim.lib.msptiActivityEnable(kind) == 0

    def flush(self, records: int) -> list[dict]:
        """Flush until so many records arrived; delivery is late by design."""
        limit = time.monotonic() + 10
        while len(self.records()) < records and time.monotonic() < limit:
            assert self.sim.lib.msptiActivityFlushAll(1) == 0
        return self.records()

    def records(self) -> list[dict]:
        found = []
        for piece in self.pieces:
            at = 0
            while at < len(piece):
                kind = struct.unpack_from("<i", piece, at)[0]
                found.append(PARSERS[kind](piece, at))
                at += {EXTERNAL: 24, MEMORY: 64}.get(kind, 56)
        return found

    def close(self) -> None:
        for kind in (KERNEL, MEMORY, MEMSET, MEMCPY, EXTERNAL):
            self.sim.lib.msptiActivityDisable(kind)
        limit = time.monotonic() + 10
        while self.sim.lib.simMsptiPending() and time.monotonic() < limit:
            self.sim.lib.msptiActivityFlushAll(1)
        assert self.sim.lib.msptiUnsubscribe(self.handle) == 0


def parse_kernel(b: bytes, at: int) -> dict:
    start, end, device, stream, correlation, kind, name = struct.unpack_from("<QQIIQQQ", b, at + 4)
    return {"kind": KERNEL, "start": start, "end": end, "device": device, "stream": stream, "id": correlation,
            "type": C.string_at(kind).decode(), "name": C.string_at(name).decode()}  # fmt: skip


def parse_external(b: bytes, at: int) -> dict:
    external_kind, external, correlation = struct.unpack_from("<iQQ", b, at + 4)
    return {"kind": EXTERNAL, "external_kind": external_kind, "external": external, "id": correlation}


def parse_transfer(b: bytes, at: int) -> dict:
    kind, what, size, start, end, device, stream, correlation, is_async = struct.unpack_from("<iiQQQIIQB", b, at)
    return {"kind": kind, "what": what, "bytes": size, "start": start, "end": end, "device": device, "stream": stream,
            "id": correlation, "async": is_async}  # fmt: skip


def parse_memory(b: bytes, at: int) -> dict:
    op, kind, _, start, end, address, size, pid, device, _ = struct.unpack_from("<iiQQQQQIII", b, at + 4)
    return {"kind": MEMORY, "release": op, "memory": kind, "address": address, "bytes": size, "device": device}


PARSERS = {KERNEL: parse_kernel, EXTERNAL: parse_external, MEMSET: parse_transfer, MEMCPY: parse_transfer,
           MEMORY: parse_memory}  # fmt: skip


@pytest.fixture
def collector(sim: Sim) -> Iterator[Collector]:
    made = Collector(sim)
    yield made
    made.close()


def test_kernel_records(sim: Sim, collector: Collector) -> None:
    x, stream = sim.upload(np.ones(8, np.float32)), sim.stream()
    sim.run("InplaceOne", x)  # before enabling: not recorded
    collector.enable(KERNEL)
    sim.lib.simSetKernelDelay(2_000_000)
    before = time.time_ns()
    sim.launch("Adds", x, 1.0, 1.0, x, stream=stream)
    sim.launch("Muls", x, 2.0, x, stream=stream)
    sim.sync(stream)
    after = time.time_ns()
    first, second = collector.flush(2)
    ident = C.c_int32()
    sim.check(sim.lib.aclrtStreamGetId(C.c_void_p(stream), C.byref(ident)))
    assert "Adds" in first["name"] and "Muls" in second["name"]
    assert first["type"] == "AI_VECTOR_CORE" and first["stream"] == ident.value and first["device"] == 0
    related = 1_000_000  # ns: the host's two clocks are not read at one moment, by far less than this
    assert before - related <= first["start"] < first["end"] <= second["start"] < second["end"] <= after + related
    assert first["end"] - first["start"] >= 2_000_000
    assert second["id"] > first["id"] > 0
    assert collector.threads and threading.get_ident() not in collector.threads


def test_external_correlation_is_per_thread(sim: Sim, collector: Collector) -> None:
    x = sim.buffer((4,))
    collector.enable(KERNEL, EXTERNAL)
    push, pop = sim.lib.msptiActivityPushExternalCorrelationId, sim.lib.msptiActivityPopExternalCorrelationId
    last = C.c_uint64()
    for ident in (77, 78):
        assert push(2, C.c_uint64(ident)) == 0
    sim.launch("InplaceZero", x)
    assert pop(2, C.byref(last)) == 0 and last.value == 78
    sim.launch("InplaceOne", x)
    assert pop(2, C.byref(last)) == 0 and last.value == 77

    def elsewhere() -> None:
        sim.check(sim.lib.aclrtSetDevice(0))
        sim.launch("InplaceFillScalar", x, 3.0)

    thread = threading.Thread(target=elsewhere)
    thread.start()
    thread.join()
    sim.sync()
    records = collector.flush(5)
    externals = {r["id"]: r["external"] for r in records if r["kind"] == EXTERNAL}
    links = {r["name"].split("_")[0]: externals.get(r["id"]) for r in records if r["kind"] == KERNEL}
    assert links == {"aclnnInplaceZero": 78, "aclnnInplaceOne": 77, "aclnnInplaceFillScalar": None}
    assert all(r["external_kind"] == 2 for r in records if r["kind"] == EXTERNAL)
    assert pop(2, C.byref(last)) != 0


def test_copy_set_and_memory_records(sim: Sim, collector: Collector) -> None:
    collector.enable(MEMCPY, MEMSET, MEMORY)
    address = sim.malloc(256)
    host = np.zeros(256, np.uint8)
    sim.memcpy(address, host.ctypes.data, 256, H2D)
    sim.check(sim.lib.aclrtMemsetAsync(address, 256, 9, 64, None))
    pinned = sim.malloc_host(256)
    sim.memcpy_async(pinned, address, 128, D2H, None)
    sim.sync()
    sim.free(address)
    records = collector.flush(5)
    copies = [r for r in records if r["kind"] == MEMCPY]
    assert [(r["what"], r["bytes"], r["async"]) for r in copies] == [(2, 256, 0), (3, 128, 1)]
    assert [(r["what"], r["bytes"]) for r in records if r["kind"] == MEMSET] == [(9, 64)]
    memory = [(r["release"], r["address"], r["bytes"]) for r in records if r["kind"] == MEMORY]
    assert memory == [(0, address, 256), (1, address, 256)]


def test_delivery_in_pieces_keeps_every_record_in_order(sim: Sim) -> None:
    collector = Collector(sim, size=56 * 7 + 10)
    collector.enable(KERNEL)
    x = sim.buffer((4,))
    for _ in range(100):
        sim.launch("InplaceZero", x)
    sim.sync()
    ids = [r["id"] for r in collector.flush(100)]
    collector.close()
    assert len(ids) == 100 and ids == sorted(ids) and len(collector.pieces) >= 15


def test_records_survive_unsubscribing(sim: Sim) -> None:
    collector = Collector(sim)
    collector.enable(KERNEL)
    sim.run("InplaceZero", sim.buffer((4,)))
    assert sim.lib.msptiUnsubscribe(collector.handle) == 0
    assert len(collector.flush(1)) == 1
    sim.lib.msptiActivityDisable(KERNEL)


def test_get_next_record(sim: Sim, collector: Collector) -> None:
    collector.enable(KERNEL, EXTERNAL)
    sim.lib.msptiActivityPushExternalCorrelationId(2, C.c_uint64(5))
    sim.run("InplaceZero", sim.buffer((4,)))
    sim.lib.msptiActivityPopExternalCorrelationId(2, C.byref(C.c_uint64()))
    collector.flush(2)
    data = b"".join(collector.pieces)
    buffer, record, kinds = C.create_string_buffer(data, len(data)), C.c_void_p(), []
    while sim.lib.msptiActivityGetNextRecord(buffer, C.c_size_t(len(data)), C.byref(record)) == 0:
        kinds.append(C.c_int32.from_address(record.value).value)
    assert sorted(kinds) == [KERNEL, EXTERNAL]


def test_one_subscriber(sim: Sim, collector: Collector) -> None:
    assert sim.lib.msptiSubscribe(C.byref(C.c_void_p()), None, None) == 2
    assert sim.lib.msptiUnsubscribe(C.c_void_p(1)) == 1
    assert sim.lib.msptiActivityEnable(99) == 1
    collector.enable(KERNEL)
    assert sim.lib.msptiActivityDisable(KERNEL) == 0


def test_enabling_needs_a_subscriber(sim: Sim) -> None:
    assert sim.lib.msptiActivityEnable(KERNEL) == 1


@pytest.mark.parametrize("mode, code", [("nopreload", 6), ("absent", 999)])
def test_refusals(in_process, mode: str, code: int) -> None:
    in_process(
        f"""
        assert sim.lib.msptiSubscribe(C.byref(C.c_void_p()), None, None) == {code}
        assert sim.lib.msptiActivityEnable(2) == {code}
        """,
        ASCEND_SIM_MSPTI=mode,
    )


def test_delay_of_delivery(in_process) -> None:
    in_process(
        """
        from test_mspti import *
        collector = Collector(sim)
        collector.enable(KERNEL)
        sim.run("InplaceZero", sim.buffer((4,)))
        assert sim.lib.msptiActivityFlushAll(1) == 0
        assert collector.records() == [] and sim.lib.simMsptiPending() == 1
        """,
        ASCEND_SIM_MSPTI_DELAY_MS=60_000,
    )
