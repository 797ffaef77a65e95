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


def test_a_block_at_the_cursor_is_not_handed_out_again(in_process) -> None:
    """Next fit comes round to the base, where a block lies: its bytes stay as they were."""
    in_process(
        """
        first = sim.malloc(4096)
        sim.check(sim.lib.aclrtMemset(C.c_void_p(first), 4096, 7, 4096))
        size = (sim.mem_info()[0] // 4 - 128) // 64 * 64
        big = [sim.malloc(size) for _ in range(4)]
        for address in big:
            sim.free(address)
        made = [sim.malloc(4096) for _ in range(40)] + [sim.malloc(size - (64 << 10)) for _ in range(3)]
        assert first not in made and not any(first < address < first + 4096 for address in made)
        back = np.zeros(4096, np.uint8)
        sim.memcpy(back.ctypes.data, first, 4096, D2H)
        assert (back == 7).all()
        assert sim.violations()[0] == 0 and sim.lib.simCheckMemory(None, C.c_size_t(0)) == 0
        """,
        ASCEND_SIM_HBM="4M", ASCEND_SIM_CHECK=1,
    )  # fmt: skip


@pytest.mark.parametrize("seed", range(4))
def test_a_model_of_the_memory_agrees_with_every_answer(in_process, seed: int) -> None:
    """Random allocations and frees that walk round the arena often: an address is given iff the model has room, and
    never one that is live.

    Streams hold some blocks after they were freed: those are not given out before their task ran."""
    in_process(
        f"""
        import random
        rng = random.Random({seed})
        span_of = lambda size: ((size + 31) // 32 * 32 + 32 + 63) // 64 * 64
        live, held, tag = {{}}, {{}}, 0                      # address -> (size, byte); address -> span of freed blocks that tasks use
        free, total = sim.mem_info()
        first = sim.malloc(1); base = first; live[first] = (1, None)
        stream = sim.stream()

        def room(span):
            at = base
            for low, high in sorted([(a, a + span_of(s)) for a, (s, _) in live.items()] + [(a, a + s) for a, s in held.items()]):
                if low - at >= span: return True
                at = max(at, high)
            return base + total - at >= span

        for step in range(1500):
            if live and rng.random() < 0.47:
                address = rng.choice(list(live)); size, byte = live.pop(address)
                if byte is not None:
                    back = np.zeros(size, np.uint8); sim.memcpy(back.ctypes.data, address, size, D2H)
                    assert (back == byte).all(), (step, address)
                if rng.random() < 0.1 and size >= 64:
                    sim.hold(stream)
                    sim.check(sim.lib.aclrtMemsetAsync(C.c_void_p(address), size, 1, 64, C.c_void_p(stream)))
                    assert sim.lib.aclrtFree(C.c_void_p(address)) == 507000      # freed although a task uses it
                    held[address] = span_of(size)
                else:
                    sim.free(address)
            elif held and rng.random() < 0.3:
                sim.release(stream); sim.lib.aclrtSynchronizeStream(C.c_void_p(stream)); held.clear()
                sim.lib.simClearDeviceError(0)
            else:
                size = rng.choice([rng.randrange(1, 300), rng.randrange(1, 9000), rng.randrange(1, 200000)])
                pointer = C.c_void_p()
                code = sim.lib.aclrtMalloc(C.byref(pointer), C.c_size_t(size), 0)
                assert (code == 0) == room(span_of(size)), (step, code, size)
                if code: continue
                for other, span in [(a, span_of(s)) for a, (s, _) in live.items()] + list(held.items()):
                    assert pointer.value + span_of(size) <= other or other + span <= pointer.value, step
                tag = (tag + 1) % 251
                sim.check(sim.lib.aclrtMemset(pointer, size, tag, size))
                live[pointer.value] = (size, tag)
        why = C.create_string_buffer(200)
        assert sim.lib.simCheckMemory(why, C.c_size_t(200)) == 0, why.value
        assert "registry" not in sim.violations()[1] and "in use" not in sim.violations()[1], sim.violations()
        """,
        ASCEND_SIM_HBM="1M", ASCEND_SIM_DEVICES=1, ASCEND_SIM_CHECK=1,
    )  # fmt: skip


def test_leaks_are_counted(sim: Sim) -> None:
    before = sim.lib.simLeaks()
    x = sim.buffer((4,))
    sim.run("InplaceZero", x)
    assert sim.lib.simLeaks() == before + 1
    x.free()
    assert sim.lib.simLeaks() == before
    with pytest.raises(SimError):
        sim.free(x.address)
