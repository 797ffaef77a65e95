"""Writes a C++ file that holds the ABI table against headers: one static_assert per entry."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass

# What the table's numbers are called in the headers: constant -> (group, key) of the table, or the name of a value.
DATA_TYPES = {
    "float32": "ACL_FLOAT",
    "float16": "ACL_FLOAT16",
    "int8": "ACL_INT8",
    "int32": "ACL_INT32",
    "uint8": "ACL_UINT8",
    "int16": "ACL_INT16",
    "int64": "ACL_INT64",
    "float64": "ACL_DOUBLE",
    "bool": "ACL_BOOL",
    "complex64": "ACL_COMPLEX64",
    "complex128": "ACL_COMPLEX128",
    "bfloat16": "ACL_BF16",
}
VALUES = {
    "FORMAT_ND": "ACL_FORMAT_ND",
    "FORMAT_NCHW": "ACL_FORMAT_NCHW",
    "FORMAT_NCDHW": "ACL_FORMAT_NCDHW",
    "FORMAT_NCL": "ACL_FORMAT_NCL",
    "HOST_TO_HOST": "ACL_MEMCPY_HOST_TO_HOST",
    "HOST_TO_DEVICE": "ACL_MEMCPY_HOST_TO_DEVICE",
    "DEVICE_TO_HOST": "ACL_MEMCPY_DEVICE_TO_HOST",
    "DEVICE_TO_DEVICE": "ACL_MEMCPY_DEVICE_TO_DEVICE",
    "MALLOC_HUGE_FIRST": "ACL_MEM_MALLOC_HUGE_FIRST",
    "MEMORY_HBM": "ACL_HBM_MEM",
    "EVENT_SYNC": "ACL_EVENT_SYNC",
    "EVENT_PROGRESS": "ACL_EVENT_CAPTURE_STREAM_PROGRESS",
    "EVENT_TIME_LINE": "ACL_EVENT_TIME_LINE",
    "EVENT_COMPLETE": "ACL_EVENT_RECORDED_STATUS_COMPLETE",
    "STREAM_COMPLETE": "ACL_STREAM_STATUS_COMPLETE",
    "STREAM_FAST": "ACL_STREAM_FAST_LAUNCH | ACL_STREAM_FAST_SYNC",
    "CAPABILITY_AI_CORES": "ACL_DEVICE_INFO_AI_CORE_NUM",
    "CAPABILITY_VECTOR_CORES": "ACL_DEVICE_INFO_VECTOR_CORE_NUM",
    "REPEAT_INIT": "ACL_ERROR_REPEAT_INITIALIZE",
}
ERRORS = {
    100000: "ACL_ERROR_INVALID_PARAM",
    100001: "ACL_ERROR_UNINITIALIZE",
    100002: "ACL_ERROR_REPEAT_INITIALIZE",
    100037: "ACL_ERROR_REPEAT_FINALIZE",
    107000: "ACL_ERROR_RT_PARAM_INVALID",
    107001: "ACL_ERROR_RT_INVALID_DEVICEID",
    107002: "ACL_ERROR_RT_CONTEXT_NULL",
    107003: "ACL_ERROR_RT_STREAM_CONTEXT",
    107006: "ACL_ERROR_RT_EVENT_TIMESTAMP_INVALID",
    107007: "ACL_ERROR_RT_EVENT_TIMESTAMP_REVERSAL",
    107017: "ACL_ERROR_RT_INVALID_HANDLE",
    107019: "ACL_ERROR_RT_WAIT_TIMEOUT",
    107020: "ACL_ERROR_RT_TASK_TIMEOUT",
    200000: "ACL_ERROR_BAD_ALLOC",
    207000: "ACL_ERROR_RT_FEATURE_NOT_SUPPORT",
    207001: "ACL_ERROR_RT_MEMORY_ALLOCATION",
    207007: "ACL_ERROR_RT_NO_EVENT_RESOURCE",
    207008: "ACL_ERROR_RT_NO_STREAM_RESOURCE",
    207018: "ACL_ERROR_RT_DEVICE_OOM",
    507000: "ACL_ERROR_RT_INTERNAL_ERROR",
    507015: "ACL_ERROR_RT_AICORE_EXCEPTION",
    507018: "ACL_ERROR_RT_AICPU_EXCEPTION",
    507035: "ACL_ERROR_RT_VECTOR_CORE_EXCEPTION",
    507046: "ACL_ERROR_RT_STREAM_SYNC_TIMEOUT",
    507047: "ACL_ERROR_RT_EVENT_SYNC_TIMEOUT",
    507057: "ACL_ERROR_RT_SUSPECT_REMOTE_ERROR",
}
HCCL_TYPES = {
    "int8": "HCCL_DATA_TYPE_INT8",
    "int16": "HCCL_DATA_TYPE_INT16",
    "int32": "HCCL_DATA_TYPE_INT32",
    "int64": "HCCL_DATA_TYPE_INT64",
    "uint8": "HCCL_DATA_TYPE_UINT8",
    "float16": "HCCL_DATA_TYPE_FP16",
    "float32": "HCCL_DATA_TYPE_FP32",
    "float64": "HCCL_DATA_TYPE_FP64",
    "bfloat16": "HCCL_DATA_TYPE_BFP16",
}
HCCL_REDUCTIONS = {
    "SUM": "HCCL_REDUCE_SUM",
    "PRODUCT": "HCCL_REDUCE_PROD",
    "MAX": "HCCL_REDUCE_MAX",
    "MIN": "HCCL_REDUCE_MIN",
}

PRELUDE = r"""
#include <cstddef>
#include <cstdint>
#include <type_traits>

