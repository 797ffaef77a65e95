"""The judge of the ABI table (`make abi`), judged itself: on small headers written here, right and wrong entries."""

from __future__ import annotations

import importlib.util
import os
import pathlib
import shutil
import sys
import types

import pytest

SCRIPTS = pathlib.Path(__file__).resolve().parents[3] / "scripts" / "abi"
pytestmark = pytest.mark.skipif(shutil.which(os.environ.get("CXX", "g++")) is None, reason="there is no C++ compiler")

RUNTIME_HEADER = """
#include <cstddef>
#include <cstdint>
typedef int aclError;
typedef enum { ACL_FLOAT = 0, ACL_INT64 = 9 } aclDataType;
typedef enum { ACL_HBM_MEM = 1 } aclrtMemAttr;
#define ACL_ERROR_RT_PARAM_INVALID 107000
static const int ACL_ERROR_BAD_ALLOC = 200000;
typedef void *aclrtStream;
extern "C" {
aclError aclrtMalloc(void **address, size_t size, aclDataType policy);
const char *aclrtGetSocName();
aclError aclrtSetDevice(int32_t device);
aclError aclrtMemsetAsync(void *address, size_t room, int32_t value, size_t count, aclrtStream stream);
}
"""
OPERAND_HEADER = """
#include <torch/that_does_not_exist.h>
typedef struct aclOpExecutor aclOpExecutor;
typedef aclTensor* (*_aclCreateTensor)(const int64_t* dims, uint64_t count,
    aclDataType type);
using OpApiFunc = int (*)(void*, uint64_t, aclOpExecutor*, const aclrtStream);
"""
MSPTI_HEADER = "bool MsptiActivityEnable(msptiActivityKind kind);\n"
ACLNN_HEADER = """
ACLNN_API aclnnStatus aclnnAddGetWorkspaceSize(const aclTensor* self, const aclTensor* other, const aclScalar* alpha, // a factor
                                               const aclTensor* out, uint64_t* size, aclOpExecutor** executor);
"""


@pytest.fixture(scope="module")
def check():
    sys.path.insert(0, str(SCRIPTS))
    spec = importlib.util.spec_from_file_location("abi_check", SCRIPTS / "check.py")
    module = importlib.util.module_from_spec(spec)
    sys.modules["abi_check"] = module
    spec.loader.exec_module(module)
    yield module
    sys.path.remove(str(SCRIPTS))


@pytest.fixture
def headers(tmp_path, check):
    for name, text in (
        ("acl/acl.h", RUNTIME_HEADER),
        ("acl/acl_op_compiler.h", ""),
        (check.OPERATOR_HEADER, OPERAND_HEADER),
        (check.MSPTI_HEADER, MSPTI_HEADER),
        ("aclnn/aclnn_add.h", ACLNN_HEADER),
    ):
        path = tmp_path / "include" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    return tmp_path / "include"


def table(**changes):
    """A right table for these headers, with entries replaced."""
    right = {
        "RUNTIME": {
            "aclrtMalloc": "pni",
            "aclrtGetSocName": ">z",
            "aclrtSetDevice": "i",
            "aclrtMemsetAsync": "pninp",
            "aclCreateTensor": "pUi>p",
            "aclrtFree": "p",
        },
        "MSPTI": {"msptiActivityEnable": "i", "msptiSubscribe": "ppp"},
        "OPERATORS": {"Add": "ttst", "Frobnicate": "tt"},
        "DATA_TYPES": {"float32": 0, "int64": 9, "float16": 1},
        "MEMORY_HBM": 1,
        "ERRORS": {107000: "", 200000: "", 161001: ""},
    }
    for name, value in changes.items():
        right[name] = {**right[name], **value} if isinstance(value, dict) else value
    return types.SimpleNamespace(**right)


def compare(check, headers, abi):
    return check.compare(abi, headers, headers.parent / "scratch", headers / "aclnn")


def test_a_right_table_passes_and_what_no_header_declares_is_listed(check, headers):
    result = compare(check, headers, table())
    assert result.wrong == []
    assert result.checked == 5 + 1 + 1 + 2 + 1 + 2 + 1  # runtime, MSPTI, second phase, types, memory, errors, operator
    assert result.by_name == ["aclrtFree", "msptiSubscribe", "aclnnFrobnicateGetWorkspaceSize", "aclnnFrobnicate"]
    assert result.unchecked == ["DATA_TYPES['float16'] = 1", "ERRORS[161001]"]


@pytest.mark.parametrize(
    "changes, named",
    [
        ({"RUNTIME": {"aclrtMalloc": "pui"}}, "aclrtMalloc"),  # 32 bits for a size
        ({"RUNTIME": {"aclrtMalloc": "pn"}}, "aclrtMalloc"),  # one too few
        ({"RUNTIME": {"aclrtSetDevice": "ii"}}, "aclrtSetDevice"),  # one too many
        ({"RUNTIME": {"aclrtSetDevice": "u"}}, "aclrtSetDevice"),  # the sign
        ({"RUNTIME": {"aclrtGetSocName": ""}}, "aclrtGetSocName"),  # the result
        ({"RUNTIME": {"aclCreateTensor": "pli>p"}}, "aclCreateTensor"),  # a typedef of the operators' header
        ({"MSPTI": {"msptiActivityEnable": "U"}}, "msptiActivityEnable"),
        ({"OPERATORS": {"Add": "ttt"}}, "aclnnAddGetWorkspaceSize"),
        ({"OPERATORS": {"Add": "tttt"}}, "aclnnAddGetWorkspaceSize"),
        ({"DATA_TYPES": {"int64": 8}}, "DATA_TYPES['int64']"),
        ({"MEMORY_HBM": 0}, "MEMORY_HBM"),
    ],
)
def test_a_wrong_entry_is_named_and_fails(check, headers, capsys, changes, named):
    result = compare(check, headers, table(**changes))
    assert len(result.wrong) == 1 and named in result.wrong[0]
    assert check.report(result) == 1
    assert f"WRONG: {named}" in capsys.readouterr().out


def test_names_are_looked_up_in_the_libraries(check, headers):
    result = compare(check, headers, table())
    library = headers.parent / "lib.so"
    library.write_bytes(b"\x7fELF\0aclrtFree\0aclnnFrobnicateX\0msptiSubscribe\0")
    check.look_up(result, [library])
    assert result.by_name == ["aclrtFree", "msptiSubscribe"]
    assert result.unknown == ["aclnnFrobnicateGetWorkspaceSize", "aclnnFrobnicate"]
