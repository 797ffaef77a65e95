"""The C ABI of HCCL, the library that passes data between devices, as a table (see `abi` for the codes)."""

from __future__ import annotations

import ctypes

FUNCTIONS = {
    # communicators
    "HcclGetRootInfo": "p",
    "HcclCommInitRootInfo": "upup",
    "HcclCommInitRootInfoConfig": "upupp",
    "HcclGetCommConfigCapability": ">u",
    "HcclCommDestroy": "p",
    # collectives
    "HcclAllReduce": "ppUiipp",
    "HcclReduce": "ppUiiupp",
    "HcclBroadcast": "pUiupp",
    "HcclAllGather": "ppUipp",
    "HcclReduceScatter": "ppUiipp",
    "HcclScatter": "ppUiupp",
    "HcclAlltoAllV": "pppipppipp",
    "HcclBarrier": "pp",
    # messages
    "HcclSend": "pUiupp",
    "HcclRecv": "pUiupp",
    "HcclBatchSendRecv": "pupp",
    # errors
    "HcclGetCommAsyncError": "pp",
    "HcclGetErrorString": "i>z",
}

ROOT_INFO_BYTES = 4108

DATA_TYPES = {
    "int8": 0,
    "int16": 1,
    "int32": 2,
    "float16": 3,
    "float32": 4,
    "int64": 5,
    "uint8": 7,
    "float64": 10,
    "bfloat16": 11,
}
REDUCIBLE = ("int8", "int16", "int32", "int64", "float16", "float32", "bfloat16")  # types that collectives can add
REDUCTIONS = {"SUM": 0, "PRODUCT": 1, "MAX": 2, "MIN": 3}

# What device work is called, by the function that puts it into a stream: the vendor's own names.
KERNEL_NAMES = {
    "HcclAllReduce": "hcom_allReduce_",
    "HcclReduce": "hcom_reduce_",
    "HcclBroadcast": "hcom_broadcast_",
    "HcclAllGather": "hcom_allGather_",
    "HcclReduceScatter": "hcom_reduceScatter_",
    "HcclScatter": "hcom_scatter_",
    "HcclAlltoAllV": "hcom_alltoallv_",
    "HcclBarrier": "hcom_barrier_",
    "HcclSend": "hcom_send_",
    "HcclRecv": "hcom_receive_",
    "HcclBatchSendRecv": "hcom_batchSendRecv_",
}

ERRORS = {
    1: "parameter error",
    2: "empty pointer",
    3: "memory error",
    4: "internal error",
    5: "not supported",
    6: "not found",
    7: "resource unavailable",
    8: "system call failed",
    9: "timeout",
    11: "TCP connection failed",
    15: "runtime call failed",
    19: "network call failed",
    21: "remote error",
    22: "communicator suspended",
    24: "out of memory",
}

NOT_SET = 0xFFFFFFFF
CONFIG_MAGIC, CONFIG_VERSION = 0xF0F0F0F0, 10
CAPABILITY_EXEC_TIMEOUT = 8  # settings with a smaller number than HcclGetCommConfigCapability() are understood


class CommConfig(ctypes.Structure):
    """Settings of a communicator. Libraries read as much of it as they know, by its size and version."""

    _fields_ = [
        ("size", ctypes.c_size_t),
        ("magic", ctypes.c_uint32),
        ("version", ctypes.c_uint32),
        ("reserved", ctypes.c_uint64),
        ("buffer_size", ctypes.c_uint32),
        ("deterministic", ctypes.c_uint32),
        ("name", ctypes.c_char * 128),
        ("udi", ctypes.c_char * 128),
        ("expansion_mode", ctypes.c_uint32),
        ("traffic_class", ctypes.c_uint32),
        ("service_level", ctypes.c_uint32),
        ("world_rank", ctypes.c_uint32),
        ("job", ctypes.c_uint64),
        ("graph_zero_copy", ctypes.c_uint8),
        ("exec_timeout", ctypes.c_int32),
        ("algorithm", ctypes.c_char * 1600),
        ("retry_enable", ctypes.c_char * 50),
        ("retry_parameters", ctypes.c_char * 128),
        ("buffer_name", ctypes.c_char * 128),
        ("quality_of_service", ctypes.c_uint32),
        ("window_gigabytes", ctypes.c_uint64),
    ]


class SendRecvItem(ctypes.Structure):
    """One message of a batch: `kind` 0 sends, 1 receives."""

    _fields_ = [
        ("kind", ctypes.c_int32),
        ("buffer", ctypes.c_void_p),
        ("count", ctypes.c_uint64),
        ("data_type", ctypes.c_int32),
        ("peer", ctypes.c_uint32),
    ]


def new_config(exec_timeout: int, name: str) -> CommConfig:
    """Settings with a timeout in seconds of each communication; all others are the library's own."""
    return CommConfig(
        size=ctypes.sizeof(CommConfig),
        magic=CONFIG_MAGIC,
        version=CONFIG_VERSION,
        buffer_size=NOT_SET,
        deterministic=NOT_SET,
        name=name.encode()[:127],
        traffic_class=NOT_SET,
        service_level=NOT_SET,
        exec_timeout=exec_timeout,
        quality_of_service=NOT_SET,
        window_gigabytes=16,
    )


def explain(code: int) -> str:
    """A HcclResult in words."""
    return ERRORS.get(code, "unknown error")
