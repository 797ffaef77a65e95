"""What the page shows, as one object that JSON can hold: small whatever the size of the profile. What is left out is
said in it.

Times are nanoseconds; those of moments count from the beginning of the window.
"""

from __future__ import annotations

import dataclasses
import json
import os
from collections import Counter
from collections.abc import Sequence
from typing import Any

import numpy as np

from ..._version import __version__
from ..analysis import flame
from ..analysis.advice import Advice, Facts, advice
from ..analysis.busy_machine import busy_note
from ..analysis.device import device_use
from ..analysis.device_report import DeviceReport, device_reports
from ..analysis.memory import Category
from ..analysis.memory_use import MemoryUse
from ..analysis.modules import ModuleNode, module_report
from ..analysis.operators import Operator, operators
from ..analysis.phases import LABELS, Phases
from ..analysis.steps import window_of
from ..analysis.tree import EventTree
from ..analysis.verdict import verdict
from ..store.distinct import distinct
from ..store.event_store import EventStore
from .timeline import MOST_EVENTS, cut, timeline

MOST_OPERATORS, MOST_DETAILED, MOST_DETAILS = 1500, 300, 12
MOST_STEPS = 2000
MOST_FRAMES = 5000
MOST_MODULES = 3000
MOST_HOLDERS = 200
MOST_KERNELS = 400


def report_data(store: EventStore, title: str = "", most_events: int = MOST_EVENTS) -> dict[str, Any]:
    """Everything the page shows of one store."""
    tree = EventTree(store)
    facts = Facts(tree)
    left_out: list[str] = []
    listed = operators(tree, MOST_DETAILS)
    devices = device_reports(tree) if facts.has_device else []
    findings = advice(facts)
    wanted = sorted(
        {
            *(o.slowest_row for o in listed[:MOST_OPERATORS]),
            *(r for a in findings for r in a.rows),
            *(k.slowest_row for d in devices for k in d.kernels[:MOST_KERNELS]),
        }
        - {-1}
    )
    steps = facts.phases.steps
    events, event_of_row = timeline(tree, steps, wanted, most_events)
    origin = min(window_of(store)[0], int(steps.start_ns[0]))
    if events["drawn"] < len(store):
        left_out.append(
            f"Timeline: {len(store) - events['drawn']:,} of {len(store):,} events, the shortest ones, are merged "
            "with their neighbours; "
            "all tables and graphs count them."
        )
    return {
        "title": title,
        "tool": f"mindtorch_v2 {__version__}",
        "events": len(store),
        "window_ns": window_of(store)[1] - origin,
        "about": _about(store),
        "settings": _settings(store),
        "drops": _drops(store),
        "left_out": left_out,
        "machine": busy_note(store),
        "phases": _phases(facts.phases, origin, left_out),
        "verdict": verdict(facts.phases, device_use(tree), facts.has_unseen_work)._asdict(),
        "operators": _operators(listed, event_of_row, left_out),
        "flames": _flames(tree, left_out),
        "modules": _modules(tree, left_out),
        "memory": [_memory(use, origin) for use in facts.memory],
        "devices": [_device(d, event_of_row, left_out) for d in devices],
        "advice": [advice_data(a, event_of_row) for a in findings],
        "timeline": events,
    }


def _about(store: EventStore) -> dict[str, Any]:
    meta = store.metadata
    hosts = [t for t in store.threads if t.device < 0]
    about = {
        "process": f"{meta.process_name} {meta.pid}" if meta.pid else meta.process_name,
        "host": meta.host_name,
        "trace id": meta.trace_id,
        "device": meta.use_device or "cpu",
        "threads": sum(not t.task for t in hosts),
        "tasks": sum(bool(t.task) for t in hosts),
        "streams": len(store.threads) - len(hosts),
        "source": "a loaded trace" if meta.is_foreign else "a profile of this package",
    }
    about |= {key: _readable(text) for key, text in list(meta.user.items())[:40]}
    about["devices"] = cut(_devices(meta.device_properties))
    return {key: value for key, value in about.items() if value not in ("", 0)}


def _readable(text: str) -> str:
    """A JSON text as a person reads it."""
    value = _json(text)
    if isinstance(value, dict) and not any(isinstance(v, (dict, list)) for v in value.values()):
        return cut(", ".join(f"{key.replace('_', ' ')} {v}" for key, v in value.items()))
    return cut(value if isinstance(value, str) else json.dumps(value))


