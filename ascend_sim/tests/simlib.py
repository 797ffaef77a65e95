"""A thin ctypes client of the simulator, used by its tests. It knows the C ABI and nothing else."""

from __future__ import annotations

import ctypes as C
import importlib.util
import os
from pathlib import Path
from typing import Any

import numpy as np

ROOT = Path(__file__).resolve().parent.parent
OK, NULL_PARAM, INVALID_PARAM = 0, 161001, 161002
H2H, H2D, D2H, D2D, DEFAULT = range(5)
SYNC, PROGRESS, TIME_LINE = 1, 2, 8
FLOAT, FLOAT16, INT8, INT32, UINT8, INT16, INT64, DOUBLE, BOOL, BF16 = 0, 1, 2, 3, 4, 6, 9, 11, 12, 27
NUMPY_TYPES = {
    FLOAT: np.float32, FLOAT16: np.float16, INT8: np.int8, INT32: np.int32, UINT8: np.uint8, INT16: np.int16,
    INT64: np.int64, DOUBLE: np.float64, BOOL: np.bool_,
}  # fmt: skip
ACL_TYPES = {np.dtype(value): key for key, value in NUMPY_TYPES.items()}
ARGUMENT_TYPES = {
    "t": C.c_void_p, "s": C.c_void_p, "I": C.c_void_p, "B": C.c_void_p, "L": C.c_void_p, "S": C.c_void_p, "l": C.c_int64,
    "u": C.c_uint64, "i": C.c_int32, "b": C.c_int8, "?": C.c_bool, "d": C.c_double, "f": C.c_float, "D": C.c_int32, "z": C.c_char_p,
}  # fmt: skip


def build_library() -> Path:
    """The library under test: ASCEND_SIM_LIBRARY, or a build of this checkout."""
    given = os.environ.get("ASCEND_SIM_LIBRARY")
    if given:
        return Path(given)
    spec = importlib.util.spec_from_file_location("ascend_sim_build", ROOT / "build.py")
    assert spec and spec.loader
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module.build(ROOT / "build")


class SimError(RuntimeError):
    def __init__(self, code: int, text: str | None) -> None:
        super().__init__(f"{code}: {text}")
        self.code = code


class Buffer:
    """Device memory with a dtype and a shape."""

    def __init__(self, sim: Sim, shape: tuple[int, ...], dtype: int) -> None:
        self.sim, self.shape, self.dtype = sim, shape, dtype
        self.item = 2 if dtype == BF16 else np.dtype(NUMPY_TYPES[dtype]).itemsize
        self.bytes = int(np.prod(shape, dtype=np.int64)) * self.item
        self.address = sim.malloc(max(self.bytes, 1))

    def view(self, shape: tuple[int, ...], strides: tuple[int, ...], offset: int = 0) -> View:
        return View(self, shape, strides, offset)

    def read(self) -> np.ndarray:
        raw = np.empty(max(self.bytes, 1), np.uint8)
        if self.bytes:
            self.sim.memcpy(raw.ctypes.data, self.address, self.bytes, D2H)
        if self.dtype == BF16:
            return from_bf16(raw[: self.bytes].view(np.uint16)).reshape(self.shape)
        return raw[: self.bytes].view(NUMPY_TYPES[self.dtype]).reshape(self.shape)

    def free(self) -> None:
        self.sim.check(self.sim.lib.aclrtFree(C.c_void_p(self.address)))


class View:
    """A strided window on a buffer."""

    def __init__(self, buffer: Buffer, shape: tuple[int, ...], strides: tuple[int, ...], offset: int) -> None:
        self.buffer, self.shape, self.strides, self.offset = buffer, shape, strides, offset
        self.dtype = buffer.dtype


def from_bf16(bits: np.ndarray) -> np.ndarray:
    return (bits.astype(np.uint32) << 16).view(np.float32)


def to_bf16(values: np.ndarray) -> np.ndarray:
    bits = np.ascontiguousarray(values, np.float32).view(np.uint32)
    return ((bits + 0x7FFF + ((bits >> 16) & 1)) >> 16).astype(np.uint16)


class Scalar:
    def __init__(self, value: float, dtype: int | None = None) -> None:
        self.value = value
        self.dtype = dtype if dtype is not None else (DOUBLE if isinstance(value, float) else INT64)


