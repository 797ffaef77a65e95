"""Counts the floating point operations of matrix products, convolutions and attention while a program runs, per module.

    with FlopCounterMode() as counter:
        model(x).sum().backward()
    counter.get_total_flops()

Backward passes are counted in the modules whose forward recorded them.
"""

from __future__ import annotations

import threading
import warnings
import weakref
from collections import defaultdict
from typing import Any

from .. import ops as _ops
from .._ops import table as _table
from ..nn.modules.module import Module, register_module_forward_hook, register_module_forward_pre_hook
from ..ops import OpOverloadPacket
from ..profiler.record.kinds import Kind
from ..profiler.record.session import add_listener, remove_listener
from ._flop_formulas import (  # noqa: F401  - part of this module
    Formula,
    addmm_flop,
    baddbmm_flop,
    bmm_flop,
    conv_backward_flop,
    conv_flop,
    conv_flop_count,
    flop_registry,
    get_shape,
    mm_flop,
    register_flop_formula,
    sdpa_backward_flop,
    sdpa_backward_flop_count,
    sdpa_flop,
    sdpa_flop_count,
    shape_wrapper,
)

__all__ = ["FlopCounterMode", "register_flop_formula"]

# ---- as text
# --------------------------------------------------------------------------------------------------------------------


_SUFFIXES = ("", "K", "M", "B", "T")


