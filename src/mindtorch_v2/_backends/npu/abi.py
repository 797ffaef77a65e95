"""The C ABI of Ascend's libraries as one table: functions, enumerations, error names. Prototypes are generated from it.

Codes of runtime functions: `p` any pointer or handle, `i` int32 or enum, `u` uint32, `l` int64, `U` uint64, `n` size_t,
`z` C string. The part after `>` is what is returned; without it an int32 status.
`operator_codes.py` has the operators.
"""

from __future__ import annotations

import ctypes
from typing import Any

import numpy as np

from .operator_codes import OPERATORS as OPERATORS

RUNTIME = {
    # start, device
    "aclInit": "z",
    "aclFinalize": "",
    "aclGetRecentErrMsg": ">z",
    "aclrtGetVersion": "ppp",
    "aclrtGetSocName": ">z",
    "aclrtSetDevice": "i",
    "aclrtGetDevice": "p",
    "aclrtResetDevice": "i",
    "aclrtGetDeviceCount": "p",
    "aclrtSynchronizeDevice": "",
    "aclrtSynchronizeDeviceWithTimeout": "i",
    "aclGetDeviceCapability": "uip",
    # memory
    "aclrtMalloc": "pni",
    "aclrtFree": "p",
    "aclrtMallocHost": "pn",
    "aclrtFreeHost": "p",
    "aclrtMemcpy": "pnpni",
    "aclrtMemcpyAsync": "pnpnip",
    "aclrtMemset": "pnin",
    "aclrtMemsetAsync": "pninp",
    "aclrtGetMemInfo": "ipp",
    # streams
    "aclrtCreateStreamWithConfig": "puu",
    "aclrtCreateStream": "p",
    "aclrtDestroyStream": "p",
    "aclrtSynchronizeStream": "p",
    "aclrtSynchronizeStreamWithTimeout": "pi",
    "aclrtStreamQuery": "pp",
    "aclrtStreamGetId": "pp",
    "aclrtStreamWaitEvent": "pp",
    "aclrtDeviceGetStreamPriorityRange": "pp",
    # events
    "aclrtCreateEventExWithFlag": "pu",
    "aclrtCreateEventWithFlag": "pu",
    "aclrtDestroyEvent": "p",
    "aclrtRecordEvent": "pp",
    "aclrtSynchronizeEvent": "p",
    "aclrtQueryEventStatus": "pp",
    "aclrtEventElapsedTime": "ppp",
    "aclrtEventGetTimestamp": "pp",
    # objects that operators take
    "aclCreateTensor": "pUiplipUp>p",
    "aclCreateScalar": "pi>p",
    "aclCreateIntArray": "pU>p",
    "aclCreateBoolArray": "pU>p",
    "aclCreateTensorList": "pU>p",
    "aclDestroyTensor": "p",
    "aclDestroyScalar": "p",
    "aclDestroyIntArray": "p",
    "aclDestroyBoolArray": "p",
    "aclDestroyTensorList": "p",
}

MSPTI = {
    "msptiSubscribe": "ppp",
    "msptiUnsubscribe": "p",
    "msptiActivityRegisterCallbacks": "pp",
    "msptiActivityEnable": "i",
    "msptiActivityDisable": "i",
    "msptiActivityGetNextRecord": "pnp",
    "msptiActivityFlushAll": "u",
    "msptiActivityPushExternalCorrelationId": "iU",
    "msptiActivityPopExternalCorrelationId": "ip",
}

# --- enumerations
DATA_TYPES = {
    "float32": 0,
    "float16": 1,
    "int8": 2,
    "int32": 3,
    "uint8": 4,
    "int16": 6,
    "int64": 9,
    "float64": 11,
    "bool": 12,
    "complex64": 16,
    "complex128": 17,
    "bfloat16": 27,
}
FORMAT_ND, FORMAT_NCHW, FORMAT_NCDHW, FORMAT_NCL = 2, 0, 30, 47
FORMAT_OF_RANK = {3: FORMAT_NCL, 4: FORMAT_NCHW, 5: FORMAT_NCDHW}
HOST_TO_HOST, HOST_TO_DEVICE, DEVICE_TO_HOST, DEVICE_TO_DEVICE = 0, 1, 2, 3
MALLOC_HUGE_FIRST = 0
MEMORY_HBM = 1
EVENT_SYNC, EVENT_PROGRESS, EVENT_TIME_LINE = 1, 2, 8
EVENT_COMPLETE = 1  # aclrtQueryEventStatus
STREAM_COMPLETE = 0  # aclrtStreamQuery
STREAM_FAST = 1 | 2  # fast launch, fast synchronisation
CAPABILITY_AI_CORES, CAPABILITY_VECTOR_CORES = 0, 1
CUBE_KEEP_DTYPE, CUBE_ALLOW_FLOAT32_DOWN = 0, 1

