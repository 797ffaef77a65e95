"""Builds the native part, which is optional: where it cannot be compiled the package works with numpy alone.

Everything else about the package stands in pyproject.toml.
"""
import os
from glob import glob

from setuptools import Extension, setup
from setuptools.command.build_ext import build_ext

NATIVE = "src/mindtorch_v2/_native"
# No -ffast-math, no contraction, no -march: results follow IEEE 754 and one build runs on every machine of its architecture.
FLAGS = ["-O3", "-std=c11", "-Wall", "-Wextra", "-Wno-psabi", "-fno-math-errno", "-fno-trapping-math", "-ffp-contract=off",
         "-fvisibility=hidden", "-pthread"]
KERNEL_SOURCES = ["module.c", "arrays.c", "threads.c", "activations.c", "softmax.c", "layer_norm.c", "reductions.c", "copies.c",
                  "optimizers.c", "losses.c", "pooling.c", "convolutions.c"]
CORE_SOURCES = ["recorder.c", "recorder_buffer.c", "recorder_inputs.c", "recorder_launches.c", "recorder_maps.c", "recorder_memory.c",
                "allocator.c", "recorder_rows.c", "recorder_table.c", "recorder_stacks.c", "recorder_tracer.c", "recorder_hook.c",
                "recorder_monitoring.c", "recorder_lanes.c", "recorder_meeting.c",
                "tensor.c", "call.c", "call_grad.c", "call_steps.c", "call_type.c", "engine.c",
                "guarded.c", "modes.c", "quiet.c"]
NPU_SOURCES = ["npu_launch.c", "npu_memory.c", "npu_operands.c", "npu_plans.c", "npu_watch.c"]



class BuildWhatCompiles(build_ext):
    """Says once, and last, that the native part was left out."""

    def run(self) -> None:
        super().run()
        missing = [e.name.rpartition(".")[2] for e in self.extensions if not os.path.exists(self.get_ext_fullpath(e.name))]
        if missing and not self.dry_run:
            self.warn(f"mindtorch_v2 is built without its native part ({', '.join(missing)} did not compile; is there a C compiler?). "
                      "Everything works without it, only more slowly.")


PARALLEL = {"build_ext": {"parallel": 4}}       # an install takes a third less

setup(cmdclass={"build_ext": BuildWhatCompiles}, options=PARALLEL, ext_modules=[
    Extension("mindtorch_v2._native._kernels", [f"{NATIVE}/{name}" for name in KERNEL_SOURCES],
              depends=sorted(glob(f"{NATIVE}/*.h") + glob(f"{NATIVE}/*.inc")),
              define_macros=[("_GNU_SOURCE", "1")], extra_compile_args=FLAGS, extra_link_args=["-pthread"], optional=True),
    Extension("mindtorch_v2._native._core", [f"{NATIVE}/{name}" for name in CORE_SOURCES],
              depends=[f"{NATIVE}/{name}.h" for name in ("recorder", "recorder_inline", "tensor", "call", "modes", "quiet")],
              define_macros=[("_GNU_SOURCE", "1")], extra_compile_args=FLAGS, optional=True),
    Extension("mindtorch_v2._native._npu_launch", [f"{NATIVE}/{name}" for name in NPU_SOURCES],
              depends=[f"{NATIVE}/{name}" for name in ("npu.h", "launches.h", "tensor.h", "recorder.h")],
              define_macros=[("_GNU_SOURCE", "1")], extra_compile_args=FLAGS, extra_link_args=["-pthread"], optional=True),
    Extension("mindtorch_v2._native._trace_reader", [f"{NATIVE}/trace_reader.c", f"{NATIVE}/trace_nesting.c"],
              depends=[f"{NATIVE}/{name}.h" for name in ("trace_json", "trace_columns", "trace_event")], extra_compile_args=FLAGS,
              optional=True),
    Extension("mindtorch_v2._native._trace_writer", [f"{NATIVE}/trace_writer.c"], extra_compile_args=FLAGS, optional=True),
])
