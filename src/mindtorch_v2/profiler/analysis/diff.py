"""What changed between two runs of a program: times with their intervals, facts exactly, parts that were added,
removed or renamed.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field

import numpy as np

from ..store.event_store import EventStore
from .diff_features import CallPath, Features
from .disturbance import disturbance, interruption
from .effort import efforts_of
from .statistics import Comparison, Difference, compare, compare_effort, compare_whole

_ALIKE = 0.7  # share of what two modules ran that must agree to call one the other's new name
_COMMON = 0.02  # the least common change that is spoken of
_RUN_NOISE = 0.03  # by which runs of one program differ on an idle machine: addresses, clocks, caches
_SHARE = 0.002  # of the step: rows smaller than this in both runs are not compared one by one


@dataclass(frozen=True)
class Row:
    """One part in both runs: what it is ("step", "phase", "operator", "module", "call path"), and its difference;
    `status` is its verdict, or "added" or "removed". `impact_ns` is what it adds to the median step, without the
    common factor.
    """

    kind: str
    name: str
    difference: Difference
    status: str
    impact_ns: float


@dataclass(frozen=True)
class Fact:
    """A number that does not depend on the machine."""

    name: str
    before: int
    after: int


@dataclass(frozen=True)
class Diff:
    """Everything that can be said about two runs.

    `common` is the factor by which all parts changed alike: the machine, or a change that reaches everything, which
    two runs cannot tell apart. `alike` says what that made of the step ("slower", "faster", "no evidence"), and
    `whole` is the step's difference with it.
    """

    verdict: str
    common: float
    steps: tuple[int, int]
    rows: list[Row]
    facts: list[Fact]
    renamed: list[tuple[str, str]]
    notes: list[str] = field(default_factory=list)
    alike: str = "no evidence"
    whole: Difference | None = None

    def of(self, kind: str, name: str) -> Row | None:
        return next((row for row in self.rows if row.kind == kind and row.name == name), None)

    @property
    def changed_facts(self) -> list[Fact]:
        return [fact for fact in self.facts if fact.before != fact.after]


def diff(before: EventStore | Features, after: EventStore | Features, adjust: bool = True, seed: int = 0) -> Diff:
    """Compares two runs. `adjust` takes out what made everything slower or faster alike."""
    a = before if isinstance(before, Features) else Features(before)
    b = after if isinstance(after, Features) else Features(after)
    renamed = renamed_modules(a, b)
    columns = _columns(a, b, dict(renamed))
    matrix_a, matrix_b = (np.stack([pair[side] for _, _, pair in columns], 1) for side in (0, 1))
    shared = np.array([kind == "operator" and pair[0].any() and pair[1].any() for kind, _, pair in columns])
    disturbed = disturbance(a), disturbance(b)
    compared = compare(matrix_a, matrix_b, shared, adjust, seed, disturbed, max(interruption(a), interruption(b)))
    rows = [
        _row(kind, name, d, compared, float(np.median(a.times)))
        for (kind, name, _), d in zip(columns, compared.differences)
    ]
    order = {"step": 0, "phase": 1, "module": 2, "operator": 3, "call path": 4}
    rows.sort(key=lambda r: (order[r.kind], -abs(r.impact_ns), r.name))
    efforts = efforts_of(a, b)
    whole = compare_effort(*efforts, seed) if efforts else compare_whole(a.times, b.times, disturbed, seed)
    is_beyond_noise = whole.low > _RUN_NOISE or whole.high < -_RUN_NOISE
    is_common = abs(compared.common - 1) >= _COMMON and (compared.common > 1) == (whole.change > 0)
    alike = whole.verdict if is_common and is_beyond_noise else "no evidence"
    notes = [*_notes(a, b, compared, adjust), *_disturbance_notes(disturbed, compared, efforts is not None)]
    return Diff(
        rows[0].difference.verdict,
        compared.common,
        (len(a.steps.number), len(b.steps.number)),
        rows,
        _facts(a, b),
        renamed,
        notes,
        alike,
        whole,
    )


def _disturbance_notes(disturbed: tuple[float, float], compared: Comparison, has_effort: bool) -> list[str]:
    """What other work on the machine makes undecidable, where that matters."""
    if max(disturbed) - 1 < _COMMON or abs(compared.common - 1) < _COMMON:
        return []
    run = "the first run" if disturbed[0] > disturbed[1] else "the second run"
    said = f"The machine did other work during {run}, which may have made it {max(disturbed) - 1:.0%} slower: "
    judged = (
        "the steps that it disturbed least say, beside a fixed piece of work that was timed between them, whether "
        "everything changed."
        if has_effort
        else "a change of everything is called one only where it is larger than that."
    )
    return [said + judged]


def _columns(
    a: Features, b: Features, new_names: dict[str, str]
) -> list[tuple[str, str, tuple[np.ndarray, np.ndarray]]]:
    """(kind, name, (times before, times after)) of all that is compared; the whole step first."""
    nothing = np.zeros(len(a.steps.number)), np.zeros(len(b.steps.number))
    made: list[tuple[str, str, tuple[np.ndarray, np.ndarray]]] = [("step", "step time", (a.times, b.times))]
    paths_a = _rename_modules(a.call_paths, new_names)
    modules_a: dict[str, np.ndarray] = {}
    for path, times in a.modules.items():
        modules_a[new_names.get(path, path)] = times
    labels_a, labels_b = ({path.label: times for path, times in paths.items()} for paths in (paths_a, b.call_paths))
    for kind, old, new in (
        ("phase", a.phases, b.phases),
        ("module", modules_a, b.modules),
        ("operator", a.operators, b.operators),
        ("call path", labels_a, labels_b),
    ):
        for name in dict.fromkeys([*old, *new]):
            pair = old.get(name, nothing[0]), new.get(name, nothing[1])
            if (kind == "phase" and (np.median(pair[0]) or np.median(pair[1]))) or max(
                np.median(pair[0]) / max(np.median(a.times), 1), np.median(pair[1]) / max(np.median(b.times), 1)
            ) >= _SHARE:
                made.append((kind, name, pair))
    return made


def _rename_modules(paths: dict[CallPath, np.ndarray], new_names: dict[str, str]) -> dict[CallPath, np.ndarray]:
    made: dict[CallPath, np.ndarray] = {}
    for path, times in paths.items():
        renamed = path.in_module(new_names.get(path.module, path.module))
        made[renamed] = made[renamed] + times if renamed in made else times
    return made


def _row(kind: str, name: str, difference: Difference, compared: Comparison, step_ns: float) -> Row:
    impact = difference.after / compared.common - difference.before
    status = difference.verdict
    if kind != "step" and abs(impact) < _SHARE * step_ns:
        status = "no evidence"
    elif difference.before == 0 and difference.after > 0:
        status = "added"
    elif difference.after == 0 and difference.before > 0:
        status = "removed"
    return Row(kind, name, difference, status, impact)


def renamed_modules(a: Features, b: Features) -> list[tuple[str, str]]:
    """Modules of only one run that ran the same operators with the same shapes: (old path, new path)."""
    ran_a, ran_b = _ran(a), _ran(b)
    free = {path: bag for path, bag in ran_b.items() if path not in ran_a}
    found = []
    for path, bag in ran_a.items():
        if path in ran_b or not free:
            continue
        best = max(
            free, key=lambda other: (_alikeness(bag, free[other]), other.rpartition(".")[2] == path.rpartition(".")[2])
        )
        if _alikeness(bag, free[best]) >= _ALIKE:
            found.append((path, best))
            del free[best]
    return found


def _ran(features: Features) -> dict[str, Counter[tuple[tuple[str, ...], str, bool]]]:
    listed, path_of = features._path_of_entry
    counts = np.bincount(path_of[path_of >= 0], minlength=len(listed)) if len(listed) else np.zeros(0, int)
    steps = max(len(features.steps.number), 1)
    made: dict[str, Counter[tuple[tuple[str, ...], str, bool]]] = {}
    for path, count in zip(listed, counts.tolist()):
        if path.module:
            made.setdefault(path.module, Counter())[path.operators, path.shapes, path.backward] += max(
                round(count / steps), 1
            )
    return made


def _alikeness(a: Counter[tuple[tuple[str, ...], str, bool]], b: Counter[tuple[tuple[str, ...], str, bool]]) -> float:
    return (a & b).total() / max((a | b).total(), 1)


def _facts(a: Features, b: Features) -> list[Fact]:
    made = [
        Fact(name, a.facts.get(name, 0), b.facts.get(name, 0))
        for name in dict.fromkeys([*a.facts, *b.facts])
        if name in a.facts and name in b.facts
    ]
    return made + [
        Fact(f"{name} calls", a.counts.get(name, 0), b.counts.get(name, 0)) for name in sorted({*a.counts, *b.counts})
    ]


def _notes(a: Features, b: Features, compared: Comparison, adjust: bool) -> list[str]:
    notes = []
    if min(len(a.steps.number), len(b.steps.number)) < 4:
        notes.append(
            f"{len(a.steps.number)} and {len(b.steps.number)} steps are too few to tell a change from noise; facts "
            "are compared exactly."
        )
    if adjust and abs(compared.common - 1) >= _COMMON:
        notes.append(
            f"All operators are {abs(compared.common - 1):.0%} {'slower' if compared.common > 1 else 'faster'} alike: "
            "the machine and its load, or a change that reaches everything (a build, a library, threads). "
            "Rows are given without that; --raw leaves it in. Runs that take turns tell which it is."
        )
    missing = [name for name in ("flops", "peak_memory") if (name in a.facts) != (name in b.facts)]
    if missing:
        notes.append(f"Only one of the runs recorded {' and '.join(missing)}.")
    return notes
