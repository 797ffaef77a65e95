"""Holds our table of the CANN C ABI against the headers in the vendor's torch_npu wheel, with a compiler.

    python scripts/abi/check.py                      downloads the wheel with pip into build/abi (never committed)
    python scripts/abi/check.py --wheel FILE         uses a wheel that is already there
    python scripts/abi/check.py --aclnn FOLDER       also compares operators with aclnn headers
    ($ASCEND_HOME_PATH/include, say)

What the headers declare is compiled as static_asserts. What they do not declare (in the wheel: operators' first
phases and layouts of activity records) is listed, and its names are looked up in the wheel's libraries. Ends with
status 1 where anything disagrees.
"""

from __future__ import annotations

import argparse
import ctypes
import os
import pathlib
import re
import subprocess
import sys
import zipfile
from dataclasses import dataclass, field
from typing import Any

import generate

ROOT = pathlib.Path(__file__).resolve().parents[2]
PACKAGE = "torch_npu==2.13.0"
INCLUDES = ["acl/acl.h", "acl/acl_op_compiler.h"]
# needs torch: only its typedefs are taken
OPERATOR_HEADER = "third_party/op-plugin/op_plugin/utils/op_api_common_base.h"
# declares wrappers with the same parameters
MSPTI_HEADER = "torch_npu/csrc/framework/interface/MsptiInterface.h"
HCCL_HEADER = "third_party/hccl/inc/hccl/hccl.h"
MSPTI_STAND_INS = (
    "enum msptiActivityKind : int {}; enum msptiExternalCorrelationKind : int {}; struct msptiActivity;\n"
    "typedef void *msptiSubscriberHandle; typedef void (*msptiBuffersCallbackRequestFunc)(void);\n"
    "typedef void (*msptiBuffersCallbackCompleteFunc)(void);\n"
)


@dataclass
class Result:
    """What was compared, what disagrees, and what no header declares."""

    checked: int = 0
    wrong: list[str] = field(default_factory=list)
    by_name: list[str] = field(default_factory=list)
    unknown: list[str] = field(default_factory=list)
    unchecked: list[str] = field(default_factory=list)


def compiler() -> str:
    return os.environ.get("CXX", "g++")


def includes_in(include: pathlib.Path) -> list[str]:
    """The headers to compile: those of the runtime, and HCCL's where they are there."""
    return [*INCLUDES, *([HCCL_HEADER] if (include / HCCL_HEADER).is_file() else [])]


def preprocessed(include: pathlib.Path) -> tuple[str, set[str]]:
    """All that the headers declare, and the names of their macros."""
    source = "".join(f"#include <{name}>\n" for name in includes_in(include))
    run = [compiler(), "-std=c++17", "-x", "c++", f"-I{include}", "-E"]
    text = subprocess.run([*run, "-P", "-"], input=source, capture_output=True, text=True, check=True).stdout
    macros = subprocess.run([*run, "-dM", "-"], input=source, capture_output=True, text=True, check=True).stdout
    return text, set(re.findall(r"#define (\w+) ", macros))


def typedefs(include: pathlib.Path) -> str:
    """The typedefs of the functions that make operands, from a header which as a whole needs torch."""
    path = include / OPERATOR_HEADER
    if not path.is_file():
        return ""
    found = re.findall(
        r"^(?:typedef [^;{}]*\b_?acl\w+[^;{}]*|using OpApiFunc = [^;]*);", path.read_text(), re.MULTILINE
    )
    return "\n".join(f"{line};" if not line.endswith(";") else line for line in found)


def wrappers(include: pathlib.Path) -> str:
    """The vendor's C++ wrappers of MSPTI, whose parameters are those of the functions."""
    path = include / MSPTI_HEADER
    if not path.is_file():
        return ""
    found = re.findall(r"^bool Mspti\w+\([^;]*\);", path.read_text(), re.MULTILINE)
    return MSPTI_STAND_INS + "\n".join(found)


def first_phases(folder: pathlib.Path | None) -> dict[str, str]:
    """Declarations of operators' first phases in the headers below a folder, by operator."""
    found: dict[str, str] = {}
    for path in sorted(folder.rglob("aclnn*.h")) if folder else []:
        for text, name in re.findall(
            r"(aclnnStatus\s+aclnn(\w+)GetWorkspaceSize\([^;{}]*\)\s*;)", path.read_text(errors="replace")
        ):
            found[name] = re.sub(r"//[^\n]*|/\*.*?\*/", " ", text, flags=re.DOTALL)
    return found


