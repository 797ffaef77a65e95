"""What the library exports: the runtime functions, both phases of every operator, MSPTI, and the argument codes."""

from __future__ import annotations

import ctypes as C
from pathlib import Path

import pytest
from simlib import INT64, Sim

RUNTIME = """
aclInit aclFinalize aclGetRecentErrMsg aclrtGetVersion aclrtGetSocName aclrtSetDevice aclrtGetDevice aclrtResetDevice
aclrtGetDeviceCount aclrtSynchronizeDevice aclrtSynchronizeDeviceWithTimeout aclrtGetRunMode aclGetDeviceCapability
aclrtGetDeviceInfo aclrtCreateContext aclrtDestroyContext aclrtSetCurrentContext aclrtGetCurrentContext aclrtMalloc
aclrtMallocAlign32 aclrtFree aclrtMallocHost aclrtFreeHost aclrtMemcpy aclrtMemcpyAsync aclrtMemset aclrtMemsetAsync
aclrtGetMemInfo aclrtPointerGetAttributes aclrtCreateStream aclrtCreateStreamWithConfig aclrtDestroyStream
aclrtDestroyStreamForce aclrtSynchronizeStream aclrtSynchronizeStreamWithTimeout aclrtStreamQuery aclrtStreamGetId
aclrtStreamGetPriority aclrtDeviceGetStreamPriorityRange aclrtStreamWaitEvent aclrtCreateEventExWithFlag
aclrtCreateEventWithFlag aclrtDestroyEvent aclrtRecordEvent aclrtSynchronizeEvent aclrtQueryEventStatus
aclrtEventElapsedTime aclrtEventGetTimestamp aclrtLaunchHostFunc aclrtSubscribeReport aclrtLaunchCallback
aclrtProcessReport aclrtGetLastError aclrtPeekAtLastError aclrtSetExceptionInfoCallback
aclrtGetTaskIdFromExceptionInfo aclrtGetStreamIdFromExceptionInfo aclrtGetDeviceIdFromExceptionInfo
aclrtGetErrorCodeFromExceptionInfo aclCreateTensor aclDestroyTensor aclCreateScalar aclDestroyScalar aclCreateIntArray
aclDestroyIntArray aclCreateFloatArray aclDestroyFloatArray aclCreateBoolArray aclDestroyBoolArray aclCreateTensorList
aclDestroyTensorList aclCreateScalarList aclDestroyScalarList aclGetViewShape aclGetStorageShape aclGetViewStrides
aclGetViewOffset aclGetFormat aclGetDataType aclSetAclOpExecutorRepeatable aclDestroyAclOpExecutor
aclSetInputTensorAddr aclSetOutputTensorAddr aclnnInit msptiSubscribe msptiUnsubscribe msptiActivityRegisterCallbacks
msptiActivityEnable msptiActivityDisable msptiActivityIsEnabled msptiActivityGetNextRecord msptiActivityFlushAll
msptiActivityPushExternalCorrelationId msptiActivityPopExternalCorrelationId
"""

MINIMAL = """
Add:ttst Adds:tsst Sub:ttst Subs:tsst Mul:ttt Muls:tst Div:ttt Divs:tst Neg:tt Exp:tt Log:tt Sqrt:tt Rsqrt:tt Abs:tt
Reciprocal:tt PowTensorScalar:tst Sin:tt Cos:tt Erf:tt Tanh:tt TanhBackward:ttt Sigmoid:tt SigmoidBackward:ttt Relu:tt
ThresholdBackward:ttst Gelu:tt GeluBackward:ttt Silu:tt SiluBackward:ttt Softmax:tlt SoftmaxBackward:ttlt
LogSoftmax:tlt LogSoftmaxBackward:ttlt Mm:tttb Matmul:tttb BatchMatMul:tttb Addmm:tttsstb Baddbmm:tttsstb
ReduceSum:tI?Dt Mean:tI?Dt Amax:tI?t MaxDim:tl?tt ArgMax:tl?t Maximum:ttt Minimum:ttt Clamp:tsst EqTensor:ttt
EqScalar:tst NeTensor:ttt LtTensor:ttt GtTensor:ttt GtScalar:tst SWhere:tttt InplaceMaskedFillTensor:ttt
InplaceCopy:tt Cast:tDt Permute:tIt Cat:Llt InplaceFillScalar:ts InplaceZero:t InplaceOne:t Arange:ssst Tril:tlt
Triu:tlt Embedding:ttt EmbeddingDenseBackward:ttuu?t IndexSelect:tltt Gather:tltt ScatterAdd:tlttt LayerNorm:tIttdttt
LayerNormBackward:ttIttttBttt BatchNorm:ttttt?ddttt BatchNormBackward:ttttttt?dBttt Convolution:tttIII?Iltb
ConvolutionBackward:tttIIII?IiBbttt MaxPool2dWithIndices:tIIII?tt MaxPool2dWithIndicesBackward:tttIIII?t
NLLLoss:tttlltt NLLLossBackward:ttttlltt DropoutGenMask:Idllt DropoutDoMask:ttdt InplaceNormal:tffll
InplaceUniform:tdduu Addcmul:tttst Addcdiv:tttst ApplyAdamWV2:ttttttfffff??
"""


