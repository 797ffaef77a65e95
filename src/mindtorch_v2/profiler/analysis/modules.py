"""Time, memory and FLOPs per nn.Module: forward and backward, as a tree."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from ..record.kinds import Kind
from ..store.event_store import EventStore
from .flows import forward_of
from .formatting import _format_memory, _format_time, printable
from .tree import EventTree


@dataclass
class ModuleNode:
    """A module as it was called by its parent. Times are those of operators, in nanoseconds; all figures include the
    modules below."""

    path: str
    type_name: str
    calls: int = 0
    forward_ns: int = 0
    backward_ns: int = 0
    cpu_bytes: int = 0
    flops: int = 0
    children: list[ModuleNode] = field(default_factory=list)

    @property
    def label(self) -> str:
        return f"{self.path} ({self.type_name})" if self.path else self.type_name

    def _add(self, other: ModuleNode) -> None:
        self.forward_ns += other.forward_ns
        self.backward_ns += other.backward_ns
        self.cpu_bytes += other.cpu_bytes
        self.flops += other.flops


@dataclass(frozen=True)
class ModuleReport:
    """The outermost modules that ran; `outside` is what belongs to none of them."""

    roots: list[ModuleNode]
    outside: ModuleNode

    def find(self, path: str) -> ModuleNode:
        """The first module with that path; KeyError if there is none."""
        waiting = list(self.roots)
        while waiting:
            node = waiting.pop(0)
            if node.path == path:
                return node
            waiting = node.children + waiting
        raise KeyError(path)

    def table(self) -> str:
        """The tree as text, one module per line."""
        rows = [("Module", "Calls", "Forward", "Backward", "CPU Mem", "FLOPs")]

        def add(node: ModuleNode, depth: int) -> None:
            rows.append(
                (
                    "  " * depth + printable(node.label),
                    str(node.calls),
                    _format_time(node.forward_ns / 1000),
                    _format_time(node.backward_ns / 1000),
                    _format_memory(node.cpu_bytes),
                    str(node.flops) if node.flops else "--",
                )
            )
            for child in node.children:
                add(child, depth + 1)

        for root in [*self.roots, self.outside]:
            add(root, 0)
        widths = [max(len(row[i]) for row in rows) for i in range(len(rows[0]))]
        lines = [
            "  ".join(
                cell.ljust(w) if i == 0 else cell.rjust(w) for i, (cell, w) in enumerate(zip(row, widths))
            ).rstrip()
            for row in rows
        ]
        return "\n".join([lines[0], "  ".join("-" * w for w in widths), *lines[1:]]) + "\n"


def module_report(source: EventStore | EventTree) -> ModuleReport:
    """What each module cost. An operator belongs to the innermost module that was running when it was called; a
    backward function, and what it calls, to the module of the operator that recorded it."""
    tree = EventTree.of(source)
    store = tree.store
    module, is_backward = assigned_modules(tree)
    nodes = [ModuleNode(info.path, info.type_name) for info in store.modules]
    outside = ModuleNode("", "(outside modules)", calls=0)
    for target, values in (
        ("forward_ns", np.where(is_backward, 0, tree.self_ns)),
        ("backward_ns", np.where(is_backward, tree.self_ns, 0)),
        ("cpu_bytes", tree.self_cpu_bytes),
        ("flops", tree.flops),
    ):
        sums = np.bincount(module + 1, weights=values, minlength=len(nodes) + 1).astype(np.int64).tolist()
        for node, value in zip([outside, *nodes], sums):
            setattr(node, target, value)
    calls = np.bincount(store.module[(store.kind == Kind.MODULE) & (store.module >= 0)], minlength=len(nodes)).tolist()
    roots = []
    # a caller's id is smaller than its callees', so sums travel upwards
    for index in range(len(nodes) - 1, -1, -1):
        node, parent = nodes[index], store.modules[index].parent
        node.calls = calls[index]
        node.children.reverse()
        if parent >= 0:
            nodes[parent].children.append(node)
            nodes[parent]._add(node)
        else:
            roots.append(node)
    return ModuleReport(roots[::-1], outside)


def assigned_modules(tree: EventTree) -> tuple[np.ndarray, np.ndarray]:
    """(module, is it part of a backward pass?) per entry."""
    module = tree.column(tree.store.module, -1).astype(np.int64)
    engine = (tree.kind == Kind.NODE) | (tree.kind == Kind.BACKWARD)
    is_backward = engine.copy()
    nodes = np.flatnonzero(engine)
    forward = forward_of(tree, nodes)
    module[nodes] = np.where(forward >= 0, module[forward], -1)
    for level in tree.levels:  # from the roots down, so that what is inherited is settled
        above = tree.parent[level]
        inherits = is_backward[above] & ~engine[level]
        inherits |= engine[level] & (module[level] < 0) & is_backward[above]
        is_backward[level] |= is_backward[above]
        module[level] = np.where(inherits, module[above], module[level])
    return module, is_backward
