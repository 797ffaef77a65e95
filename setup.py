"""Builds the native part, which is optional: where it cannot be compiled the package works with numpy alone.

Everything else about the package stands in pyproject.toml.
"""

import os
from glob import glob
from pathlib import Path
from runpy import run_path

from setuptools import Extension, setup
from setuptools.command.build_ext import build_ext
from setuptools.command.build_py import build_py

NATIVE = "src/mindtorch_v2/_native"
description = run_path(f"{NATIVE}/sources.py")["description"]
# No -ffast-math, no contraction, no -march: results follow IEEE 754 and one build runs on every machine of its
# architecture.
FLAGS = [
    "-O3",
    "-std=c11",
    "-Wall",
    "-Wextra",
    "-Wno-psabi",
    "-fno-math-errno",
    "-fno-trapping-math",
    "-ffp-contract=off",
    "-fvisibility=hidden",
    "-pthread",
]
# One extension each, of all C files in its folders; headers are found from _native ("core/tensor.h").
EXTENSIONS = {
    "_kernels": ("kernels",),
    "_core": ("core", "recorder"),
    "_npu_launch": ("npu",),
    "_onednn": ("onednn",),
    "_messages": ("messages",),
}
TRACE = {"_trace_reader": ("reader", "reader_type", "nesting"), "_trace_writer": ("writer",)}


def files(folder: str, *endings: str) -> list[str]:
    """The files of a folder of the native part that end so, in an order that does not depend on the file system."""
    return sorted(path for ending in endings for path in glob(f"{NATIVE}/{folder}/*{ending}"))


HEADERS = files("*", ".h", ".inc")


def extension(name: str, sources: list[str]) -> Extension:
    return Extension(
        f"mindtorch_v2._native.{name}",
        sources,
        depends=HEADERS,
        include_dirs=[NATIVE],
        define_macros=[("_GNU_SOURCE", "1")],
        extra_compile_args=FLAGS,
        extra_link_args=["-pthread"],
        optional=True,
    )


class BuildWhatCompiles(build_ext):
    """Tells every module what it is built of (see _native/sources.py). Says once, and last, that the native part was
    left out.
    """

    def build_extension(self, ext: Extension) -> None:
        names = [os.path.relpath(path, NATIVE).replace(os.sep, "/") for path in (*ext.sources, *ext.depends)]
        lines = description(names, NATIVE).splitlines()
        path = os.path.join(self.build_temp, "sources", ext.name.rpartition(".")[2] + ".c")
        self.mkpath(os.path.dirname(path))
        text = "const char mindtorch_sources[] = " + ' "\\n"\n'.join(f'"{line}"' for line in lines) + ";\n"
        if not os.path.exists(path) or Path(path).read_text() != text:  # else nothing is to be built anew
            Path(path).write_text(text)
        shown = [*ext.sources]
        ext.sources.append(path)
        try:
            super().build_extension(ext)
        finally:
            ext.sources[:] = shown

    def run(self) -> None:
        super().run()
        missing = [
            e.name.rpartition(".")[2] for e in self.extensions if not os.path.exists(self.get_ext_fullpath(e.name))
        ]
        if missing and not self.dry_run:
            self.warn(
                f"mindtorch_v2 is built without its native part ({', '.join(missing)} did not compile; is there a C "
                "compiler?). "
                "Everything works without it, only more slowly."
            )


class BuildWithSimulator(build_py):
    """Puts the simulator's source into the package; a checkout has it beside the package."""

    def run(self) -> None:
        super().run()
        if self.editable_mode:
            return
        folder = os.path.join(self.build_lib, "mindtorch_v2", "ascend_sim")
        self.mkpath(folder)
        for path in sorted([*glob("ascend_sim/*.[ch]"), "ascend_sim/build.py", "ascend_sim/README.md"]):
            self.copy_file(path, os.path.join(folder, os.path.basename(path)))


PARALLEL = {"build_ext": {"parallel": 4}}  # an install takes a third less

setup(
    cmdclass={"build_ext": BuildWhatCompiles, "build_py": BuildWithSimulator},
    options=PARALLEL,
    ext_modules=[
        *(
            extension(name, [path for folder in (*folders, "common") for path in files(folder, ".c")])
            for name, folders in EXTENSIONS.items()
        ),
        *(extension(name, [f"{NATIVE}/trace/{part}.c" for part in parts]) for name, parts in TRACE.items()),
    ],
)
