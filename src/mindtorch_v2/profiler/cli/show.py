"""Shows what a profile says: verdict, steps, hot operators, modules, lines, memory peak, device busy and idle, advice.

In a pipe the text is plain.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
from typing import Any

import numpy as np

from ..analysis.advice import Facts, advice
from ..analysis.busy_machine import busy_note
from ..analysis.device import DeviceUse, device_use
from ..analysis.formatting import printable
from ..analysis.modules import ModuleNode, module_report
from ..analysis.operators import Operator, line_times, operators
from ..analysis.phases import LABELS
from ..analysis.steps import window_of
from ..analysis.tree import EventTree
from ..analysis.verdict import verdict
from ..report.data import advice_data
from ..store.event_store import EventStore
from .terminal import Terminal, percent, size, time

_PACKAGE = os.path.join(os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__)))), "")
EXAMPLE = (
    "mindprof show profile.mindprof",
    "mindprof show trace.json.gz --json | jq .verdict",
    "mindprof show traces-of-all-ranks/",
)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "file", help="a profile, a trace, torch_npu's folder, a flight recorder's segments, a folder of all ranks"
    )
    parser.add_argument("-n", "--rows", type=int, default=10, metavar="N", help="rows of each table (10)")
    parser.add_argument("--json", action="store_true", help="everything as one JSON object")
    from . import ranks

    ranks.add_arguments(parser)


def run(options: argparse.Namespace) -> int:
    from ..ranks.files import is_job  # `run` needs none of these
    from . import ranks
    from .source import open_profile

    if is_job(options.file):
        return ranks.show(options)
    answer = summary(open_profile(options.file), rows=max(options.rows, 1))
    if options.json:
        json.dump({"file": options.file, **answer}, sys.stdout, indent=1, allow_nan=False)
        sys.stdout.write("\n")
    else:
        print_summary(answer, options.file, Terminal())
    return 0


def summary(store: EventStore, rows: int = 10) -> dict[str, Any]:
    """The answer as JSON. Times are nanoseconds; "own" is without what an event called."""
    tree = EventTree(store)
    facts = Facts(tree)
    steps = facts.phases.steps
    uses = device_use(tree) if facts.has_device else []
    first, last = window_of(store)
    listed = operators(tree, details=3)
    judged = verdict(facts.phases, uses, facts.has_unseen_work)
    return {
        "events": len(store),
        "window_ns": last - first,
        "dropped_events": store.metadata.dropped_events,
        "machine": {**store.metadata.machine_load, "note": busy_note(store)},
        "verdict": {"bound": judged.bound, "sentence": judged.sentence, "evidence": judged.evidence},
        "phases_ns": dict(zip(LABELS, facts.phases.nanoseconds.sum(0).tolist())),
        "steps": {
            "source": steps.source,
            "count": len(steps.number),
            "median_ns": int(np.median(steps.duration_ns)),
            "number": steps.number.tolist(),
            "length_ns": steps.duration_ns.tolist(),
            "outliers": steps.number[steps.outliers()].tolist(),
        },
        "operators": [_operator(o) for o in listed if o.kind != "scope"][:rows],
        "modules": _modules(tree, rows),
        "lines": _lines(tree, rows),
        "memory": [
            {
                "device": use.device,
                "peak_bytes": use.peak_bytes,
                "growth_bytes_per_step": use.growth_bytes,
                "holders": [
                    {
                        "operator": h.name,
                        "module": h.module,
                        "line": h.line,
                        "category": h.category.name.lower(),
                        "nbytes": h.nbytes,
                        "blocks": h.blocks,
                    }
                    for h in use.holders[:rows]
                ],
            }
            for use in facts.memory
        ],
        "devices": [_device(use) for use in uses],
        "advice": [advice_data(finding) for finding in advice(facts)],
        "flight": _flight(store),
    }


def _flight(store: EventStore) -> dict[str, Any]:
    """What a flight recorder noted when it wrote the profile: why, and where each thread was."""
    try:
        noted = json.loads(store.metadata.user.get("flight", "{}"))
    except (ValueError, RecursionError):
        return {}
    return noted if isinstance(noted, dict) else {}


def _operator(o: Operator) -> dict[str, Any]:
    return {
        "name": o.name,
        "kind": o.kind,
        "device": o.device,
        "calls": o.calls,
        "own_ns": o.own_ns,
        "total_ns": o.total_ns,
        "own_device_ns": o.own_device_ns,
        "device_ns": o.device_ns,
        "p50_ns": o.p50_ns,
        "p95_ns": o.p95_ns,
        "max_ns": o.max_ns,
        "flops": o.flops,
        "own_bytes": o.own_nbytes,
        "line": o.lines[0].name if o.lines else "",
    }


def _modules(tree: EventTree, rows: int) -> list[dict[str, Any]]:
    """The modules that took most time, inner ones included."""
    if not tree.store.modules:
        return []
    found: list[ModuleNode] = []
    waiting = list(module_report(tree).roots)
    while waiting:
        node = waiting.pop()
        found.append(node)
        waiting += node.children
    found.sort(key=lambda n: (-(n.forward_ns + n.backward_ns), n.path))
    return [
        {
            "path": n.path,
            "type": n.type_name,
            "calls": n.calls,
            "forward_ns": n.forward_ns,
            "backward_ns": n.backward_ns,
            "bytes": n.cpu_bytes,
            "flops": n.flops,
        }
        for n in found[:rows]
    ]


def _lines(tree: EventTree, rows: int) -> list[dict[str, Any]]:
    return [{"line": part.name, "calls": part.calls, "total_ns": part.total_ns} for part in line_times(tree)[:rows]]


def _device(use: DeviceUse) -> dict[str, Any]:
    return {
        "device": use.device,
        "work": use.work,
        "busy_ns": use.busy_ns,
        "idle_ns": use.idle_ns,
        "starved_ns": use.starved_ns,
        "kernel_ns": use.kernel_ns,
        "copy_ns": use.copy_ns,
        "overlap_ns": use.overlap_ns,
        "launch_delay_ns": use.delay_ns,
        "bound": use.bound,
    }


# ---- as text
# ----------------------------------------------------------------------------------------------------------


def print_summary(answer: dict[str, Any], name: str, out: Terminal) -> None:
    """The answer for a person."""
    steps = answer["steps"]
    out.line(out.style(printable(name), "bold") + f": {answer['events']:,} events, {time(answer['window_ns'])}")
    out.line(out.style(answer["verdict"]["sentence"], "bold", "green"))
    if answer["machine"]["note"]:
        out.line(out.style(answer["machine"]["note"], "yellow"))
    if answer["flight"]:
        _print_flight(answer["flight"], out)
    if answer["dropped_events"]:
        out.line(out.style(f"{answer['dropped_events']:,} events were dropped.", "red"))
    whole = max(sum(answer["phases_ns"].values()), 1)
    out.title("Where the time goes" if steps["source"] == "window" else "Where the time of a step goes")
    used = [(label, ns) for label, ns in answer["phases_ns"].items() if ns]
    out.rows(
        ("phase", "per step", "share"),
        [(label, time(ns / max(steps["count"], 1)), percent(ns / whole)) for label, ns in used],
        [ns / whole for _, ns in used],
    )
    if steps["count"] > 1:
        _print_steps(steps, out)
    _print_operators(answer["operators"], answer["devices"], out)
    _print_rest(answer, whole, out)


def _print_flight(noted: dict[str, Any], out: Terminal) -> None:
    """Why a flight recorder wrote this, and where each thread was."""
    lines = str(noted.get("text", "")).splitlines()
    share = noted.get("recorded_share", 1)
    covers = f"the last {noted.get('covered_seconds', '?')} s"
    covers += f", of which {percent(share)} were recorded" if isinstance(share, float) and share < 1 else ""
    out.line(f"Flight recorder: {printable(lines[0] if lines else str(noted.get('reason', '')))}; {covers}.")
    for thread in noted.get("threads", ())[:8]:
        stack = thread.get("stack", ())
        inner = next((line for line in stack if _PACKAGE not in line), stack[0] if stack else "")
        out.line(f"  {printable(str(thread.get('name')))}: {printable(str(inner))}")


def _print_steps(steps: dict[str, Any], out: Terminal) -> None:
    lengths = steps["length_ns"]
    text = (
        f"{steps['count']} steps: median {time(steps['median_ns'])}, shortest {time(min(lengths))}, longest "
        f"{time(max(lengths))}"
    )
    if steps["outliers"]:
        text += f", outliers {', '.join(map(str, steps['outliers'][:8]))}"
    out.line()
    out.line(text + (" (from one Optimizer.step to the next)" if steps["source"] == "optimizer" else ""))


def _print_operators(found: list[dict[str, Any]], devices: list[dict[str, Any]], out: Terminal) -> None:
    out.title("Operators by own time")
    whole = max(sum(o["own_ns"] for o in found), 1)
    heads: tuple[str, ...] = ("operator", "own", "total", "calls", "p50", "p95", "max")
    rows: list[tuple[str, ...]] = [
        (
            o["name"],
            time(o["own_ns"]),
            time(o["total_ns"]),
            f"{o['calls']:,}",
            time(o["p50_ns"]),
            time(o["p95_ns"]),
            time(o["max_ns"]),
        )
        for o in found
    ]
    if devices:
        heads = (*heads, "device")
        rows = [(*row, time(o["device_ns"])) for row, o in zip(rows, found)]
    out.rows(heads, rows, [o["own_ns"] / whole for o in found])


def _print_rest(answer: dict[str, Any], whole: int, out: Terminal) -> None:
    if answer["modules"]:
        out.title("Modules, with what is inside")
        rows: list[tuple[str, ...]] = [
            (
                f"{m['path'] or m['type']} ({m['type']})" if m["type"] else m["path"],
                time(m["forward_ns"]),
                time(m["backward_ns"]),
                f"{m['calls']:,}",
            )
            for m in answer["modules"]
        ]
        out.rows(
            ("module", "forward", "backward", "calls"),
            rows,
            [(m["forward_ns"] + m["backward_ns"]) / whole for m in answer["modules"]],
        )
    if answer["lines"]:
        out.title("Lines, by the operators that they call")
        out.rows(
            ("line", "time", "calls"),
            [(line["line"], time(line["total_ns"]), f"{line['calls']:,}") for line in answer["lines"]],
            [line["total_ns"] / whole for line in answer["lines"]],
        )
    _print_memory_and_devices(answer, out)
    if answer["advice"]:
        out.title("What to do")
        for index, finding in enumerate(answer["advice"], 1):
            gain = f" (at most {percent(finding['share'])})" if finding["gain_ns"] else ""
            out.line(f"  {index}. {out.style(finding['title'], 'yellow')}{gain}")
            out.line(f"     {finding['todo']}")


def _print_memory_and_devices(answer: dict[str, Any], out: Terminal) -> None:
    for use in answer["memory"]:
        out.title(f"Memory on {use['device']}: peak {size(use['peak_bytes'])}")
        out.rows(
            ("held at the peak by", "bytes", "blocks", "as"),
            [
                (
                    " ".join(filter(None, (h["operator"], h["module"], h["line"]))),
                    size(h["nbytes"]),
                    f"{h['blocks']:,}",
                    h["category"],
                )
                for h in use["holders"]
            ],
            [h["nbytes"] / max(use["peak_bytes"], 1) for h in use["holders"]],
        )
    for use in answer["devices"]:
        span = max(use["busy_ns"] + use["idle_ns"], 1)
        out.title(
            f"Device {use['device']}: busy {percent(use['busy_ns'] / span)}, idle {time(use['idle_ns'])}, "
            f"of that {time(use['starved_ns'])} waiting for the host; median launch delay "
            f"{time(use['launch_delay_ns'])}"
        )
