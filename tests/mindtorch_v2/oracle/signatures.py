"""Reads the signatures of a module's public names; see `scripts/oracle/record_signatures.py`."""

from __future__ import annotations

import inspect
from importlib import import_module
from typing import Any

MODULES = (
    "profiler",
    "profiler.profiler",
    "profiler.itt",
    "autograd.profiler",
    "autograd.profiler_util",
    "autograd.profiler_legacy",
    "utils.flop_counter",
)
BENCHMARK = (
    "Timer",
    "Measurement",
    "Compare",
    "TaskSpec",
    "Fuzzer",
    "FuzzedParameter",
    "FuzzedTensor",
    "ParameterAlias",
    "timer",
    "select_unit",
    "unit_to_english",
    "trim_sigfig",
    "ordered_unique",
    "set_torch_threads",
)


def _parameters(thing: Any) -> list[list[Any]] | None:
    """[name, kind, whether it has a default] of each parameter, without `self`; None where that is not known."""
    try:
        found = inspect.signature(thing).parameters.values()
    except (TypeError, ValueError):
        return None
    return [[p.name, p.kind.name, p.default is not p.empty] for p in found if p.name != "self"]


def signatures(root: str) -> dict[str, list[list[Any]]]:
    """The parameters of all public functions, classes and methods of the modules above."""
    modules = [(name, import_module(f"{root}.{name}")) for name in MODULES]
    things = {f"{name}.{n}": getattr(module, n) for name, module in modules for n in module.__all__}
    benchmark = import_module(f"{root}.utils.benchmark")
    things |= {f"utils.benchmark.{n}": getattr(benchmark, n) for n in BENCHMARK}
    found = {}
    for name, thing in things.items():
        found[name] = _parameters(thing)
        if inspect.isclass(thing):
            found |= {
                f"{name}.{n}": _parameters(m)
                for n, m in inspect.getmembers(
                    thing, lambda m: inspect.isfunction(inspect.unwrap(m) if callable(m) else m)
                )
                if not n.startswith("_") or n in ("__enter__", "__exit__")
            }
    return {name: parameters for name, parameters in found.items() if parameters is not None}