@pytest.mark.parametrize("name", RUNTIME.split())
def test_function_is_exported(loaded: Sim, name: str) -> None:
    assert getattr(loaded.lib, name)


def test_minimal_operators_have_both_phases_and_the_documented_arguments(loaded: Sim) -> None:
    wanted = dict(row.split(":") for row in MINIMAL.split())
    assert len(wanted) == 86
    assert {name: loaded.signatures.get(name) for name in wanted} == wanted
    for name in loaded.signatures:
        assert getattr(loaded.lib, f"aclnn{name}GetWorkspaceSize") and getattr(loaded.lib, f"aclnn{name}")


def test_nothing_but_the_interface_is_exported(library: Path) -> None:
    exported = dynamic_symbols(library)
    prefixes = ("acl", "mspti", "mstx", "sim", "rt", "hal", "Msprof", "Hccl")
    assert [name for name in exported if not name.startswith(prefixes)] == []


def dynamic_symbols(library: Path) -> list[str]:
    """Names of the defined dynamic symbols, read from the ELF file."""
    data = library.read_bytes()
    word = lambda at, size: int.from_bytes(data[at : at + size], "little")  # noqa: E731
    sections = [word(40, 8) + i * word(58, 2) for i in range(word(60, 2))]
    table = next(s for s in sections if word(s + 4, 4) == 11)  # SHT_DYNSYM
    strings = word(sections[word(table + 40, 4)] + 24, 8)
    names = []
    for at in range(word(table + 24, 8), word(table + 24, 8) + word(table + 32, 8), 24):
        is_global, defined = data[at + 4] >> 4 in (1, 2), word(at + 6, 2) != 0
        if is_global and defined:
            start = strings + word(at, 4)
            names.append(data[start : data.index(0, start)].decode())
    return names


def test_tensor_getters(sim: Sim) -> None:
    tensor = C.c_void_p(sim.tensor(sim.buffer((4, 6), INT64).view((3, 2), (6, 2), 5)))
    values, count, number, offset = C.POINTER(C.c_int64)(), C.c_uint64(), C.c_int32(), C.c_int64()
    for getter, expected in (("ViewShape", [3, 2]), ("ViewStrides", [6, 2]), ("StorageShape", [24])):
        sim.check(getattr(sim.lib, f"aclGet{getter}")(tensor, C.byref(values), C.byref(count)))
        assert values[: count.value] == expected
    sim.check(sim.lib.aclGetViewOffset(tensor, C.byref(offset)))
    sim.check(sim.lib.aclGetDataType(tensor, C.byref(number)))
    assert (offset.value, number.value) == (5, INT64)
    sim.lib.aclDestroyTensor(tensor)


def test_settings_are_kept(sim: Sim) -> None:
    number, wide = C.c_int32(), C.c_int64()
    sim.check(sim.lib.aclrtSetDeviceSatMode(1))
    sim.check(sim.lib.aclrtGetDeviceSatMode(C.byref(number)))
    assert number.value == 1
    sim.check(sim.lib.aclrtSetSysParamOpt(1, C.c_int64(7)))
    sim.check(sim.lib.aclrtGetSysParamOpt(1, C.byref(wide)))
    assert wide.value == 7
    sim.check(sim.lib.aclSetCompileopt(3, b"enable"))
    text = C.create_string_buffer(64)
    sim.check(sim.lib.aclGetCompileopt(3, text, C.c_size_t(64)))
    assert text.value == b"enable"


def test_what_is_not_modelled_says_so(sim: Sim) -> None:
    assert sim.lib.aclrtMapMem(None, C.c_size_t(0), C.c_size_t(0), None, C.c_uint64(0)) == 207000
    assert "not modelled" in (sim.message() or "")
    assert sim.lib.aclopCompileAndExecute(b"Frobnicate") == 207000
    assert "Frobnicate" in (sim.message() or "")


def test_callbacks_run_on_the_subscribed_thread(sim: Sim) -> None:
    stream, seen = sim.stream(), []
    call = C.CFUNCTYPE(None, C.c_void_p)(lambda value: seen.append(value))
    sim.check(sim.lib.aclrtSubscribeReport(C.c_uint64(1), C.c_void_p(stream)))
    for block, value in ((1, 11), (0, 22)):
        sim.check(sim.lib.aclrtLaunchCallback(call, C.c_void_p(value), block, C.c_void_p(stream)))
    assert sim.stream_busy(stream) and seen == []
    sim.check(sim.lib.aclrtProcessReport(5000))
    sim.check(sim.lib.aclrtProcessReport(5000))
    assert seen == [11, 22]
    sim.sync(stream)
    assert sim.lib.aclrtProcessReport(1) == 107019