# The first generation of Ascend910, whose matrix unit takes no float32: "Ascend910B" is one of it, "Ascend910B1" to
# "B4" are not.
_FIRST_910 = frozenset(("Ascend910", "Ascend910A", "Ascend910B", "Ascend910ProA", "Ascend910ProB", "Ascend910PremiumA"))
PRIORITIES = (0, 7)  # of streams: the greatest and the least, where the libraries do not tell

REPEAT_INIT = 100002
TIMES_REVERSED = 107007
OUT_OF_MEMORY = (207001, 207018, 200000)
INVALID_OPERAND = (161001, 161002)
ERRORS = {
    100000: "invalid parameter",
    100001: "not initialised",
    100002: "initialised twice",
    100037: "finalised twice",
    107000: "invalid parameter",
    107001: "no such device",
    107002: "no device was set on this thread",
    107003: "the stream belongs to another context",
    107006: "the event holds no time stamp",
    107007: "the time stamps are reversed",
    107017: "invalid handle",
    107019: "timeout",
    107020: "timeout of a task",
    161001: "missing operand",
    161002: "unsupported operand",
    200000: "allocation failed",
    207000: "feature not supported",
    207001: "out of memory",
    207007: "no event left",
    207008: "no stream left",
    207018: "out of memory",
    361001: "runtime error in an operator",
    507000: "internal error",
    507015: "AI core exception",
    507018: "AI CPU exception",
    507035: "vector core exception",
    507046: "timeout of a stream synchronisation",
    507047: "timeout of an event synchronisation",
    507057: "another device does not answer",
    561101: "no executor",
}

MSPTI_ERRORS = {
    1: "invalid parameter",
    2: "another subscriber holds it",
    3: "limit reached",
    4: "device offline",
    5: "nothing there",
    6: "libmspti.so is not in LD_PRELOAD",
    999: "inner error",
}

# --- activity records (packed)
KIND_KERNEL, KIND_MEMSET, KIND_MEMCPY, KIND_EXTERNAL = 2, 6, 7, 8
EXTERNAL_CUSTOM0 = 2
RECORD_SIZES = {KIND_KERNEL: 56, KIND_MEMSET: 56, KIND_MEMCPY: 56, KIND_EXTERNAL: 24}
# detail: the copy's kind, or the value set
_TRANSFER = np.dtype(
    [
        ("kind", "<u4"),
        ("detail", "<u4"),
        ("nbytes", "<i8"),
        ("start", "<i8"),
        ("end", "<i8"),
        ("device", "<u4"),
        ("stream", "<u4"),
        ("correlation", "<i8"),
        ("is_asynchronous", "u1"),
    ]
)
RECORD_LAYOUTS = {  # packed
    KIND_KERNEL: np.dtype(
        [
            ("kind", "<u4"),
            ("start", "<i8"),
            ("end", "<i8"),
            ("device", "<u4"),
            ("stream", "<u4"),
            ("correlation", "<i8"),
            ("type", "<u8"),
            ("name", "<u8"),
        ]
    ),
    KIND_EXTERNAL: np.dtype([("kind", "<u4"), ("external_kind", "<u4"), ("launch_id", "<i8"), ("correlation", "<i8")]),
    KIND_MEMCPY: _TRANSFER,
    KIND_MEMSET: _TRANSFER,
}

# --- prototypes
_TYPES: dict[str, Any] = {
    "p": ctypes.c_void_p,
    "z": ctypes.c_char_p,
    "i": ctypes.c_int32,
    "u": ctypes.c_uint32,
    "l": ctypes.c_int64,
    "U": ctypes.c_uint64,
    "n": ctypes.c_size_t,
}
_OPERAND_TYPES: dict[str, Any] = {
    **dict.fromkeys("tsIBL", ctypes.c_void_p),
    "l": ctypes.c_int64,
    "u": ctypes.c_uint64,
    "i": ctypes.c_int32,
    "b": ctypes.c_int8,
    "?": ctypes.c_bool,
    "d": ctypes.c_double,
    "f": ctypes.c_float,
    "D": ctypes.c_int32,
}
_SECOND_PHASE = [ctypes.c_void_p, ctypes.c_uint64, ctypes.c_void_p, ctypes.c_void_p]


def declare(function: Any, code: str) -> Any:
    """Gives a runtime function of a library its prototype."""
    given, _, returned = code.partition(">")
    function.argtypes = [_TYPES[c] for c in given]
    function.restype = _TYPES[returned] if returned else ctypes.c_int32
    return function


def declare_operator(first: Any, second: Any, code: str) -> None:
    """Gives the two phases of an operator their prototypes."""
    first.argtypes = [*(_OPERAND_TYPES[c] for c in code), ctypes.c_void_p, ctypes.c_void_p]
    second.argtypes = _SECOND_PHASE
    first.restype = second.restype = ctypes.c_int32


def lacks_float32_products(soc: str) -> bool:
    """Whether the matrix unit of a chip must be allowed to compute products of float32 in a narrower type."""
    return soc in _FIRST_910 or soc.startswith("Ascend310P")


def explain(code: int) -> str:
    """A status in words."""
    return ERRORS.get(code, "unknown error")