class Sim:
    def __init__(self, path: Path) -> None:
        self.lib = lib = C.CDLL(str(path))
        lib.aclGetRecentErrMsg.restype = C.c_char_p
        lib.aclrtGetSocName.restype = C.c_char_p
        lib.simOpName.restype = C.c_char_p
        lib.simCounterName.restype = C.c_char_p
        lib.simCounter.restype = lib.simLeaks.restype = lib.simLastViolation.restype = C.c_uint64
        lib.simMsptiPending.restype = lib.simMsptiDropped.restype = C.c_uint64
        for name in ("Tensor", "Scalar", "IntArray", "BoolArray", "FloatArray", "TensorList", "ScalarList"):
            getattr(lib, f"aclCreate{name}").restype = C.c_void_p
            getattr(lib, f"aclDestroy{name}").argtypes = [C.c_void_p]
        for name in ("aclrtMemcpy", "aclrtMemcpyAsync"):
            arguments = [C.c_void_p, C.c_size_t, C.c_void_p, C.c_size_t, C.c_int32]
            getattr(lib, name).argtypes = arguments + ([C.c_void_p] if name.endswith("Async") else [])
        lib.aclrtMemset.argtypes = [C.c_void_p, C.c_size_t, C.c_int32, C.c_size_t]
        lib.aclrtMemsetAsync.argtypes = [C.c_void_p, C.c_size_t, C.c_int32, C.c_size_t, C.c_void_p]
        lib.simSetKernelDelay.argtypes = lib.simSetCopyDelay.argtypes = [C.c_uint64]
        lib.simSetOpDelay.argtypes = [C.c_char_p, C.c_uint64]
        lib.simFaultKernel.argtypes = [C.c_uint64, C.c_int32, C.c_char_p]
        self.signatures = self._read_signatures()

    def _read_signatures(self) -> dict[str, str]:
        signatures = {}
        for index in range(self.lib.simOpCount()):
            codes = C.create_string_buffer(32)
            self.lib.simOpSignature(index, codes, C.c_size_t(32))
            name = self.lib.simOpName(index).decode()
            signatures[name] = codes.value.decode()
            phase1, phase2 = getattr(self.lib, f"aclnn{name}GetWorkspaceSize"), getattr(self.lib, f"aclnn{name}")
            types = [ARGUMENT_TYPES[code] for code in signatures[name]]
            phase1.argtypes = [*types, C.POINTER(C.c_uint64), C.POINTER(C.c_void_p)]
            phase2.argtypes = [C.c_void_p, C.c_uint64, C.c_void_p, C.c_void_p]
        return signatures

    # ---- errors and counters
    def check(self, code: int) -> None:
        if code != OK:
            raise SimError(code, self.message())

    def message(self) -> str | None:
        text = self.lib.aclGetRecentErrMsg()
        return text.decode() if text else None

    def counter(self, name: str) -> int:
        return self.lib.simCounter(name.encode())

    def violations(self) -> tuple[int, str]:
        text = C.create_string_buffer(1024)
        count = self.lib.simLastViolation(text, C.c_size_t(1024))
        return count, text.value.decode()

    # ---- memory
    def malloc(self, size: int) -> int:
        pointer = C.c_void_p()
        self.check(self.lib.aclrtMalloc(C.byref(pointer), C.c_size_t(size), 0))
        assert pointer.value
        return pointer.value

    def free(self, address: int) -> None:
        self.check(self.lib.aclrtFree(C.c_void_p(address)))

    def malloc_host(self, size: int) -> int:
        pointer = C.c_void_p()
        self.check(self.lib.aclrtMallocHost(C.byref(pointer), C.c_size_t(size)))
        assert pointer.value
        return pointer.value

    def memcpy(self, dst: int, src: int, size: int, kind: int) -> None:
        self.check(self.lib.aclrtMemcpy(dst, size, src, size, kind))

    def memcpy_async(self, dst: int, src: int, size: int, kind: int, stream: int | None) -> None:
        self.check(self.lib.aclrtMemcpyAsync(dst, size, src, size, kind, stream))

    def mem_info(self) -> tuple[int, int]:
        free, total = C.c_size_t(), C.c_size_t()
        self.check(self.lib.aclrtGetMemInfo(1, C.byref(free), C.byref(total)))
        return free.value, total.value

    def buffer(self, shape: tuple[int, ...], dtype: int = FLOAT) -> Buffer:
        return Buffer(self, shape, dtype)

    def upload(self, array: Any, dtype: int | None = None) -> Buffer:
        array = np.asarray(array)
        raw = np.ascontiguousarray(array)
        if dtype == BF16:
            raw = to_bf16(raw)
        elif dtype is not None:
            raw = raw.astype(NUMPY_TYPES[dtype])
        made = Buffer(self, array.shape, dtype if dtype is not None else ACL_TYPES[raw.dtype])
        if raw.nbytes:
            self.memcpy(made.address, raw.ctypes.data, raw.nbytes, H2D)
        return made

    # ---- streams and events
    def stream(self) -> int:
        handle = C.c_void_p()
        self.check(self.lib.aclrtCreateStream(C.byref(handle)))
        assert handle.value
        return handle.value

    def destroy_stream(self, stream: int) -> None:
        self.check(self.lib.aclrtDestroyStream(C.c_void_p(stream)))

    def sync(self, stream: int | None = None) -> None:
        self.check(self.lib.aclrtSynchronizeStream(C.c_void_p(stream)))

    def event(self, flag: int = SYNC | TIME_LINE) -> int:
        handle = C.c_void_p()
        self.check(self.lib.aclrtCreateEventExWithFlag(C.byref(handle), flag))
        assert handle.value
        return handle.value

    def record(self, event: int, stream: int | None) -> None:
        self.check(self.lib.aclrtRecordEvent(C.c_void_p(event), C.c_void_p(stream)))

    def wait(self, stream: int | None, event: int) -> None:
        self.check(self.lib.aclrtStreamWaitEvent(C.c_void_p(stream), C.c_void_p(event)))

    def event_done(self, event: int) -> bool:
        status = C.c_int32(-1)
        self.check(self.lib.aclrtQueryEventStatus(C.c_void_p(event), C.byref(status)))
        return status.value == 1

    def stream_busy(self, stream: int | None) -> bool:
        status = C.c_int32(-1)
        self.check(self.lib.aclrtStreamQuery(C.c_void_p(stream), C.byref(status)))
        return status.value == 1

    def hold(self, stream: int | None) -> None:
        self.check(self.lib.simHoldStream(C.c_void_p(stream)))

    def release(self, stream: int | None) -> None:
        self.check(self.lib.simReleaseStream(C.c_void_p(stream)))

    # ---- operators
    def tensor(self, value: Buffer | View) -> int:
        if isinstance(value, Buffer):
            strides = [int(np.prod(value.shape[i + 1 :], dtype=np.int64)) for i in range(len(value.shape))]
            value = View(value, value.shape, tuple(strides), 0)
        n = len(value.shape)
        dims, strides_c = (C.c_int64 * max(n, 1))(*value.shape), (C.c_int64 * max(n, 1))(*value.strides)
        storage = (C.c_int64 * 1)(max(value.buffer.bytes // value.buffer.item, 0))
        return self.lib.aclCreateTensor(
            dims, C.c_uint64(n), value.dtype, strides_c, C.c_int64(value.offset), 2, storage, C.c_uint64(1),
            C.c_void_p(value.buffer.address),
        )  # fmt: skip

    def scalar(self, value: Any) -> int:
        scalar = value if isinstance(value, Scalar) else Scalar(value)
        raw = np.array(scalar.value, NUMPY_TYPES[scalar.dtype])
        return self.lib.aclCreateScalar(C.c_void_p(raw.ctypes.data), scalar.dtype)

    def _argument(self, code: str, value: Any) -> tuple[Any, Any]:
        """The C value and the function that destroys it."""
        if value is None:
            return None, None
        if code == "t":
            return self.tensor(value), self.lib.aclDestroyTensor
        if code == "s":
            return self.scalar(value), self.lib.aclDestroyScalar
        if code == "I":
            array = (C.c_int64 * max(len(value), 1))(*value)
            return self.lib.aclCreateIntArray(array, C.c_uint64(len(value))), self.lib.aclDestroyIntArray
        if code == "B":
            array = (C.c_bool * max(len(value), 1))(*value)
            return self.lib.aclCreateBoolArray(array, C.c_uint64(len(value))), self.lib.aclDestroyBoolArray
        if code == "L":
            members = (C.c_void_p * max(len(value), 1))(*[self.tensor(item) for item in value])
            return self.lib.aclCreateTensorList(members, C.c_uint64(len(value))), self.lib.aclDestroyTensorList
        if code == "S":
            members = (C.c_void_p * max(len(value), 1))(*[self.scalar(item) for item in value])
            return self.lib.aclCreateScalarList(members, C.c_uint64(len(value))), self.lib.aclDestroyScalarList
        return value, None

    def prepare(self, name: str, *values: Any) -> tuple[int, int, int | None]:
        """Phase 1: status, workspace size, executor."""
        codes = self.signatures[name]
        assert len(codes) == len(values), f"{name} takes {len(codes)} arguments"
        made = [self._argument(code, value) for code, value in zip(codes, values)]
        workspace, executor = C.c_uint64(), C.c_void_p()
        phase1 = getattr(self.lib, f"aclnn{name}GetWorkspaceSize")
        status = phase1(*[value for value, _ in made], C.byref(workspace), C.byref(executor))
        for value, destroy in made:
            if destroy is not None:
                destroy(value)
        return status, workspace.value, executor.value

    def launch(self, name: str, *values: Any, stream: int | None = None) -> Buffer | None:
        """Both phases; returns the workspace, which must live until the kernel ran."""
        status, size, executor = self.prepare(name, *values)
        self.check(status)
        workspace = Buffer(self, (size,), UINT8) if size else None
        address = workspace.address if workspace else None
        self.check(getattr(self.lib, f"aclnn{name}")(address, size, executor, stream))
        return workspace

    def run(self, name: str, *values: Any) -> None:
        workspace = self.launch(name, *values)
        self.sync()
        if workspace:
            workspace.free()