def get_suffix_str(number: int) -> str:
    """The largest unit in which a number has at least two digits."""
    return _SUFFIXES[max(0, min(len(_SUFFIXES) - 1, (len(str(number)) - 2) // 3))]


def convert_num_with_suffix(number: float, suffix: str) -> str:
    return f"{number / 1000 ** _SUFFIXES.index(suffix):.3f}{suffix}"


def convert_to_percent_str(num: float, denom: float) -> str:
    return f"{num / denom:.2%}" if denom else "0%"


def _as_table(rows: list[list[str]]) -> str:
    """Columns under headings, the first to the left and the others to the right."""
    lines = [["Module", "FLOP", "% Total"], *rows]
    widths = [max(len(line[i]) for line in lines) for i in range(3)]
    lines.insert(1, ["-" * width for width in widths])
    texts = [f"{a:<{widths[0]}}  {b:>{widths[1]}}  {c:>{widths[2]}}".rstrip() for a, b, c in lines]
    return "\n".join(texts)


# ---- counting
# -------------------------------------------------------------------------------------------------------------------


class _Thread(threading.local):
    """What is under way on a thread: calls, how many of them are counted, and the modules around."""

    def __init__(self) -> None:
        self.calls: list[tuple[OpOverloadPacket | None, Any, tuple[Any, ...], bool]] = []
        self.counted = 0
        self.modules: list[tuple[str, ...]] = [()]


class FlopCounterMode:
    """Counts while it is entered; entering again begins at zero. A call inside a counted one is not counted again.

    mods            no longer needed
    depth           how deep in the tree of modules the table goes
    display         print the table at the end
    custom_mapping  further formulas, {operator: function}: they are called like those of `register_flop_formula`,
    with the values
                    themselves if the function has a true attribute `_get_raw`
    """

    def __init__(
        self,
        mods: Module | list[Module] | None = None,
        depth: int = 2,
        display: bool = True,
        custom_mapping: dict[Any, Any] | None = None,
    ) -> None:
        if mods is not None:
            warnings.warn("mods argument is not needed anymore, you can stop passing it", stacklevel=2)
        self.flop_counts: dict[str, dict[Any, int]] = defaultdict(lambda: defaultdict(int))
        self.depth, self.display = depth, display
        own = {
            op: formula if getattr(formula, "_get_raw", False) else shape_wrapper(formula)
            for op, formula in (custom_mapping or {}).items()
        }
        self.flop_registry = {**flop_registry, **own}
        self._names: weakref.WeakKeyDictionary[Module, str] = weakref.WeakKeyDictionary()
        self._entered_modules: weakref.WeakSet[Module] = weakref.WeakSet()
        self._modules_of_node: dict[int, tuple[str, ...]] = {}
        self._thread = _Thread()
        self._hooks: list[Any] = []

    def __enter__(self) -> FlopCounterMode:
        self.flop_counts.clear()
        self._modules_of_node.clear()
        self._thread = _Thread()
        self._hooks = [
            register_module_forward_pre_hook(self._module_begins),
            register_module_forward_hook(self._module_ends, always_call=True),
        ]
        add_listener(self)
        return self

    def __exit__(self, *args: object) -> None:
        remove_listener(self)
        for hook in self._hooks:
            hook.remove()
        self._hooks = []
        if self.display:
            print(self.get_table(self.depth))

    # ---- modules --------------------------------------------------------------------------------------------

    def _name_of(self, module: Module) -> str:
        """Its path from the outermost module called, which is named by its class."""
        name = self._names.setdefault(module, type(module).__name__)
        if module not in self._entered_modules:
            self._entered_modules.add(module)
            for child_name, child in module.named_children():
                self._names[child] = f"{name}.{child_name}"
                self._name_of(child)
        return name

    def _module_begins(self, module: Module, args: Any) -> None:
        modules = self._thread.modules
        name = self._name_of(module)
        modules.append(modules[-1] if name in modules[-1] else (*modules[-1], name))

    def _module_ends(self, module: Module, args: Any, output: Any) -> None:
        if len(self._thread.modules) > 1:
            self._thread.modules.pop()

    # ---- calls: what an observer is told ----------------------------------------------------------------------

    def enter(
        self, kind: Kind, name: str, op: Any, args: tuple[Any, ...], sequence_nr: int, forward_thread: int
    ) -> None:
        thread: _Thread = self._thread
        is_backward = kind in (Kind.BACKWARD, Kind.NODE)
        if is_backward:
            thread.modules.append(self._modules_of_node.get(sequence_nr, thread.modules[-1]))
        elif sequence_nr >= 0 and thread.modules[-1]:
            # the last call with a number is the one that makes its node
            self._modules_of_node[sequence_nr] = thread.modules[-1]
        packet = None
        known: Any = _table.OPS
        if op is not None and not thread.counted and known.get(op.name) is op:
            packet = getattr(_ops.aten, op.base)
            packet = packet if packet in self.flop_registry else None
        thread.calls.append((packet, op, args, is_backward))
        thread.counted += packet is not None

    def outputs(self, result: Any) -> None:
        if not self._thread.calls:
            return
        packet, op, args, _ = self._thread.calls[-1]
        if packet is None:
            return
        params = op.schema.params
        positional = [a for a, p in zip(args, params) if not p.keyword_only]
        keywords = {p.name: a for a, p in zip(args, params) if p.keyword_only and a != p.default}
        flops = self.flop_registry[packet](*positional, **keywords, out_val=result)
        for path in ("Global", *self._thread.modules[-1]):
            self.flop_counts[path][packet] += flops

    def leave(self) -> None:
        thread = self._thread
        if thread.calls:
            packet, _, _, is_backward = thread.calls.pop()
            thread.counted -= packet is not None
            if is_backward and len(thread.modules) > 1:
                thread.modules.pop()

    # ---- results --------------------------------------------------------------------------------------------

    def get_total_flops(self) -> int:
        return sum(self.flop_counts["Global"].values())

    def get_flop_counts(self) -> dict[str, dict[Any, int]]:
        """{module: {operator: count}}; "Global" holds everything."""
        return {name: dict(counts) for name, counts in self.flop_counts.items()}

    def get_table(self, depth: int | None = None) -> str:
        """Modules to the given depth, with their operators, in shares of the whole."""
        depth = self.depth if depth is None else depth
        total = self.get_total_flops()
        suffix = get_suffix_str(total)

        def rows_of(name: str, indent: int) -> list[list[str]]:
            counts = self.flop_counts[name]
            cells = [(name, sum(counts.values())), *((f" - {op}", count) for op, count in counts.items())]
            return [
                [" " * indent + text, convert_num_with_suffix(count, suffix), convert_to_percent_str(count, total)]
                for text, count in cells
            ]

        names = sorted(name for name in self.flop_counts if name != "Global" and name.count(".") < depth)
        is_told_by_a_module = any(sum(self.flop_counts[name].values()) >= total for name in names)
        shift = 0 if is_told_by_a_module else 1
        rows = [] if is_told_by_a_module else rows_of("Global", 0)
        for name in names:
            rows += rows_of(name, name.count(".") + shift)
        return _as_table(rows)
