"""The C ABI of Ascend's libraries as one table: functions, enumerations, error names. Prototypes are generated from it.

Codes of runtime functions: `p` any pointer or handle, `i` int32 or enum, `u` uint32, `l` int64, `U` uint64, `n` size_t,
`z` C string. The part after `>` is what is returned; without it an int32 status.
Codes of operators: `t` aclTensor*, `s` aclScalar*, `I` aclIntArray*, `B` aclBoolArray*, `L` aclTensorList*, `l` int64,
`u` uint64, `i` int32, `b` int8, `?` bool, `d` double, `f` float, `D` aclDataType. Every first phase ends with a
pointer to the workspace size and one to the executor; every second phase takes workspace, its size, executor and
stream.
"""

from __future__ import annotations

import ctypes
from typing import Any

import numpy as np

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

OPERATORS = {
    "Add": "ttst",
    "Adds": "tsst",
    "Sub": "ttst",
    "Subs": "tsst",
    "Mul": "ttt",
    "Muls": "tst",
    "Div": "ttt",
    "Divs": "tst",
    "Neg": "tt",
    "Exp": "tt",
    "Log": "tt",
    "Sqrt": "tt",
    "Rsqrt": "tt",
    "Abs": "tt",
    "Reciprocal": "tt",
    "PowTensorScalar": "tst",
    "Sin": "tt",
    "Cos": "tt",
    "Erf": "tt",
    "Tanh": "tt",
    "TanhBackward": "ttt",
    "Sigmoid": "tt",
    "SigmoidBackward": "ttt",
    "Relu": "tt",
    "ThresholdBackward": "ttst",
    "Gelu": "tt",
    "GeluBackward": "ttt",
    "Silu": "tt",
    "SiluBackward": "ttt",
    "Softmax": "tlt",
    "SoftmaxBackward": "ttlt",
    "LogSoftmax": "tlt",
    "LogSoftmaxBackward": "ttlt",
    "Mm": "tttb",
    "Matmul": "tttb",
    "BatchMatMul": "tttb",
    "Addmm": "tttsstb",
    "Baddbmm": "tttsstb",
    "ReduceSum": "tI?Dt",
    "Mean": "tI?Dt",
    "Amax": "tI?t",
    "MaxDim": "tl?tt",
    "ArgMax": "tl?t",
    "Maximum": "ttt",
    "Minimum": "ttt",
    "Clamp": "tsst",
    "EqTensor": "ttt",
    "EqScalar": "tst",
    "NeTensor": "ttt",
    "LtTensor": "ttt",
    "GtTensor": "ttt",
    "GtScalar": "tst",
    "SWhere": "tttt",
    "InplaceMaskedFillTensor": "ttt",
    "InplaceCopy": "tt",
    "Cast": "tDt",
    "Permute": "tIt",
    "Cat": "Llt",
    "InplaceFillScalar": "ts",
    "InplaceZero": "t",
    "InplaceOne": "t",
    "Arange": "ssst",
    "Tril": "tlt",
    "Triu": "tlt",
    "Embedding": "ttt",
    "EmbeddingDenseBackward": "ttuu?t",
    "IndexSelect": "tltt",
    "Gather": "tltt",
    "ScatterAdd": "tlttt",
    "LayerNorm": "tIttdttt",
    "LayerNormBackward": "ttIttttBttt",
    "BatchNorm": "ttttt?ddttt",
    "BatchNormBackward": "ttttttt?dBttt",
    "Convolution": "tttIII?Iltb",
    "ConvolutionBackward": "tttIIII?IiBbttt",
    "MaxPool2dWithIndices": "tIIII?tt",
    "MaxPool2dWithIndicesBackward": "tttIIII?t",
    "NLLLoss": "tttlltt",
    "NLLLossBackward": "ttttlltt",
    "DropoutGenMask": "Idllt",
    "DropoutDoMask": "ttdt",
    "InplaceNormal": "tffll",
    "InplaceUniform": "tdduu",
    "Addcmul": "tttst",
    "Addcdiv": "tttst",
    "ApplyAdamWV2": "ttttttfffff??",
    # beyond what an MLP, a CNN and a transformer need
    "Floor": "tt",
    "Ceil": "tt",
    "Round": "tt",
    "Trunc": "tt",
    "Frac": "tt",
    "Log1p": "tt",
    "Expm1": "tt",
    "Log2": "tt",
    "Log10": "tt",
    "Exp2": "tt",
    "Tan": "tt",
    "Asin": "tt",
    "Acos": "tt",
    "Atan": "tt",
    "Sinh": "tt",
    "Cosh": "tt",
    "Asinh": "tt",
    "Acosh": "tt",
    "Atanh": "tt",
    "Erfc": "tt",
    "Erfinv": "tt",
    "Sign": "tt",
    "BitwiseNot": "tt",
    "Hardswish": "tt",
    "Hardsigmoid": "tt",
    "Mish": "tt",
    "LeTensor": "ttt",
    "GeTensor": "ttt",
    "LogicalAnd": "ttt",
    "LogicalOr": "ttt",
    "LogicalXor": "ttt",
    "BitwiseAndTensor": "ttt",
    "BitwiseOrTensor": "ttt",
    "BitwiseXorTensor": "ttt",
    "PowTensorTensor": "ttt",
    "Atan2": "ttt",
    "RemainderTensorTensor": "ttt",
    "FmodTensor": "ttt",
    "FloorDivide": "ttt",
    "XLogYTensor": "ttt",
    "ClampMinTensor": "ttt",
    "ClampMaxTensor": "ttt",
    "HardswishBackward": "ttt",
    "HardsigmoidBackward": "ttt",
    "MishBackward": "ttt",
    "LtScalar": "tst",
    "NeScalar": "tst",
    "LeScalar": "tst",
    "GeScalar": "tst",
    "BitwiseAndScalar": "tst",
    "BitwiseOrScalar": "tst",
    "BitwiseXorScalar": "tst",
    "RemainderTensorScalar": "tst",
    "FmodScalar": "tst",
    "FloorDivides": "tst",
    "XLogYScalarOther": "tst",
    "LeakyRelu": "tst",
    "Softshrink": "tst",
    "Hardshrink": "tst",
    "PowScalarTensor": "stt",
    "XLogYScalarSelf": "stt",
    "DivMod": "ttit",
    "DivMods": "tsit",
    "GeluV2": "tlt",
    "LeakyReluBackward": "tts?t",
    "Softplus": "tsst",
    "SoftplusBackward": "ttsst",
    "SoftshrinkBackward": "ttst",
    "HardshrinkBackward": "ttst",
    "Threshold": "tsst",
    "HardtanhBackward": "ttsst",
    "Elu": "tssst",
    "EluBackward": "tsss?tt",
    "Amin": "tI?t",
    "MinDim": "tl?tt",
    "ArgMin": "tl?t",
    "Any": "tI?t",
    "All": "tI?t",
    "Prod": "tDt",
    "ProdDim": "tl?Dt",
    "VarCorrection": "tIl?t",
    "Std": "tIl?t",
    "VarMean": "tIl?tt",
    "StdMeanCorrection": "tIl?tt",
    "LinalgVectorNorm": "tsI?Dt",
    "Cumsum": "tlDt",
    "Cumprod": "tsDt",
    "Sort": "t?l?tt",
    "Topk": "tll??tt",
    "SearchSorted": "tt??tt",
    "Nonzero": "tt",
    "MaskedSelect": "ttt",
    "InplaceMaskedScatter": "ttt",
    "IndexAdd": "tlttst",
    "Index": "tLt",
    "IndexPutImpl": "tLt??",
    "Scatter": "tlttlt",
    "ScatterValue": "tltslt",
    "Flip": "tIt",
    "Repeat": "tIt",
    "Linspace": "sslt",
    "Eye": "llt",
    "InplaceRandom": "tllll",
    "Randperm": "lllt",
    "Multinomial": "tl?llt",
    "AvgPool2d": "tIII??lbt",
    "AvgPool2dBackward": "ttIII??lbt",
    "AvgPool3d": "tIII??lt",
    "AvgPool3dBackward": "ttIII??lt",
    "AdaptiveAvgPool2d": "tIt",
    "AdaptiveAvgPool2dBackward": "ttt",
    "AdaptiveAvgPool3d": "tIt",
    "AdaptiveAvgPool3dBackward": "ttt",
    "AdaptiveMaxPool2d": "tItt",
    "AdaptiveMaxPool2dBackward": "tttt",
    "AdaptiveMaxPool3d": "tItt",
    "AdaptiveMaxPool3dBackward": "tttt",
    "MaxPool3dWithArgmax": "tIIII?tt",
    "MaxPool3dWithArgmaxBackward": "tttIIII?t",
    "UpsampleNearest1dV2": "tIft",
    "UpsampleNearest1dBackward": "tIIdt",
    "UpsampleNearest2dV2": "tIfft",
    "UpsampleNearest2dBackward": "tIIddt",
    "UpsampleNearest3d": "tIdddt",
    "UpsampleNearest3dBackward": "tIIdddt",
    "UpsampleNearestExact2d": "tIddt",
    "UpsampleNearestExact2dBackward": "tIIddt",
    "UpsampleLinear1d": "tI?dt",
    "UpsampleLinear1dBackward": "tII?dt",
    "UpsampleBilinear2d": "tI?ddt",
    "UpsampleBilinear2dBackward": "tII?ddt",
    "UpsampleTrilinear3d": "tI?dddt",
    "UpsampleTrilinear3dBackward": "tII?dddt",
    "UpsampleBicubic2d": "tI?ddt",
    "UpsampleBicubic2dBackward": "tII?ddt",
    "ReflectionPad1d": "tIt",
    "ReflectionPad1dBackward": "ttIt",
    "ReflectionPad2d": "tIt",
    "ReflectionPad2dBackward": "ttIt",
    "ReflectionPad3d": "tIt",
    "ReflectionPad3dBackward": "ttIt",
    "ReplicationPad1d": "tIt",
    "ReplicationPad1dBackward": "ttIt",
    "ReplicationPad2d": "tIt",
    "ReplicationPad2dBackward": "ttIt",
    "ReplicationPad3d": "tIt",
    "ReplicationPad3dBackward": "ttIt",
    "Im2col": "tIIIIt",
    "Im2colBackward": "tIIIIIt",
    "GroupNorm": "tttlllldttt",
    "GroupNormBackward": "tttttllllBttt",
    "SmoothL1Loss": "ttlft",
    "SmoothL1LossBackward": "tttlft",
    "BinaryCrossEntropy": "tttlt",
    "BinaryCrossEntropyBackward": "ttttlt",
    "NLLLoss2d": "tttlltt",
    "NLLLoss2dBackward": "ttttlltt",
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
    KIND_EXTERNAL: np.dtype([("kind", "<u4"), ("external_kind", "<u4"), ("number", "<i8"), ("correlation", "<i8")]),
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
