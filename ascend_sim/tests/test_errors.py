"""Initialisation, threads, parameter checks, faults, SoC profiles."""

from __future__ import annotations

import ctypes as C
import os
import threading

import numpy as np
import pytest
from simlib import BOOL, DOUBLE, FLOAT, INT32, INT64, INVALID_PARAM, NULL_PARAM, OK, Sim


def in_thread(function) -> object:
    result = []
    thread = threading.Thread(target=lambda: result.append(function()))
    thread.start()
    thread.join()
    return result[0]


# ---- life cycle and threads -----------------------------------------------------------------------------------------
def test_init_and_finalize(in_process) -> None:
    in_process(
        """
        lib, number = sim.lib, C.c_int32()
        assert lib.aclInit(None) == 100002
        assert lib.aclrtGetDevice(C.byref(number)) == 107002
        assert lib.aclrtSetDevice(7) == 107001
        assert lib.aclrtSetDevice(1) == 0
        assert lib.aclrtGetDevice(C.byref(number)) == 0 and number.value == 1
        sim.malloc(100)
        assert lib.aclFinalize() == 0
        assert lib.aclFinalize() == 100037
        assert lib.aclrtSetDevice(0) == 100001
        assert lib.aclInit(None) == 0 and lib.aclrtSetDevice(0) == 0
        """,
        device=False,
    )


def test_identity(sim: Sim) -> None:
    assert sim.lib.simIsSimulator() == 1
    assert sim.lib.aclrtGetSocName() == b"Ascend910B1"
    count, mode = C.c_uint32(), C.c_int32()
    sim.check(sim.lib.aclrtGetDeviceCount(C.byref(count)))
    sim.check(sim.lib.aclrtGetRunMode(C.byref(mode)))
    assert count.value == 2 and mode.value == 1
    version = [C.c_int32() for _ in range(3)]
    sim.check(sim.lib.aclrtGetVersion(*map(C.byref, version)))


def test_the_device_is_a_property_of_the_thread(sim: Sim) -> None:
    pointer = C.c_void_p()
    x = sim.buffer((4,))
    assert in_thread(lambda: sim.lib.aclrtMalloc(C.byref(pointer), C.c_size_t(8), 0)) == 107002
    assert in_thread(lambda: sim.lib.aclrtSynchronizeStream(None)) == 107002
    _, _, executor = sim.prepare("InplaceZero", x)
    assert in_thread(lambda: sim.lib.aclnnInplaceZero(None, 0, executor, None)) == 361001
    assert sim.lib.aclnnInplaceZero(None, 0, executor, None) == OK  # still usable here
    sim.sync()


def test_contexts(sim: Sim) -> None:
    default, made, found = C.c_void_p(), C.c_void_p(), C.c_void_p()
    sim.check(sim.lib.aclrtGetCurrentContext(C.byref(default)))
    sim.check(sim.lib.aclrtCreateContext(C.byref(made), 1))
    number = C.c_int32()
    sim.check(sim.lib.aclrtGetDevice(C.byref(number)))
    assert number.value == 1
    sim.check(sim.lib.aclrtSetCurrentContext(default))
    sim.check(sim.lib.aclrtGetDevice(C.byref(number)))
    sim.check(sim.lib.aclrtGetCurrentContext(C.byref(found)))
    assert number.value == 0 and found.value == default.value
    assert in_thread(lambda: sim.lib.aclrtSetCurrentContext(default)) == OK
    sim.check(sim.lib.aclrtDestroyContext(made))
    assert sim.lib.aclrtSetCurrentContext(made) == 107017
    sim.check(sim.lib.aclrtResetDevice(1))


def test_a_stream_belongs_to_its_device(sim: Sim) -> None:
    stream = sim.stream()
    sim.check(sim.lib.aclrtSetDevice(1))
    assert sim.lib.aclrtSynchronizeStream(C.c_void_p(stream)) == 107003
    sim.check(sim.lib.aclrtResetDevice(1))
    sim.check(sim.lib.aclrtSetDevice(0))


