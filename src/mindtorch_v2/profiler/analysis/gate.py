"""Rules that a change must keep: `step_time = "+3%"`, `peak_memory = "+0"`, `"aten::copy_".count = "+0"`.

A rule about time is broken only where there is evidence: its whole interval lies above the limit. A rule about a fact
is broken by the first byte or call above it.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any, NamedTuple

from .diff import Diff
from .statistics import Difference

_LIMIT = re.compile(r"([+-])\s*(\d+(?:\.\d+)?)\s*(%|[KMGT]?B?)", re.IGNORECASE)
_UNITS = {
    "": 1,
    "B": 1,
    "K": 1 << 10,
    "KB": 1 << 10,
    "M": 1 << 20,
    "MB": 1 << 20,
    "G": 1 << 30,
    "GB": 1 << 30,
    "T": 1 << 40,
    "TB": 1 << 40,
}
FACTS = ("peak_memory", "allocated_bytes", "flops", "copies", "launches", "operators")


class Limit(NamedTuple):
    """How much more is allowed: a share of what was before, or so many."""

    amount: float
    is_share: bool
    text: str

    def limit_for(self, before: float) -> float:
        return before * (1 + self.amount) if self.is_share else before + self.amount


class Broken(NamedTuple):
    """A rule that does not hold, and why."""

    rule: str
    limit: str
    before: float
    after: float
    message: str


class RuleError(ValueError):
    """A rule that cannot be understood."""


def check(compared: Diff, rules: Mapping[str, Any]) -> list[Broken]:
    """The rules that the second run breaks. RuleError for what is not a rule."""
    broken = [
        found
        for name, metric, limit in _flat(rules)
        if (found := _check_one(compared, name, metric, limit)) is not None
    ]
    return sorted(broken, key=lambda b: b.rule)


def _flat(rules: Mapping[str, Any]) -> list[tuple[str, str, Limit]]:
    """(name of an operator or module or "", metric, limit) of all rules."""
    found = []
    for key, value in rules.items():
        if isinstance(value, Mapping):
            if key == "module":
                for path, metrics in value.items():
                    found += [
                        (f"module {path}", metric, _limit(f"module.{path}.{metric}", text))
                        for metric, text in _table(path, metrics).items()
                    ]
            else:
                found += [(key, metric, _limit(f"{key}.{metric}", text)) for metric, text in value.items()]
        else:
            found.append(("", key, _limit(key, value)))
    for name, metric, _ in found:
        known = ("step_time", *FACTS) if not name else ("time",) if name.startswith("module ") else ("count", "time")
        if metric not in known:
            raise RuleError(
                f"there is no rule {metric!r}{f' for {name}' if name else ''}; expected one of {', '.join(known)}"
            )
    return found


def _table(path: str, metrics: Any) -> Mapping[str, Any]:
    if not isinstance(metrics, Mapping):
        raise RuleError(f'the rules of module {path!r} must be a table: write [module."{path}"]')
    return metrics


def _limit(rule: str, text: Any) -> Limit:
    found = _LIMIT.fullmatch(text.strip()) if isinstance(text, str) else None
    unit = found.group(3).upper() if found else ""
    if found is None or (unit != "%" and unit not in _UNITS):
        raise RuleError(f'the limit of {rule} is {text!r}; expected for instance "+3%", "+0", "+10MB"')
    amount = float(found.group(2)) * (-1 if found.group(1) == "-" else 1)
    return Limit(amount / 100, True, text) if unit == "%" else Limit(amount * _UNITS[unit], False, text)


def _check_one(compared: Diff, name: str, metric: str, limit: Limit) -> Broken | None:
    if not name and metric in FACTS:
        fact = next((f for f in compared.facts if f.name == metric), None)
        if fact is None:
            raise RuleError(f"{metric} was not recorded in both runs")
        return _of_fact(metric, limit, fact.before, fact.after)
    if metric == "count":
        fact = next((f for f in compared.facts if f.name == f"{name} calls"), None)
        return _of_fact(f"{name}.count", limit, fact.before, fact.after) if fact else None
    kind, label = (
        ("step", "step time")
        if not name
        else ("module", name[7:])
        if name.startswith("module ")
        else ("operator", name)
    )
    row = compared.of(kind, label)
    if row is None:
        return None
    rule = "step_time" if not name else f"{name}.time"
    if row.status == "added":
        return Broken(rule, limit.text, row.difference.before, row.difference.after, f"added; allowed {limit.text}")
    if name or compared.whole is None:
        return None if row.status == "removed" else _of_time(rule, limit, row.difference)
    # A step is slower if it is so in relation to its machine, or by more than the machine can have done.
    found = _of_time(rule, limit, row.difference) if limit.amount >= 0 else None
    return found or _of_time(rule, limit, compared.whole, " (all operators alike)")


def _of_time(rule: str, limit: Limit, found: Difference, remark: str = "") -> Broken | None:
    """The rule is broken where the whole interval lies above the limit."""
    allowed = limit.amount if limit.is_share else limit.amount / max(found.before, 1)
    if found.low <= allowed:
        return None
    message = f"{found.change:+.1%}{remark}, between {found.low:+.1%} and {found.high:+.1%}; allowed {limit.text}"
    return Broken(rule, limit.text, found.before, found.after, message)


def _of_fact(rule: str, limit: Limit, before: int, after: int) -> Broken | None:
    if after <= limit.limit_for(before):
        return None
    return Broken(
        rule, limit.text, before, after, f"{before:,} -> {after:,} ({after - before:+,}); allowed {limit.text}"
    )
