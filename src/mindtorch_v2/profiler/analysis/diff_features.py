"""What two runs are compared by: times of every part per step, and facts that do not depend on the machine."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from ..record.kinds import WORK_KINDS, Kind
from ..store.distinct import distinct
from ..store.event_store import EventStore
from .entries import STEP_NAME
from .memory import find_blocks
from .memory_use import changes_of
from .modules import assigned_modules
from .phases import COPY_NAMES, LABELS, phases
from .steps import find_steps
from .tree import EventTree
from .values import plain_shapes

MOST_PATHS = 4000


@dataclass(frozen=True)
class CallPath:
    """What tells calls of operators apart: the module's path, the operators from the outermost, shapes, forward or
    backward.
    """

    module: str
    operators: tuple[str, ...]
    shapes: str
    backward: bool

    @property
    def label(self) -> str:
        where = f"{self.module}: " if self.module else ""
        return (
            where
            + " > ".join(self.operators)
            + (f" {self.shapes}" if self.shapes else "")
            + (" (backward)" if self.backward else "")
        )

    def in_module(self, module: str) -> CallPath:
        return CallPath(module, self.operators, self.shapes, self.backward)


class Features:
    """The features of one run, each computed when first asked for. Times are nanoseconds per step."""

    def __init__(self, source: EventStore | EventTree) -> None:
        self.tree = EventTree.of(source)
        self.store = self.tree.store
        self.steps = find_steps(self.store)

    def _step_of(self, times: np.ndarray) -> np.ndarray:
        """The step that a moment lies in, or -1."""
        step = np.searchsorted(self.steps.start_ns, times, "right") - 1
        return np.where((step >= 0) & (times < np.append(self.steps.end_ns, 0)[step]), step, -1)

    @cached_property
    def _entry_step(self) -> np.ndarray:
        return self._step_of(self.tree.start_ns)

    def _per_step(self, group: np.ndarray, groups: int, values: np.ndarray) -> np.ndarray:
        """Sums by step (rows) and group (columns); group -1 is left out."""
        step = self._entry_step if len(group) == len(self.tree) else np.zeros(0)
        chosen = np.flatnonzero((group >= 0) & (step >= 0))
        codes = step[chosen] * groups + group[chosen]
        return np.bincount(codes, weights=values[chosen], minlength=len(self.steps.number) * groups).reshape(-1, groups)

    @cached_property
    def times(self) -> np.ndarray:
        """(steps,): how long each took."""
        return self.steps.duration_ns.astype(float)

    @cached_property
    def phases(self) -> dict[str, np.ndarray]:
        made = phases(self.store, self.steps).nanoseconds
        return {label: made[:, i].astype(float) for i, label in enumerate(LABELS) if made[:, i].any()}

    # ---- operators, modules, call paths ----------------------------------------------------------------------

    @cached_property
    def _is_part(self) -> np.ndarray:
        """Entries whose own time is a part of the program's: operators and annotations of the host, and work on
        devices.
        """
        tree = self.tree
        work = np.isin(tree.kind, [int(k) for k in WORK_KINDS])
        step_name = tree.name_of_id.index(STEP_NAME) if STEP_NAME in tree.name_of_id else -1
        return (tree.nests & (tree.row >= 0) & (tree.name_id != step_name)) | work

    @cached_property
    def _own(self) -> np.ndarray:
        tree = self.tree
        return (
            np.where(tree.device_type == 0, tree.self_ns, tree.end_ns - tree.start_ns)
            if tree.has_device_entries
            else tree.self_ns
        )

    @cached_property
    def operators(self) -> dict[str, np.ndarray]:
        """Own time per step of each name."""
        group = np.where(self._is_part, self.tree.name_id, -1)
        made = self._per_step(group, len(self.tree.name_of_id), self._own)
        used = distinct(group[group >= 0]).tolist()
        return {self.tree.name_of_id[i]: made[:, i] for i in used}

    @cached_property
    def _modules(self) -> tuple[np.ndarray, np.ndarray]:
        return assigned_modules(self.tree)

    @cached_property
    def modules(self) -> dict[str, np.ndarray]:
        """Own time per step of what each module ran itself, forward and backward."""
        if not self.store.modules:
            return {}
        module = np.where(self._is_part, self._modules[0], -1)
        made = self._per_step(module, len(self.store.modules), self._own)
        sums: dict[str, np.ndarray] = {}
        for i in distinct(module[module >= 0]).tolist():
            path = _path(self.store.modules[i].path, self.store.modules[i].type_name)
            sums[path] = sums[path] + made[:, i] if path in sums else made[:, i]
        return sums

    @cached_property
    def _path_of_entry(self) -> tuple[list[CallPath], np.ndarray]:
        """The call paths, and the index of that of each entry (-1 for none)."""
        tree, store = self.tree, self.store
        module, backward = self._modules
        shapes = [str(plain_shapes(inputs.shapes)) for inputs in store.inputs]
        inputs = tree.column(store.columns["inputs"], -1)
        index_of = np.full(len(tree) + 1, -1, np.int64)
        known: dict[CallPath, int] = {}
        paths: dict[tuple[int, int], int] = {}  # (index of the parent's path, name) -> index of the path
        names: list[tuple[str, ...]] = []
        path_of = np.full(len(tree) + 1, -1, np.int64)
        chosen = np.flatnonzero(
            self._is_part
            & (
                (tree.kind == Kind.OP)
                | (tree.kind == Kind.NODE)
                | (tree.kind == Kind.KERNEL)
                | (tree.kind == Kind.FUNCTION)
            )
        )
        seen: dict[tuple[int, int, int, bool], int] = {}
        columns = zip(
            chosen.tolist(),
            tree.parent[chosen].tolist(),
            tree.name_id[chosen].tolist(),
            module[chosen].tolist(),
            inputs[chosen].tolist(),
            backward[chosen].tolist(),
        )
        for entry, parent, name, mod, described, back in columns:
            above = int(path_of[parent])
            path = paths.get((above, name))
            if path is None:
                path = paths[above, name] = len(names)
                names.append((*(names[above] if above >= 0 else ()), tree.name_of_id[name]))
            path_of[entry] = path
            key = (path, mod, described, back)
            index = seen.get(key)
            if index is None:
                info = store.modules[mod] if mod >= 0 else None
                made = CallPath(
                    _path(info.path, info.type_name) if info else "",
                    names[path],
                    shapes[described] if described >= 0 else "",
                    back,
                )
                index = seen[key] = known.setdefault(made, len(known))
            index_of[entry] = index
        return list(known), index_of[:-1]

    @cached_property
    def call_paths(self) -> dict[CallPath, np.ndarray]:
        """Own time per step of each call path; of very many the longest."""
        listed, path = self._path_of_entry
        if not listed:
            return {}
        total = np.bincount(path[path >= 0], weights=self._own[path >= 0], minlength=len(listed))
        kept = np.argsort(-total, kind="stable")[:MOST_PATHS]
        new_index = np.full(len(listed) + 1, -1)
        new_index[kept] = np.arange(len(kept))
        made = self._per_step(new_index[path], len(kept), self._own)
        return {listed[index]: made[:, i] for i, index in enumerate(kept.tolist())}

    # ---- facts ----------------------------------------------------------------------------------------------

    @cached_property
    def counts(self) -> dict[str, int]:
        """Calls per step of each name: what most steps have."""
        group = np.where(self._is_part, self.tree.name_id, -1)
        made = self._per_step(group, len(self.tree.name_of_id), np.ones(len(self.tree)))
        return {self.tree.name_of_id[i]: _usual(made[:, i]) for i in distinct(group[group >= 0]).tolist()}

    @cached_property
    def facts(self) -> dict[str, int]:
        """Deterministic facts: of a step what most steps have; the peak is that of the whole run."""
        tree, store = self.tree, self.store
        everything = np.zeros(len(tree), np.int64)
        operators = np.where(self._is_part & (tree.kind == Kind.OP), everything, -1)
        copies = (
            np.array([name in COPY_NAMES for name in tree.name_of_id])[tree.name_id] if len(tree) else np.zeros(0, bool)
        )
        launches = np.isin(tree.kind, [int(k) for k in WORK_KINDS])
        ones = np.ones(len(tree))
        found = {
            "operators": _usual(self._per_step(operators, 1, ones)[:, 0]),
            "copies": _usual(self._per_step(np.where(copies & tree.nests, 0, -1), 1, ones)[:, 0]),
        }
        if launches.any():
            found["launches"] = _usual(self._per_step(np.where(launches, 0, -1), 1, ones)[:, 0])
        if store.metadata.options.with_flops:
            found["flops"] = _usual(self._per_step(everything, 1, tree.flops)[:, 0])
        if len(store.memory):
            gained = store.memory.nbytes > 0
            step = self._step_of(store.memory.time_ns[gained])
            sums = np.bincount(
                step[step >= 0], weights=store.memory.nbytes[gained][step >= 0], minlength=len(self.steps.number)
            )
            found["allocated_bytes"] = _usual(sums)
            found["peak_memory"] = max(
                int(changes_of(find_blocks(tree, *device)).totals().max(initial=0))
                for device in sorted(set(zip(store.memory.device_type.tolist(), store.memory.device_index.tolist())))
            )
        return found


def _path(path: str, type_name: str) -> str:
    return path or type_name or "(model)"


def _usual(values: np.ndarray) -> int:
    """The value that most steps have."""
    return int(Counter(values.tolist()).most_common(1)[0][0]) if len(values) else 0