def test_messages_are_per_thread_and_consumed(sim: Sim) -> None:
    assert sim.lib.aclrtSetDevice(99) == 107001
    assert in_thread(sim.message) is None
    assert sim.lib.aclrtPeekAtLastError(0) == 107001
    assert "99" in (sim.message() or "")
    assert sim.message() is None
    assert sim.lib.aclrtGetLastError(0) == 107001
    assert sim.lib.aclrtGetLastError(0) == 0


def test_a_forked_child_is_refused(sim: Sim) -> None:
    child = os.fork()
    if child == 0:
        pointer = C.c_void_p()
        os._exit(0 if sim.lib.aclrtMalloc(C.byref(pointer), C.c_size_t(8), 0) == 507000 else 1)
    assert os.waitpid(child, 0)[1] == 0
    sim.run("InplaceZero", sim.buffer((4,)))


# ---- phase 1 --------------------------------------------------------------------------------------------------------
def test_null_arguments(sim: Sim) -> None:
    x = sim.buffer((4,))
    assert sim.prepare("Add", None, x, 1.0, x)[0] == NULL_PARAM
    assert sim.prepare("Add", x, x, None, x)[0] == NULL_PARAM
    assert sim.prepare("Clamp", x, None, None, x)[0] == NULL_PARAM
    assert sim.prepare("Clamp", x, None, 1.0, x)[0] == OK
    tensor = sim.tensor(x)
    assert sim.lib.aclnnInplaceZeroGetWorkspaceSize(tensor, None, None) == NULL_PARAM
    sim.lib.aclDestroyTensor(tensor)


def test_invalid_shapes_and_types(sim: Sim) -> None:
    def status(name, *arguments):
        code, _, executor = sim.prepare(name, *arguments)
        assert (executor is None) == (code != OK)
        return code

    f, g, i, d = sim.buffer((4, 3)), sim.buffer((5,)), sim.buffer((4, 3), INT64), sim.buffer((4, 3), DOUBLE)
    b, s = sim.buffer((4, 3), BOOL), sim.buffer((3, 4))
    bad = [
        ("Add", f, g, 1.0, f), ("Add", f, f, 1.0, g), ("Exp", f, i), ("Exp", f, g), ("Neg", b, b),
        ("Mm", f, f, f, 0), ("Mm", d, d, d, 0), ("Mm", f, s, sim.buffer((4, 4)), 9), ("Softmax", f, 2, f),
        ("Softmax", i, 0, i), ("ReduceSum", f, [5], False, FLOAT, g), ("ReduceSum", f, [0, 0], False, FLOAT, g),
        ("ReduceSum", f, [0], False, DOUBLE, sim.buffer((3,))), ("Cast", f, INT64, f), ("Permute", f, [0, 0], s),
        ("Cat", [f, g], 0, f), ("IndexSelect", f, 0, g, f), ("Embedding", f, f, f), ("Arange", 0, 10, 1, g),
        ("InplaceMaskedFillTensor", f, f, sim.buffer(())), ("Tril", g, 0, g), ("Gelu", d, d), ("SWhere", f, f, f, f),
        ("LayerNorm", f, [4], None, None, 1e-5, f, None, None),
        ("Convolution", f, f, None, [1], [0], [1], False, [0], 1, f, 0),
        ("DropoutDoMask", f, sim.buffer((1,), 4), 0.5, f), ("MaxDim", f, 0, False, sim.buffer((3,)), sim.buffer((3,))),
    ]  # fmt: skip
    for case in bad:
        assert status(*case) == INVALID_PARAM, case
        assert (sim.message() or "").count(f"aclnn{case[0]}") == 1
    assert sim.violations()[0] == 0


def test_an_unaligned_address_is_reported(sim: Sim) -> None:
    x = sim.buffer((16,))
    x.address += 4
    assert sim.prepare("InplaceZero", x)[0] == OK
    assert "aligned" in sim.violations()[1]
    x.address -= 4


