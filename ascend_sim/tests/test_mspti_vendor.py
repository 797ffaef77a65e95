"""ASCEND_SIM_MSPTI=vendor: what the vendor's library does otherwise than its description says, in its public source."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

VENDOR = {"ASCEND_SIM_MSPTI": "vendor"}


@pytest.fixture
def preload(library: Path, tmp_path: Path) -> str:
    link = tmp_path / "libmspti.so"
    link.symlink_to(library)
    # a sanitizer's library must stay the first one
    return os.pathsep.join(filter(None, [os.environ.get("LD_PRELOAD", ""), str(link)]))


def test_kinds_that_need_the_library_to_be_preloaded(in_process, preload: str) -> None:
    code = """
        from test_mspti import *
        collector = Collector(sim)
        print([sim.lib.msptiActivityEnable(kind) for kind in (KERNEL, EXTERNAL, MEMCPY, MEMSET, MEMORY, 4)])
        print([sim.lib.msptiActivityIsEnabled(kind) for kind in (KERNEL, MEMCPY)])
        """
    assert in_process(code, **VENDOR) == "[0, 0, 6, 6, 6, 6]\n[1, 0]"
    assert in_process(code, **VENDOR, LD_PRELOAD=preload) == "[0, 0, 0, 0, 0, 0]\n[1, 1]"


def test_copies_have_the_times_of_the_call(in_process, preload: str) -> None:
    in_process(
        """
        from test_mspti import *
        collector = Collector(sim)
        collector.enable(KERNEL, EXTERNAL, MEMCPY, MEMSET)
        device, pinned, stream = sim.malloc(4096), sim.malloc_host(4096), sim.stream()
        x = sim.buffer((4,))
        sim.hold(stream)
        sim.launch("InplaceZero", x, stream=stream)
        before = time.time_ns()
        sim.memcpy_async(device, pinned, 4096, H2D, stream)
        sim.check(sim.lib.aclrtMemsetAsync(C.c_void_p(device), 4096, 1, 64, C.c_void_p(stream)))
        after = time.time_ns()
        sim.memcpy_async(device, pinned, 64, H2D, None)
        found = {r["kind"]: r for r in collector.flush(3) if r.get("stream") != 0xFFFFFFFF}
        related = 1_000_000               # ns: the host's two clocks are not read at one moment, by far less than this
        for kind in (MEMCPY, MEMSET):     # told although the stream stands: the call is over
            start, end = found[kind]["start"], found[kind]["end"]
            assert before - related <= start <= end <= after + related, (before, after, found[kind])
            assert found[kind]["async"] == 1
        assert [r["bytes"] for r in collector.records() if r.get("stream") == 0xFFFFFFFF] == [64]
        sim.release(stream); sim.sync(stream)
        kernels = [r for r in collector.flush(4) if r["kind"] == KERNEL]
        assert len(kernels) == 1 and kernels[0]["id"] == found[MEMCPY]["id"] == found[MEMSET]["id"]     # the thread's latest kernel
        """,
        **VENDOR, LD_PRELOAD=preload,
    )  # fmt: skip


def test_external_ids_are_one_stack_of_the_process(in_process) -> None:
    in_process(
        """
        from test_mspti import *
        collector = Collector(sim)
        collector.enable(KERNEL, EXTERNAL)
        x, last = sim.buffer((4,)), C.c_uint64()
        push, pop = sim.lib.msptiActivityPushExternalCorrelationId, sim.lib.msptiActivityPopExternalCorrelationId
        push.argtypes = [C.c_int32, C.c_uint64]
        assert push(2, 111) == 0

        def other():
            sim.check(sim.lib.aclrtSetDevice(0))
            sim.run("InplaceZero", x)                       # under the id that the main thread pushed
            assert push(2, 222) == 0
        thread = threading.Thread(target=other); thread.start(); thread.join()
        sim.run("InplaceZero", x)                           # and here under the other thread's
        assert pop(2, None) == 1 and pop(2, C.byref(last)) == 0 and last.value == 222
        assert pop(2, C.byref(last)) == 0 and last.value == 111 and pop(2, C.byref(last)) == 5
        assert [r["external"] for r in collector.flush(4) if r["kind"] == EXTERNAL] == [111, 222]
        """,
        **VENDOR,
    )


def test_stamps_jump_when_the_clocks_are_related_anew(in_process) -> None:
    """With a drift of 1% and a new relation every 50 ms: the error of a stamp grows to 0.5 ms, never beyond, and falls back."""
    in_process(
        """
        from test_mspti import *
        collector = Collector(sim)
        collector.enable(KERNEL)
        x, total, runs_ahead, falls_back = sim.buffer((4,)), 0, False, False
        for _ in range(40):      # on a busy machine the host may look too late to see it
            sent, began = [], time.monotonic_ns()
            while time.monotonic_ns() - began < 300_000_000:
                before = time.time_ns()
                sim.run("InplaceZero", x)
                sent.append((before, time.time_ns()))
            total += len(sent)
            found = [r for r in collector.flush(total) if r["kind"] == KERNEL][-len(sent):]
            late = [r["end"] - after for r, (_, after) in zip(found, sent)]              # at least so far ahead of the host
            assert max(late) <= 500_000, max(late)
            runs_ahead |= max(late) > 100_000                                            # 30 ms into a period it is 0.3 ms ahead
            falls_back |= any(b < a - 100_000 for a, b in zip(late, late[1:]))           # and back
            if runs_ahead and falls_back:
                break
        assert runs_ahead and falls_back
        """,
        **VENDOR, ASCEND_SIM_CLOCK_PPM=10000, ASCEND_SIM_MSPTI_ANCHOR_MS=50, ASCEND_SIM_MSPTI_DELAY_MS=0,
    )  # fmt: skip


def test_the_place_in_a_buffer_belongs_to_the_thread(in_process) -> None:
    in_process(
        """
        from test_mspti import *
        collector = Collector(sim)
        collector.enable(KERNEL)
        for _ in range(3):
            sim.run("InplaceZero", sim.buffer((4,)))
        collector.flush(3)
        piece = b"".join(collector.pieces)
        whole, record, offsets = C.create_string_buffer(piece, len(piece)), C.c_void_p(), []
        next_record = sim.lib.msptiActivityGetNextRecord
        next_record.argtypes = [C.c_void_p, C.c_size_t, C.c_void_p]
        for _ in range(2):
            while (code := next_record(C.addressof(whole), len(piece), C.byref(record))) == 0:
                offsets.append(record.value - C.addressof(whole))
            assert code == 3
        assert offsets == [0, 56, 112] * 2
        """,
        **VENDOR,
    )