def constants(abi: Any) -> list[tuple[str, int, str]]:
    """Every number of the table that has a name in the vendor's headers."""
    rows = [
        (f"DATA_TYPES[{name!r}]", abi.DATA_TYPES[name], generate.DATA_TYPES[name])
        for name in abi.DATA_TYPES
        if name in generate.DATA_TYPES
    ]
    rows += [(name, getattr(abi, name), constant) for name, constant in generate.VALUES.items() if hasattr(abi, name)]
    return rows + [(f"ERRORS[{code}]", code, generate.ERRORS[code]) for code in abi.ERRORS if code in generate.ERRORS]


def hccl_checks(hccl: Any, declared: set[str], words: set[str]) -> list[generate.Check]:
    """What HCCL's table says: functions, constants, and the sizes of what is passed by address."""
    functions = {name: f"decltype(::{name})" for name in hccl.FUNCTIONS if name in declared}
    values = [(f"HCCL {name}", hccl.DATA_TYPES[name], constant) for name, constant in generate.HCCL_TYPES.items()]
    values += [(f"HCCL {name}", hccl.REDUCTIONS[name], constant) for name, constant in generate.HCCL_REDUCTIONS.items()]
    values += [
        ("HCCL ROOT_INFO_BYTES", hccl.ROOT_INFO_BYTES, "HCCL_ROOT_INFO_BYTES"),
        ("HCCL CONFIG_MAGIC", hccl.CONFIG_MAGIC, "HCCL_COMM_CONFIG_MAGIC_WORD"),
        ("HCCL CONFIG_VERSION", hccl.CONFIG_VERSION, "HCCL_COMM_CONFIG_VERSION"),
        ("HCCL CAPABILITY_EXEC_TIMEOUT", hccl.CAPABILITY_EXEC_TIMEOUT, "HCCL_COMM_CONFIG_EXEC_TIMEOUT"),
    ]
    sizes = [(hccl.CommConfig, "HcclCommConfig"), (hccl.SendRecvItem, "HcclSendRecvItem")]
    offset = hccl.CommConfig.exec_timeout.offset
    layouts = [
        *(
            generate.Check(f"{name} has another size than the table's", f"sizeof({name}) == {ctypes.sizeof(ours)}")
            for ours, name in sizes
            if name in words
        ),
        generate.Check(
            "hcclExecTimeOut lies elsewhere in HcclCommConfig", f"offsetof(HcclCommConfig, hcclExecTimeOut) == {offset}"
        ),
    ]
    return [
        *generate.function_checks(hccl.FUNCTIONS, functions),
        *generate.value_checks(values, words),
        *(layouts if "HcclCommConfig" in words else []),
    ]


def compare(
    abi: Any, include: pathlib.Path, scratch: pathlib.Path, aclnn: pathlib.Path | None = None, hccl: Any = None
) -> Result:
    """Compiles the tables against the headers below `include` (and `aclnn`); the C++ file is left in `scratch`."""
    text, macros = preprocessed(include)
    operand_types, mspti_wrappers = typedefs(include), wrappers(include)
    operators = {name: text for name, text in first_phases(aclnn).items() if name in abi.OPERATORS}
    declared = set(re.findall(r"\b(\w+)\s*\(", text))
    words = set(re.findall(r"[A-Za-z_]\w*", text)) | macros
    runtime = {name: f"decltype(::{name})" for name in abi.RUNTIME if name in declared}
    runtime |= {name: f"std::remove_pointer_t<_{name}>" for name in abi.RUNTIME if f"(*_{name})" in operand_types}
    mspti = {
        name: f"decltype(::M{name[1:]})"
        for name in abi.MSPTI
        # the wrapper of that one hides two parameters
        if name != "msptiSubscribe" and f" M{name[1:]}(" in mspti_wrappers
    }
    values = constants(abi)
    checks = [
        *generate.function_checks(abi.RUNTIME, runtime),
        *generate.function_checks(abi.MSPTI, mspti, parameters_only=True),
        *generate.value_checks(values, words),
        *generate.operator_checks(abi.OPERATORS, operators),
        *([] if hccl is None else hccl_checks(hccl, declared, words)),
    ]
    if "OpApiFunc" in operand_types:
        checks.append(
            generate.Check(
                "the second phase of operators is not of the type 'pUpp'",
                'Function<std::remove_pointer_t<OpApiFunc>>::all("pUpp")',
            )
        )
    declarations = "\n".join([generate.OPERATOR_PRELUDE, operand_types, mspti_wrappers, *operators.values()])
    wrong = compile_checks(generate.translation_unit(includes_in(include), declarations, checks), include, scratch)
    missing = [name for name in abi.RUNTIME if name not in runtime] + [name for name in abi.MSPTI if name not in mspti]
    missing += [name for name in (hccl.FUNCTIONS if hccl is not None else ()) if name not in declared]
    result = Result(len(checks), wrong, by_name=missing)
    for name in (n for n in abi.OPERATORS if n not in operators):
        result.by_name += [f"aclnn{name}GetWorkspaceSize", f"aclnn{name}"]
    named = {expression for _, _, expression in values if generate.names_of(expression) <= words}
    result.unchecked = [f"{name} = {value}" for name, value, expression in values if expression not in named]
    result.unchecked += [f"ERRORS[{code}]" for code in abi.ERRORS if code not in generate.ERRORS]
    result.unchecked += [f"DATA_TYPES[{name!r}]" for name in abi.DATA_TYPES if name not in generate.DATA_TYPES]
    return result