# ---- phase 2 --------------------------------------------------------------------------------------------------------
def test_an_executor_is_used_once(sim: Sim) -> None:
    x = sim.buffer((4,))
    _, _, executor = sim.prepare("InplaceOne", x)
    phase2 = sim.lib.aclnnInplaceOne
    assert phase2(None, 0, executor, None) == OK
    assert phase2(None, 0, executor, None) == 561101
    assert sim.violations()[0] == 1
    assert phase2(None, 0, None, None) == NULL_PARAM
    sim.sync()
    _, _, other = sim.prepare("InplaceZero", x)
    assert phase2(None, 0, other, None) == INVALID_PARAM
    sim.check(sim.lib.aclDestroyAclOpExecutor(C.c_void_p(other)))


def test_a_repeatable_executor(sim: Sim) -> None:
    x, y, out = sim.upload(np.ones(4, np.float32)), sim.upload(np.full(4, 5, np.float32)), sim.buffer((4,))
    _, _, executor = sim.prepare("Adds", x, 1.0, 1.0, out)
    sim.check(sim.lib.aclSetAclOpExecutorRepeatable(C.c_void_p(executor)))
    sim.check(sim.lib.aclnnAdds(None, 0, executor, None))
    sim.sync()
    assert (out.read() == 2).all()
    sim.check(sim.lib.aclSetInputTensorAddr(C.c_void_p(executor), C.c_size_t(0), None, C.c_void_p(y.address)))
    sim.check(sim.lib.aclnnAdds(None, 0, executor, None))
    sim.sync()
    assert (out.read() == 6).all()
    sim.check(sim.lib.aclDestroyAclOpExecutor(C.c_void_p(executor)))
    assert sim.lib.aclDestroyAclOpExecutor(C.c_void_p(executor)) == INVALID_PARAM


def test_workspace_is_required_and_must_be_device_memory(sim: Sim) -> None:
    a, out = sim.buffer((8, 8)), sim.buffer((8, 8))
    status, size, executor = sim.prepare("Mm", a, a, out, 0)
    assert status == OK and size > 0
    assert sim.lib.aclnnMm(None, 0, executor, None) == INVALID_PARAM
    host = np.zeros(size, np.uint8)
    assert sim.lib.aclnnMm(host.ctypes.data, size, executor, None) == OK
    assert sim.lib.aclrtSynchronizeStream(None) == 507015


def test_a_workspace_written_by_others_while_its_kernel_runs_is_noticed(sim: Sim) -> None:
    a, out = sim.upload(np.ones((8, 8), np.float32)), sim.buffer((8, 8))
    sim.lib.simSetKernelDelay(100_000_000)
    started = sim.counter("kernels_started")
    workspace = sim.launch("Mm", a, a, out, 0)
    assert workspace
    while sim.counter("kernels_started") == started:
        pass
    sim.check(sim.lib.aclrtMemset(workspace.address, workspace.bytes, 0, workspace.bytes))
    sim.sync()
    assert "workspace" in sim.violations()[1]


def test_operands_are_copied_at_phase_one(sim: Sim) -> None:
    """The client destroys its descriptors right after phase 2, while the kernel is still queued."""
    x, out, stream = sim.upload(np.ones((3, 4), np.float32)), sim.buffer((4,)), sim.stream()
    sim.hold(stream)
    workspace = sim.launch("ReduceSum", x, [0], False, FLOAT, out, stream=stream)
    assert sim.counter("tensors_live") == sim.counter("arrays_live") == 0
    sim.release(stream)
    sim.sync(stream)
    assert workspace and (out.read() == 3).all()


