"""Device memory: isolation, rounding, contents, misuse, exhaustion; copies and their checks."""

from __future__ import annotations

import ctypes as C
import signal
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from simlib import D2D, D2H, DEFAULT, H2D, H2H, Sim, SimError


def test_the_host_cannot_touch_device_memory(library: Path) -> None:
    code = (
        f"import sys; sys.path.insert(0, {str(Path(__file__).parent)!r})\n"
        "from simlib import *\n"
        f"sim = Sim({str(library)!r}); sim.lib.aclInit(None); sim.lib.aclrtSetDevice(0)\n"
        "print('allocated', flush=True); C.string_at(sim.malloc(64), 1)"
    )
    result = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert "allocated" in result.stdout
    assert result.returncode in (-signal.SIGSEGV, 1)  # 1 is how a sanitizer ends


def test_blocks_are_aligned_rounded_and_counted(sim: Sim) -> None:
    free, total = sim.mem_info()
    addresses = [sim.malloc(size) for size in (1, 31, 32, 33, 64, 1000)]
    assert all(address % 64 == 0 for address in addresses)
    spans = [-(-(-(-size // 32) * 32 + 32) // 64) * 64 for size in (1, 31, 32, 33, 64, 1000)]
    assert sim.mem_info() == (free - sum(spans), total)
    for address in addresses:
        sim.free(address)
    assert sim.mem_info() == (free, total)


def test_fresh_memory_is_nan(sim: Sim) -> None:
    assert np.isnan(sim.buffer((100,)).read()).all()
    first = sim.buffer((100,))
    sim.run("InplaceZero", first)
    first.free()
    assert np.isnan(sim.buffer((100,)).read()).all()


def test_pinned_memory_belongs_to_the_host(sim: Sim) -> None:
    pinned = sim.malloc_host(1000)
    C.memset(pinned, 3, 1000)
    attributes = (C.c_uint32 * 7)()
    for address, location in ((pinned, 0), (sim.malloc(10), 1), (C.addressof(attributes), 2)):
        sim.check(sim.lib.aclrtPointerGetAttributes(C.c_void_p(address), attributes))
        assert attributes[1] == location
    sim.check(sim.lib.aclrtFreeHost(C.c_void_p(pinned)))
    assert sim.lib.aclrtFreeHost(C.c_void_p(pinned)) == 107000


def test_bad_frees(sim: Sim) -> None:
    address = sim.malloc(100)
    assert sim.lib.aclrtFree(C.c_void_p(address + 32)) == 107000
    sim.free(address)
    assert sim.lib.aclrtFree(C.c_void_p(address)) == 107000
    assert "twice" in (sim.message() or "")
    assert sim.lib.aclrtFree(None) == 100000
    pointer = C.c_void_p()
    assert sim.lib.aclrtMalloc(C.byref(pointer), C.c_size_t(0), 0) == 100000


def test_freeing_a_block_in_use_is_reported(sim: Sim) -> None:
    x, out, stream = sim.buffer((16,)), sim.buffer((16,)), sim.stream()
    sim.hold(stream)
    sim.launch("Exp", x, out, stream=stream)
    assert sim.lib.aclrtFree(C.c_void_p(x.address)) == 507000
    count, text = sim.violations()
    assert count == 1 and "queued task" in text
    sim.release(stream)
    assert sim.lib.aclrtSynchronizeStream(C.c_void_p(stream)) == 507015  # the kernel met a freed operand
    assert "use after free" in (sim.message() or "")


def test_a_block_may_be_freed_once_its_kernel_ran(sim: Sim) -> None:
    x = sim.buffer((16,))
    sim.launch("InplaceZero", x)
    sim.sync()
    x.free()
    assert sim.violations()[0] == 0


def test_launching_on_freed_memory_faults_at_the_next_synchronisation(sim: Sim) -> None:
    x, out = sim.buffer((16,)), sim.buffer((16,))
    x.free()
    sim.launch("Exp", x, out)
    assert sim.lib.aclrtSynchronizeStream(None) == 507015
    assert "used after free" in (sim.message() or "")
    assert sim.violations()[0] == 1


@pytest.mark.parametrize("shape, strides, offset", [((5,), (1,), 0), ((4,), (8,), 0), ((2,), (1,), 40)])
def test_kernels_may_not_leave_their_block(sim: Sim, shape, strides, offset) -> None:
    x = sim.buffer((4,))
    sim.launch("InplaceZero", x.view(shape, strides, offset))
    assert sim.lib.aclrtSynchronizeStream(None) == 507015


def test_host_memory_is_no_operand(sim: Sim) -> None:
    out = sim.buffer((4,))
    host = np.zeros(64, np.float32)
    real, out.address = out.address, (host.ctypes.data + 31) // 32 * 32
    sim.launch("InplaceZero", out)
    out.address = real
    assert sim.lib.aclrtSynchronizeStream(None) == 507015
    assert "not device memory" in (sim.message() or "")


def test_copy_kinds_are_checked(sim: Sim) -> None:
    device, host = sim.malloc(64), np.arange(64, dtype=np.uint8)
    back = np.zeros(64, np.uint8)
    wrong = [(device, host.ctypes.data, D2H), (back.ctypes.data, device, H2D), (device, host.ctypes.data, D2D),
             (back.ctypes.data, device, H2H), (device, host.ctypes.data, 9)]  # fmt: skip
    for dst, src, kind in wrong:
        assert sim.lib.aclrtMemcpy(dst, 64, src, 64, kind) == 107000
    sim.memcpy(device, host.ctypes.data, 64, DEFAULT)
    sim.memcpy(back.ctypes.data, device, 64, DEFAULT)
    np.testing.assert_array_equal(back, host)
    assert sim.lib.aclrtMemcpy(device, 32, host.ctypes.data, 64, H2D) == 107000
    assert sim.lib.aclrtMemcpy(device + 64, 64, host.ctypes.data, 64, H2D) == 107000  # past the end
    assert sim.lib.aclrtMemcpyAsync(back.ctypes.data, 64, host.ctypes.data, 64, H2H, None) == 207000
    sim.free(device)
    assert sim.lib.aclrtMemcpy(device, 64, host.ctypes.data, 64, H2D) == 107000


def test_copy_of_a_middle_part(sim: Sim) -> None:
    device, host = sim.malloc(64), np.arange(64, dtype=np.uint8)
    sim.memcpy(device, host.ctypes.data, 64, H2D)
    part = np.zeros(8, np.uint8)
    sim.memcpy(part.ctypes.data, device + 13, 8, D2H)
    np.testing.assert_array_equal(part, np.arange(13, 21))


def test_memset(sim: Sim) -> None:
    x = sim.buffer((16,))
    sim.check(sim.lib.aclrtMemset(x.address, 64, 0, 64))
    assert (x.read() == 0).all()
    sim.check(sim.lib.aclrtMemsetAsync(x.address, 64, 1, 32, None))
    sim.sync()
    assert (x.read().view(np.uint8)[:32] == 1).all() and (x.read()[8:] == 0).all()
    assert sim.lib.aclrtMemset(x.address, 16, 0, 32) == 107000


def test_copies_between_devices(sim: Sim) -> None:
    first = sim.upload(np.arange(8, dtype=np.float32))
    sim.check(sim.lib.aclrtSetDevice(1))
    second = sim.buffer((8,))
    sim.memcpy(second.address, first.address, 32, D2D)
    np.testing.assert_array_equal(second.read(), np.arange(8))
    sim.launch("InplaceZero", first)  # wrong device
    assert sim.lib.aclrtSynchronizeStream(None) == 507015
    assert "belongs to device 0" in (sim.message() or "")
    sim.check(sim.lib.aclrtResetDevice(1))
    sim.check(sim.lib.aclrtSetDevice(0))


def test_exhaustion_and_recovery(in_process) -> None:
    in_process(
        """
        free, total = sim.mem_info()
        assert total == 8 << 20
        blocks = []
        pointer = C.c_void_p()
        while (code := sim.lib.aclrtMalloc(C.byref(pointer), C.c_size_t(1 << 20), 0)) == 0:
            blocks.append(pointer.value)
        assert code == 207001 and len(blocks) == 7 and "out of memory" in sim.message()
        sim.free(blocks.pop(3))
        blocks.append(sim.malloc(1 << 20))
        for block in blocks:
            sim.free(block)
        assert sim.mem_info() == (free, total)
        sim.malloc((8 << 20) - 64)
        assert sim.lib.aclrtMalloc(C.byref(pointer), C.c_size_t(1 << 40), 0) == 207001
        """,
        ASCEND_SIM_HBM="8M",
    )


def test_fragmented_memory_is_out_of_memory_too(in_process) -> None:
    in_process(
        """
        blocks = [sim.malloc((1 << 20) - 64) for _ in range(8)]
        for block in blocks[::2]:
            sim.free(block)
        assert sim.mem_info()[0] == 4 << 20
        pointer = C.c_void_p()
        assert sim.lib.aclrtMalloc(C.byref(pointer), C.c_size_t(2 << 20), 0) == 207001
        sim.malloc((1 << 20) - 64)
        """,
        ASCEND_SIM_HBM="8M",
    )


def test_random_allocations_never_overlap(sim: Sim) -> None:
    rng, live = np.random.default_rng(0), {}
    for _ in range(2000):
        if live and rng.random() < 0.45:
            address = list(live)[rng.integers(len(live))]
            sim.free(address)
            del live[address]
        else:
            size = int(rng.integers(1, 5000))
            live[sim.malloc(size)] = size
    spans = sorted(live.items())
    assert all(a + size <= b for (a, size), (b, _) in zip(spans, spans[1:]))


def test_leaks_are_counted(sim: Sim) -> None:
    before = sim.lib.simLeaks()
    x = sim.buffer((4,))
    sim.run("InplaceZero", x)
    assert sim.lib.simLeaks() == before + 1
    x.free()
    assert sim.lib.simLeaks() == before
    with pytest.raises(SimError):
        sim.free(x.address)