def compile_checks(source: str, include: pathlib.Path, scratch: pathlib.Path) -> list[str]:
    """The messages of the assertions that failed."""
    scratch.mkdir(parents=True, exist_ok=True)
    path = scratch / "abi_check.cpp"
    path.write_text(source)
    done = subprocess.run(
        [compiler(), "-std=c++17", "-fsyntax-only", "-fmax-errors=0", f"-I{include}", str(path)],
        capture_output=True,
        text=True,
        check=False,
    )
    failed = re.findall(r"static assertion failed: (.*)", done.stderr)
    if done.returncode != 0 and not failed:
        raise SystemExit(f"the headers do not compile:\n{done.stderr[:4000]}")
    return failed


def look_up(result: Result, libraries: list[pathlib.Path]) -> None:
    """Moves the names that no library of the wheel contains to `unknown`."""
    data = b"\0".join(path.read_bytes() for path in libraries)
    present = set(re.findall(rb"(?:aclnn|acl|mspti|Hccl)[A-Za-z0-9_]+", data))
    result.unknown = [name for name in result.by_name if name.encode() not in present]
    result.by_name = [name for name in result.by_name if name.encode() in present]


def unpack(wheel: pathlib.Path, folder: pathlib.Path) -> pathlib.Path:
    """Headers and libraries of the wheel, unpacked once."""
    if not (folder / ".done").is_file():
        with zipfile.ZipFile(wheel) as archive:
            archive.extractall(
                folder, [n for n in archive.namelist() if n.startswith(("torch_npu/include/", "torch_npu/lib/"))]
            )
        (folder / ".done").touch()
    return folder / "torch_npu"


def download(folder: pathlib.Path) -> pathlib.Path:
    """The vendor's wheel."""
    found = sorted(folder.glob("torch_npu-*.whl"))
    if not found:
        subprocess.run(
            [sys.executable, "-m", "pip", "download", "--quiet", "--no-deps", "--dest", str(folder), PACKAGE],
            check=True,
        )
        found = sorted(folder.glob("torch_npu-*.whl"))
    return found[0]


def report(result: Result) -> int:
    """Prints the outcome; the exit status."""
    operators = [n for n in result.by_name if n.startswith("aclnn") and not n.endswith("GetWorkspaceSize")]
    functions = [n for n in result.by_name if not n.startswith("aclnn")]
    print(f"{result.checked} entries compared with the vendor's headers by the compiler, {len(result.wrong)} disagree")
    if operators:
        print(
            f"{len(operators)} operators are in none of these headers: their names occur in the vendor's libraries, "
            "their parameters were not compared"
        )
    if functions:
        print("functions that no header declares, whose names occur in the libraries:", ", ".join(functions))
    for title, names in (
        ("in no header and in no library of the wheel", result.unknown),
        ("values that no header names", result.unchecked),
    ):
        if names:
            print(f"{title} ({len(names)}):", ", ".join(names))
    for message in result.wrong:
        print("WRONG:", message)
    return 1 if result.wrong else 0


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--wheel", type=pathlib.Path, help="a torch_npu wheel that is already there")
    parser.add_argument("--folder", type=pathlib.Path, default=ROOT / "build" / "abi", help="where the wheel is kept")
    parser.add_argument("--aclnn", type=pathlib.Path, help="a folder with aclnn headers, which the wheel does not have")
    options = parser.parse_args()
    options.folder.mkdir(parents=True, exist_ok=True)
    sys.path.insert(0, str(ROOT / "src"))
    from mindtorch_v2._backends.npu import abi, abi_hccl

    wheel = options.wheel or download(options.folder)
    package = unpack(wheel, options.folder / wheel.stem)
    result = compare(abi, package / "include", options.folder, options.aclnn, abi_hccl)
    result.unchecked += [
        "RECORD_LAYOUTS and RECORD_SIZES (MSPTI's headers are not in the wheel; `make oracle` lets torch_npu read them)"
    ]
    look_up(result, sorted((package / "lib").glob("*.so")))
    return report(result)


if __name__ == "__main__":
    sys.exit(main())