// The letter of the table that stands for a C type. Enumerations are 4 bytes and passed as int32.
template <class T> constexpr bool fits(char code) {
    using P = std::remove_cv_t<T>;
    if constexpr (std::is_pointer_v<P>) {
        using C = std::remove_cv_t<std::remove_pointer_t<P>>;
        return code == 'p' || (code == 'z' && std::is_same_v<C, char>);
    } else if constexpr (std::is_enum_v<P>) {
        return code == 'i' && sizeof(P) == 4;
    } else if constexpr (std::is_integral_v<P>) {
        if (sizeof(P) == 4) return code == (std::is_signed_v<P> ? 'i' : 'u');
        if (sizeof(P) == 8) return std::is_signed_v<P> ? code == 'l' : code == 'U' || code == 'n';
        return false;
    } else {
        return false;
    }
}

template <class F> struct Function;
template <class R, class... A> struct Function<R(A...)> {
    static constexpr bool parameters(const char *codes) {
        const char *at = codes;
        const bool same = ((*at != '\0' && *at != '>' && fits<A>(*at) ? (++at, true) : false) && ... && true);
        return same && (*at == '\0' || *at == '>');
    }
    static constexpr bool all(const char *codes) {
        const char *at = codes;
        while (*at != '\0' && *at != '>') ++at;
        return parameters(codes) && fits<R>(*at == '>' ? at[1] : 'i');
    }
};
template <class R, class... A> struct Function<R(A...) noexcept> : Function<R(A...)> {};
"""

OPERATOR_PRELUDE = r"""
typedef int32_t aclnnStatus;
struct aclTensor; struct aclScalar; struct aclIntArray; struct aclFloatArray; struct aclBoolArray; struct aclTensorList;
struct aclScalarList; struct aclOpExecutor;

template <class T, class U>
constexpr bool points_to = std::is_same_v<std::remove_cv_t<std::remove_pointer_t<T>>, U> && std::is_pointer_v<T>;
template <class T> constexpr bool operand_fits(char code) {
    switch (code) {
        case 't': return points_to<T, aclTensor>;
        case 's': return points_to<T, aclScalar>;
        case 'I': return points_to<T, aclIntArray>;
        case 'F': return points_to<T, aclFloatArray>;
        case 'B': return points_to<T, aclBoolArray>;
        case 'L': return points_to<T, aclTensorList>;
        case 'S': return points_to<T, aclScalarList>;
        case 'z': return points_to<T, char>;
        case 'l': return std::is_same_v<T, int64_t>;
        case 'u': return std::is_same_v<T, uint64_t>;
        case 'i': return std::is_same_v<T, int32_t>;
        case 'b': return std::is_same_v<T, int8_t>;
        case '?': return std::is_same_v<T, bool>;
        case 'd': return std::is_same_v<T, double>;
        case 'f': return std::is_same_v<T, float>;
        case 'D': return std::is_enum_v<T> && sizeof(T) == 4;
        case 'w': return std::is_same_v<T, uint64_t *>;       // the end of every first phase
        case 'e': return std::is_same_v<T, aclOpExecutor **>;
        default: return false;
    }
}
template <class F> struct FirstPhase;
template <class R, class... A> struct FirstPhase<R(A...)> {
    static constexpr bool is(const char *at) {
        const bool same = ((*at != '\0' && operand_fits<std::remove_cv_t<A>>(*at) ? (++at, true) : false) && ... && true);
        return same && *at == '\0' && sizeof(R) == 4;
    }
};
"""


@dataclass(frozen=True)
class Check:
    """One assertion: what it is about, and the C++ condition."""

    about: str
    condition: str


def function_checks(codes: dict[str, str], types: dict[str, str], *, parameters_only: bool = False) -> list[Check]:
    """Assertions that each named function has the coded type; `types` gives a C++ type for the names that have a
    declaration.
    """
    part = "parameters" if parameters_only else "all"
    return [
        Check(f"{name} is not of the type {code!r}", f'Function<{types[name]}>::{part}("{code}")')
        for name, code in codes.items()
        if name in types
    ]


def value_checks(values: Iterable[tuple[str, int, str]], declared: set[str]) -> list[Check]:
    """Assertions that constants have the table's values; triples of the table's name, value, and the headers'
    expression.
    """
    return [
        Check(f"{name} is {value} in the table, the headers say otherwise ({expression})", f"({expression}) == {value}")
        for name, value, expression in values
        if names_of(expression) <= declared
    ]


def operator_checks(codes: dict[str, str], declared: dict[str, str]) -> list[Check]:
    """Assertions about the first phases of the operators that `declared` has the declarations of."""
    return [
        Check(
            f"aclnn{name}GetWorkspaceSize does not take {code!r}",
            f'FirstPhase<decltype(::aclnn{name}GetWorkspaceSize)>::is("{code}we")',
        )
        for name, code in codes.items()
        if name in declared
    ]


def names_of(expression: str) -> set[str]:
    """The identifiers of a constant expression."""
    return set(re.findall(r"[A-Za-z_]\w*", expression))


def translation_unit(includes: list[str], declarations: str, checks: list[Check]) -> str:
    """The C++ file."""
    lines = [f"#include <{name}>" for name in includes]
    asserts = [f'static_assert({c.condition}, "{c.about}");' for c in checks]
    return "\n".join([*lines, PRELUDE, declarations, *asserts, ""])
