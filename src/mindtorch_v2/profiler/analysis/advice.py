"""What to do about a profile: the findings of all rules, the largest gain first."""

from __future__ import annotations

from dataclasses import replace

from ..store.event_store import EventStore
from .advice_rules import RULES
from .facts import Advice, Facts
from .tree import EventTree

__all__ = ["MOST_FINDINGS", "Advice", "Facts", "advice"]

MOST_FINDINGS = 10


def advice(source: EventStore | EventTree | Facts) -> list[Advice]:
    """At most ten findings, the largest gain first; those of memory alone come last."""
    facts = source if isinstance(source, Facts) else Facts(source)
    if not len(facts.store):
        return []
    found = [finding for rule in RULES if (finding := rule(facts)) is not None]
    found = [_with_share(finding, facts.whole_ns) for finding in found]
    return sorted(found, key=lambda a: (-a.gain_ns, -a.gain_bytes, a.rule))[:MOST_FINDINGS]


def _with_share(finding: Advice, whole_ns: int) -> Advice:
    gain = min(finding.gain_ns, whole_ns)
    return replace(finding, gain_ns=gain, share=gain / whole_ns)