def _json(text: str) -> Any:
    """What a JSON text says; the text where it is none."""
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return text


def _devices(properties: str) -> str:
    """The devices that a trace describes: how many of which kind, or what it says where that is something else."""
    found = _json(properties)
    if not isinstance(found, list) or not all(isinstance(one, dict) and "name" in one for one in found):
        return "" if found in ([], "") else _readable(properties)
    kinds = Counter((str(one["name"]), _gigabytes(one.get("totalGlobalMem"))) for one in found)
    return ", ".join(f"{n} x {name}{memory}" for (name, memory), n in kinds.items())


def _gigabytes(nbytes: Any) -> str:
    return f" ({nbytes / 2**30:.0f} GB)" if isinstance(nbytes, int) and nbytes > 0 else ""


def _settings(store: EventStore) -> dict[str, Any]:
    options = store.metadata.options
    return {
        f.name: value
        for f in dataclasses.fields(options)
        if (value := getattr(options, f.name)) is True and f.default is False
    }


def _drops(store: EventStore) -> dict[str, int]:
    unfinished = int((store.flags & 1 != 0).sum())
    return {"dropped events": store.metadata.dropped_events, "unfinished events": unfinished}


def _phases(found: Phases, origin: int, left_out: list[str]) -> dict[str, Any]:
    steps = found.steps
    chosen = np.arange(len(steps.number))
    outliers = steps.outliers()
    if len(chosen) > MOST_STEPS:
        longest = np.argsort(-steps.duration_ns, kind="stable")[: MOST_STEPS // 4]
        chosen = distinct(
            np.concatenate([np.linspace(0, len(chosen) - 1, MOST_STEPS * 3 // 4).astype(np.int64), longest])
        )
        left_out.append(
            f"Steps: {len(steps.number) - len(chosen):,} of {len(steps.number):,} are not drawn; the longest are."
        )
    return {
        "labels": LABELS,
        "total": found.nanoseconds.sum(0).tolist(),
        "source": steps.source,
        "count": len(steps.number),
        "median_ns": int(np.median(steps.duration_ns)),
        "number": steps.number[chosen].tolist(),
        "start": (steps.start_ns[chosen] - origin).tolist(),
        "length": steps.duration_ns[chosen].tolist(),
        "outlier": np.flatnonzero(outliers[chosen]).tolist(),
        "by_step": found.nanoseconds[chosen].tolist(),
    }


_COLUMNS = (
    "name",
    "kind",
    "device",
    "calls",
    "total_ns",
    "own_ns",
    "device_ns",
    "own_device_ns",
    "p50_ns",
    "p95_ns",
    "max_ns",
    "flops",
    "nbytes",
    "own_nbytes",
)


def _operators(listed: Sequence[Operator], event_of_row: dict[int, int], left_out: list[str]) -> dict[str, Any]:
    if len(listed) > MOST_OPERATORS:
        left_out.append(
            f"Operators: {len(listed) - MOST_OPERATORS:,} of {len(listed):,} rows, those with the least own time."
        )
    printed = listed[:MOST_OPERATORS]
    details = [
        [
            [[cut(p.name), p.calls, p.total_ns, p.index] for p in parts]
            for parts in (o.callers, o.callees, o.shapes, o.lines)
        ]
        for o in printed[:MOST_DETAILED]
    ]
    return {
        "columns": _COLUMNS,
        "rows": [[cut(o.name), *(getattr(o, c) for c in _COLUMNS[1:])] for o in printed],
        "details": details,
        "slowest": [event_of_row.get(o.slowest_row, -1) for o in printed],
    }


def _flames(tree: EventTree, left_out: list[str]) -> dict[str, Any]:
    made = {}
    for name, make in (("operators", flame.by_operators), ("modules", flame.by_modules), ("python", flame.by_python)):
        whole = make(tree)
        if whole is None or not len(whole.name):
            continue
        graph = flame.prune(whole, MOST_FRAMES)
        if graph.left_out:
            left_out.append(
                f'Flame graph by {name}: {graph.left_out:,} of {len(whole.name):,} frames are summed up as "(smaller)".'
            )
        used, index = np.unique(graph.name, return_inverse=True)
        made[name] = {
            "names": [cut(graph.names[i]) for i in used.tolist()],
            "name": index.tolist(),
            "parent": graph.parent.tolist(),
            "own": graph.own_ns.tolist(),
            "backward": graph.backward_ns.tolist(),
            "calls": graph.calls.tolist(),
        }
    return made


def _modules(tree: EventTree, left_out: list[str]) -> list[list[Any]]:
    """The modules from the outermost: [label, depth, calls, forward, backward, bytes, flops]."""
    if not tree.store.modules:
        return []
    found = module_report(tree)
    rows: list[list[Any]] = []

    def add(node: ModuleNode, depth: int) -> None:
        rows.append(
            [
                cut(node.label or "(model)"),
                depth,
                node.calls,
                node.forward_ns,
                node.backward_ns,
                node.cpu_bytes,
                node.flops,
            ]
        )
        for child in node.children:
            add(child, depth + 1)

    for root in [*found.roots, found.outside]:
        add(root, 0)
    if len(rows) > MOST_MODULES:
        left_out.append(f"Modules: the last {len(rows) - MOST_MODULES:,} of {len(rows):,}.")
    return rows[:MOST_MODULES]


def _memory(use: MemoryUse, origin: int) -> dict[str, Any]:
    used = [c for c in Category if use.totals[:, c].any()] if len(use.totals) else []
    holders = [
        [cut(h.name), cut(h.module), cut(h.line), h.category.name.lower(), h.nbytes, h.blocks]
        for h in use.holders[:MOST_HOLDERS]
    ]
    rest = use.holders[MOST_HOLDERS:]
    if rest:
        holders.append([f"({len(rest)} smaller)", "", "", "", sum(h.nbytes for h in rest), sum(h.blocks for h in rest)])
    return {
        "device": use.device,
        "times": (use.times_ns - origin).tolist(),
        "categories": [c.name.lower() for c in used],
        "totals": [use.totals[:, c].tolist() for c in used],
        "peak": use.peak_bytes,
        "peak_at": use.peak_ns - origin,
        "at_peak": [int(use.at_peak[c]) for c in used],
        "changes": use.points,
        "growth": use.growth_bytes,
        "at_ends": use.at_ends[:MOST_STEPS],
        "holders": holders,
        "survivors": [
            [cut(s.name), cut(s.module), cut(s.line), s.category.name.lower(), s.nbytes, s.blocks, s.steps]
            for s in use.survivors[:MOST_HOLDERS]
        ],
    }


def _device(report: DeviceReport, event_of_row: dict[int, int], left_out: list[str]) -> dict[str, Any]:
    if len(report.kernels) > MOST_KERNELS:
        left_out.append(
            f"Device {report.use.device}: {len(report.kernels) - MOST_KERNELS:,} of {len(report.kernels):,} kernels."
        )
    return {
        "use": dataclasses.asdict(report.use),
        "bound": report.use.bound,
        "queued": report.use.supplied_share,
        "kernels": [
            [
                cut(k.name),
                k.kind,
                k.calls,
                k.total_ns,
                k.p50_ns,
                k.max_ns,
                cut(k.launched_by),
                event_of_row.get(k.slowest_row, -1),
            ]
            for k in report.kernels[:MOST_KERNELS]
        ],
        "streams": [list(s) for s in report.streams],
        "idle": report.idle,
        "before": report.before_ns,
        "after": report.after_ns,
        "communication": report.communication_ns,
        "communication_hidden": report.communication_hidden_ns,
        "delays": report.delays_ns,
        "synchronisations": [list(s) for s in report.synchronisations[:50]],
    }


def advice_data(finding: Advice, event_of_row: dict[int, int] | None = None) -> dict[str, Any]:
    """A finding as JSON; `events` are indices of the timeline's events where there is a timeline, else rows."""
    rows = finding.rows
    if event_of_row is not None:
        rows = [event_of_row[row] for row in rows if row in event_of_row]
    return {
        "rule": finding.rule,
        "title": finding.title,
        "evidence": finding.evidence,
        "todo": finding.todo,
        "events": rows,
        "gain_ns": finding.gain_ns,
        "gain_bytes": finding.gain_bytes,
        "share": finding.share,
    }


def file_title(path: str | os.PathLike[str]) -> str:
    return os.path.basename(os.fspath(path))