# ---- faults ----------------------------------------------------------------------------------------------------------
def test_an_injected_fault_surfaces_at_the_synchronisation_and_sticks(sim: Sim) -> None:
    x, out = sim.upload(np.ones(4, np.float32)), sim.upload(np.zeros(4, np.float32))
    sim.lib.simFaultKernel(2, 0, None)
    sim.hold(None)
    for _ in range(3):
        sim.launch("Add", x, out, 1.0, out)
    sim.release(None)
    assert sim.lib.aclrtSynchronizeStream(None) == 507015
    assert "injected" in (sim.message() or "")
    assert sim.lib.aclrtSynchronizeDevice() == 507015
    assert sim.counter("tasks_skipped") >= 1
    code, _, executor = sim.prepare("Add", x, out, 1.0, out)
    assert code == OK and sim.lib.aclnnAdd(None, 0, executor, None) == 361001
    host = np.zeros(4, np.float32)
    assert sim.lib.aclrtMemcpy(host.ctypes.data, 16, out.address, 16, 2) == 507015
    sim.check(sim.lib.aclDestroyAclOpExecutor(C.c_void_p(executor)))
    sim.check(sim.lib.aclrtResetDevice(0))
    sim.check(sim.lib.aclrtSetDevice(0))
    fresh = sim.upload(np.ones(4, np.float32))
    sim.run("Adds", fresh, 1.0, 1.0, fresh)
    assert (fresh.read() == 2).all()


def test_fault_of_one_operator_with_a_code_and_the_exception_callback(sim: Sim) -> None:
    seen = []

    def on_exception(info: int) -> None:
        getters = ("TaskId", "StreamId", "DeviceId", "ErrorCode")
        seen.append([getattr(sim.lib, f"aclrtGet{g}FromExceptionInfo")(C.c_void_p(info)) for g in getters])

    callback = C.CFUNCTYPE(None, C.c_void_p)(on_exception)
    sim.check(sim.lib.aclrtSetExceptionInfoCallback(callback))
    x = sim.buffer((4,))
    sim.lib.simFaultKernel(1, 507035, b"InplaceOne")
    sim.launch("InplaceZero", x)
    sim.launch("InplaceOne", x)
    assert sim.lib.aclrtSynchronizeDevice() == 507035
    sim.check(sim.lib.aclrtSetExceptionInfoCallback(None))
    assert len(seen) == 1 and seen[0][2:] == [0, 507035]


def test_fault_from_the_environment(in_process) -> None:
    in_process(
        """
        x = sim.buffer((4,))
        sim.hold(None)
        for _ in range(4):
            sim.launch("InplaceZero", x)
        sim.release(None)
        assert sim.lib.aclrtSynchronizeDevice() == 507018
        assert sim.counter("kernels_done") == 2
        """,
        ASCEND_SIM_FAULT_KERNEL=3,
        ASCEND_SIM_FAULT_CODE=507018,
    )


def test_events_still_complete_after_a_fault(sim: Sim) -> None:
    x, event, second = sim.buffer((4,)), sim.event(), sim.stream()
    sim.lib.simFaultKernel(1, 0, None)
    sim.launch("InplaceZero", x)
    sim.record(event, None)
    sim.wait(second, event)
    assert sim.lib.aclrtSynchronizeStream(C.c_void_p(second)) == 507015


# ---- SoC profiles ----------------------------------------------------------------------------------------------------
@pytest.mark.parametrize("soc, name", [("910A", b"Ascend910A"), ("310P", b"Ascend310P3")])
def test_older_chips_refuse_float32_products_and_bfloat16(in_process, soc: str, name: bytes) -> None:
    in_process(
        f"""
        assert sim.lib.aclrtGetSocName() == {name!r}
        x = sim.buffer((4, 4))
        assert sim.prepare("Mm", x, x, x, 0)[0] == INVALID_PARAM
        assert sim.prepare("Mm", x, x, x, 1)[0] == OK
        assert sim.prepare("Exp", sim.buffer((4,), BF16), sim.buffer((4,), BF16))[0] == INVALID_PARAM
        assert sim.lib.msptiSubscribe(C.byref(C.c_void_p()), None, None) == 999
        """,
        ASCEND_SIM_SOC=soc,
    )


def test_unsupported_data_types(sim: Sim) -> None:
    x = sim.buffer((4,), INT32)
    x.dtype = 16  # complex
    assert sim.prepare("InplaceZero", x)[0] == INVALID_PARAM
