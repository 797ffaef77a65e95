"""Known ways of losing time or memory, one function each: from `Facts` to a finding, or None where it does not apply.

The gain that a finding names is never more than the time that was measured on what it is about.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from ..record.kinds import Kind
from ..store.distinct import distinct
from .device import device_use
from .facts import MOST_ROWS, Advice, Facts
from .formatting import _format_memory, _format_time
from .phases import Phase
from .steps import OPTIMIZER_PREFIX


def _time(nanoseconds: float) -> str:
    return _format_time(nanoseconds / 1000)


def slow_input(facts: Facts) -> Advice | None:
    """The loop waits for its data."""
    waits = facts.phase_ns(Phase.DATA)
    if waits < 0.1 * facts.whole_ns:
        return None
    rows = facts.rows_named(lambda text: text.startswith("enumerate(DataLoader)#"))
    return Advice(
        "slow-input",
        "The loop waits for its data",
        [
            f"{_time(waits)} in the data loader, {waits / facts.whole_ns:.1%} of the steps' time",
            f"{len(rows)} batches, {_time(waits / max(len(rows), 1))} each",
        ],
        "Load with worker processes (DataLoader(num_workers=...)), move work on single samples out of __getitem__ and "
        "collate_fn, and prepare the data once instead of in every epoch.",
        facts.longest(rows),
        waits,
    )


def many_tiny_operators(facts: Facts) -> Advice | None:
    """Most of the time goes to calls that are too small to be worth a call."""
    tree = facts.tree
    bound = 10_000
    tiny = np.flatnonzero(
        (tree.kind == Kind.OP)
        & (tree.total_ns < bound)
        & tree.nests
        & np.append(tree.kind != Kind.OP, True)[tree.parent]
        & facts.entries_in_steps
    )
    gain = facts.gain_ns(tiny)
    if len(tiny) < 100 * facts.steps or gain < 0.2 * facts.whole_ns:
        return None
    names, counts = np.unique(tree.name_id[tiny], return_counts=True)
    most = [f"{tree.name_of_id[names[i]]} x{counts[i]}" for i in np.argsort(-counts)[:4].tolist()]
    return Advice(
        "tiny-operators",
        f"{len(tiny) // facts.steps} operators of less than 10 us"
        + (" in every step" if facts.phases.steps.source != "window" else ""),
        [f"{len(tiny)} calls, {facts.spent(tiny)}", "most often " + ", ".join(most)],
        "Work on larger tensors: batch what a loop does one by one, stack small tensors, use one operator that does "
        "what several do (addcmul, baddbmm, the foreach functions).",
        tree.rows_of(tiny[np.argsort(-tree.total_ns[tiny])[:MOST_ROWS]]).tolist(),
        gain,
    )


def starved_device(facts: Facts) -> Advice | None:
    """A device waits for the host."""
    uses = device_use(facts.tree) if facts.has_device else []
    worst = max(uses, key=lambda use: use.starved_ns, default=None)
    if worst is None or worst.starved_ns < 0.3 * (worst.busy_ns + worst.idle_ns):
        return None
    gaps = _largest_gaps(facts, worst.device)
    return Advice(
        "host-bound",
        f"Device {worst.device} waits for the host",
        [
            f"idle with nothing launched for {_time(worst.starved_ns)}, "
            f"{worst.starved_ns / (worst.busy_ns + worst.idle_ns):.1%} of the time from its first to its last piece "
            "of work",
            f"{worst.work} pieces of work, median {_time(worst.delay_ns)} from launch to start",
        ],
        "Launch more work with each call: larger batches, fused operators, captured graphs. Look in the timeline at "
        "what the host does before the events listed here, which ended the longest waits.",
        gaps,
        worst.starved_ns,
    )


def _largest_gaps(facts: Facts, device: int) -> list[int]:
    """The pieces of work that ended the longest idle times of a device."""
    store = facts.store
    devices = np.array([thread.device for thread in store.threads])
    rows = np.flatnonzero(
        np.isin(store.kind, (Kind.KERNEL, Kind.MEMCPY, Kind.MEMSET)) & (devices[store.thread] == device)
    )
    reach = np.maximum.accumulate(store.end_ns[rows])
    gap = np.append(0, store.start_ns[rows][1:] - reach[:-1])
    return rows[np.argsort(-gap, kind="stable")[:MOST_ROWS]].tolist()


def hidden_synchronisation(facts: Facts) -> Advice | None:
    """The host waits for a device inside a step although nobody asked it to."""
    if not facts.has_device:
        return None
    store = facts.store
    waits = facts.rows_named(lambda text: "ynchronize" in text, (int(Kind.RUNTIME), int(Kind.DRIVER)))
    reads = facts.rows_named(
        lambda text: text in ("aten::item", "aten::_local_scalar_dense", "aten::nonzero", "aten::is_nonzero")
    )
    inside = np.isin(store.parent[waits], reads) | np.isin(
        store.kind[np.maximum(store.parent[waits], 0)], (Kind.OP,)
    ) & (store.parent[waits] >= 0)
    hidden = waits[inside]
    took = facts.length(hidden)
    if took < 0.02 * facts.whole_ns:
        return None
    parents = sorted({store.name_of(int(store.parent[row])) for row in hidden.tolist()})
    return Advice(
        "hidden-sync",
        "Operators wait for the device",
        [f"{len(hidden)} waits of {_time(took)} in all inside {', '.join(parents[:4])}"],
        "Read values (.item(), float(), if on a tensor, nonzero, boolean masks) rarely, at the end of a step or every "
        "n steps; copy with non_blocking=True from pinned memory.",
        facts.longest(hidden),
        took,
    )


def repeated_copies(facts: Facts) -> Advice | None:
    """The same copy or cast is made again and again."""
    tree, store = facts.tree, facts.store
    if facts.phases.steps.source == "window":  # what runs once may well make a copy twice
        return None
    names = {
        i
        for i, text in enumerate(tree.name_of_id)
        if text in ("aten::_to_copy", "aten::copy_", "aten::clone", "aten::contiguous")
    }
    chosen = np.flatnonzero(np.isin(tree.name_id, list(names)) & tree.nests & (tree.row >= 0) & facts.entries_in_steps)
    outer = np.isin(np.append(tree.name_id, -1)[tree.parent[chosen]], list(names)) & (tree.parent[chosen] >= 0)
    chosen = chosen[~outer]
    inputs, stack = tree.column(store.columns["inputs"], -1)[chosen], tree.column(store.stack, -1)[chosen]
    _, where, counts = np.unique(
        np.stack([tree.name_id[chosen], inputs, stack]), axis=1, return_inverse=True, return_counts=True
    )
    again = chosen[counts[where.reshape(-1)] >= 2 * facts.steps]
    gain = facts.gain_ns(again)
    if gain < 0.05 * facts.whole_ns:
        return None
    return Advice(
        "repeated-copies",
        "The same copies or casts are made several times in every step",
        [f"{len(again)} calls, {facts.spent(again)}"],
        "Convert and move data once, before the loop; keep tensors in the layout and type that their users need; avoid "
        "contiguous() between operators that accept any strides.",
        tree.rows_of(again[np.argsort(-tree.total_ns[again])[:MOST_ROWS]]).tolist(),
        gain,
    )


def unfused_optimizer(facts: Facts) -> Advice | None:
    """The optimizer works on one parameter after another."""
    tree = facts.tree
    scopes = np.flatnonzero(
        np.array([text.startswith(OPTIMIZER_PREFIX) for text in tree.name_of_id])[tree.name_id]
        & tree.nests
        & facts.entries_in_steps
    )
    if not len(scopes):
        return None
    calls = np.flatnonzero(np.isin(tree.parent, scopes) & (tree.kind == Kind.OP))
    names = [tree.name_of_id[i] for i in distinct(tree.name_id[calls]).tolist()]
    gain = facts.gain_ns(scopes)
    if (
        any("_foreach_" in n or "_fused_" in n for n in names)
        or len(calls) < 30 * len(scopes)
        or gain < 0.05 * facts.whole_ns
    ):
        return None
    return Advice(
        "unfused-optimizer",
        f"The optimizer makes {len(calls) // len(scopes)} calls in every step",
        [
            f"Optimizer.step: {facts.spent(scopes)}",
            f"{len(scopes)} steps, {_time(int(tree.total_ns[scopes].sum()) / len(scopes))} each",
        ],
        "Construct the optimizer with fused=True or foreach=True, which update all parameters in a few calls.",
        facts.longest(tree.rows_of(scopes)),
        gain,
    )


def unused_gradients(facts: Facts) -> Advice | None:
    """Gradients are computed, and nothing uses them."""
    store = facts.store
    nodes = np.flatnonzero(
        (store.kind == Kind.NODE) & (np.append(store.kind, 0)[store.parent] != Kind.NODE) & facts.rows_in_steps
    )
    used = facts.rows_named(lambda text: text.startswith(OPTIMIZER_PREFIX))
    took = facts.length(nodes)
    if facts.phases.steps.source != "profiler" or facts.steps < 2 or len(used) or took < 0.05 * facts.whole_ns:
        return None
    return Advice(
        "unused-gradients",
        "Gradients are computed, but no optimizer uses them",
        [f"{_time(took)} in {len(nodes)} backward functions, no Optimizer.step in {facts.steps} steps"],
        "If nothing reads .grad, run under torch.no_grad() or torch.inference_mode() and leave out backward().",
        facts.longest(nodes),
        took,
    )


def growing_memory(facts: Facts) -> Advice | None:
    """Each step keeps some of the memory that it allocates."""
    for use in facts.memory:
        ends = np.array(use.at_ends[1:])
        lasting = [s for s in use.survivors if s.steps >= max(2, 0.8 * (facts.steps - 2))]
        if (
            use.growth_bytes * facts.steps < 0.001 * use.peak_bytes
            or len(ends) < 3
            or (np.diff(ends) < 0).any()
            or not lasting
        ):
            continue
        left = sum(s.nbytes for s in lasting)
        origins = [
            f"{s.name}{' at ' + s.line if s.line else ''}: {s.blocks} blocks, {_format_memory(s.nbytes)}"
            for s in lasting[:3]
        ]
        return Advice(
            "growing-memory",
            f"Every step leaves {_format_memory(use.growth_bytes)} behind on {use.device}",
            [
                f"{_format_memory(int(ends[0]))} after the second step, {_format_memory(int(ends[-1]))} after the last",
                *origins,
            ],
            "Something keeps results of earlier steps: losses or outputs collected with their graph (keep loss.item() "
            "or loss.detach()), a growing list or cache.",
            [],
            0,
            left,
        )
    return None


def slow_first_steps(facts: Facts) -> Advice | None:
    """The first step takes much longer than the rest."""
    lengths = facts.phases.steps.duration_ns
    if len(lengths) < 4 or facts.phases.steps.source != "profiler":
        return None  # where only optimizers are known, nobody knows when the first step began
    usual = int(np.median(lengths[1:]))
    excess = int(lengths[0]) - usual
    if lengths[0] < 1.5 * usual or excess < 0.02 * facts.whole_ns:
        return None
    loading = np.flatnonzero(facts.store.kind == Kind.LOADING)
    begin, end = facts.phases.steps.start_ns[0], facts.phases.steps.end_ns[0]
    inside = loading[(facts.store.start_ns[loading] >= begin) & (facts.store.end_ns[loading] <= end)]
    marked = facts.rows_named(lambda text: text.startswith("ProfilerStep#"))[:1]
    evidence = [f"the first step takes {_time(lengths[0])}, the median of the others {_time(usual)}"]
    if len(inside):
        evidence.append(f"{_time(facts.length(inside))} of it loads what is used for the first time")
    return Advice(
        "slow-first-step",
        "The first step is much slower than the others",
        evidence,
        "This is paid once. Leave it out of measurements with schedule(wait=1, warmup=1, ...); in short programs warm "
        "up before the clock runs.",
        [*marked.tolist(), *facts.longest(inside)][:MOST_ROWS],
        excess,
    )


def imbalance(facts: Facts) -> Advice | None:
    """Devices, or single steps, do far more than others."""
    uses = device_use(facts.tree) if facts.has_device else []
    if len(uses) > 1:
        busy = [use.busy_ns for use in uses]
        lost = max(busy) - sum(busy) // len(busy)
        if lost > 0.2 * max(busy):
            return Advice(
                "imbalance",
                "Devices do unequal work",
                [f"device {use.device} worked {_time(use.busy_ns)}" for use in uses],
                "Divide the work evenly: batches of equal size or "
                "length on every device, pipeline stages of equal cost.",
                [],
                lost,
            )
    outliers = facts.phases.steps.outliers()
    outliers[:1] = False
    lengths = facts.phases.steps.duration_ns
    lost = int((lengths[outliers] - np.median(lengths)).clip(0).sum()) if outliers.any() else 0
    if lost < 0.05 * facts.whole_ns:
        return None
    numbers = facts.phases.steps.number[outliers]
    marked = (
        np.flatnonzero(facts.store.kind == Kind.STEP)
        if facts.phases.steps.source == "profiler"
        else np.zeros(0, np.int64)
    )
    return Advice(
        "imbalance",
        f"{len(numbers)} of {len(lengths)} steps take much longer than the others",
        [
            f"median {_time(float(np.median(lengths)))}, longest {_time(int(lengths.max()))} "
            f"(step {int(facts.phases.steps.number[lengths.argmax()])})"
        ],
        "Compare a slow step with its neighbours in the timeline: batches of unequal length, logging, checkpoints, "
        "garbage collection, or another program on the machine.",
        facts.longest(marked[outliers]) if len(marked) == len(lengths) else [],
        lost,
    )


def python_between_operators(facts: Facts) -> Advice | None:
    """Python takes more of the time than what it calls."""
    took = facts.phase_ns(Phase.PYTHON)
    if facts.has_device or took < 0.3 * facts.whole_ns:
        return None
    return Advice(
        "python",
        "Much of a step is Python between operators",
        [f"{_time(took)}, {took / facts.whole_ns:.1%} of the steps' time, outside of all operators"],
        "Record with_stack=True and look at the flame graph by Python stack: loops over elements, conversions to numpy "
        "or lists, logging in every step.",
        [],
        took,
    )


def garbage_collection(facts: Facts) -> Advice | None:
    """Python's collector of reference cycles runs inside steps."""
    rows = np.flatnonzero((facts.store.kind == Kind.GC) & facts.rows_in_steps)
    took = facts.length(rows)
    if took < 0.02 * facts.whole_ns:
        return None
    return Advice(
        "garbage-collection",
        "Python's garbage collector runs inside steps",
        [f"{len(rows)} collections, {_time(took)}"],
        "Call gc.collect() and gc.freeze() before the loop, or gc.disable() and collect between epochs.",
        facts.longest(rows),
        took,
    )


RULES: tuple[Callable[[Facts], Advice | None], ...] = (
    slow_input,
    many_tiny_operators,
    starved_device,
    hidden_synchronisation,
    repeated_copies,
    unfused_optimizer,
    unused_gradients,
    growing_memory,
    slow_first_steps,
    imbalance,
    python_between_operators,
    garbage_collection,
)
