"""What bounds a program: its input, its host or its device, with the figures that say so."""

from __future__ import annotations

from typing import NamedTuple

from .device import DeviceUse
from .phases import LABELS, Phase, Phases

_INPUT_SHARE = 0.25  # of the steps' time spent waiting for data
_NEARLY_ALWAYS = 0.9  # of the time in which a device has launched work to do
_PYTHON_SHARE = 0.4  # of the steps' time spent in Python between operators
_UNKNOWN_SHARE = 0.5  # of the steps' time that belongs to no phase of the program


class Verdict(NamedTuple):
    """`bound` is "input", "host", "device", "compute" (a CPU that spends its time in operators) or "unknown" (most of
    the time is loading, nothing was recorded in it, or launched work waits for something that was not, or itself was
    not); `shares` the phases, largest first.
    """

    bound: str
    sentence: str
    evidence: list[str]
    shares: list[tuple[str, float]]


def verdict(found: Phases, devices: list[DeviceUse], has_unseen_work: bool = False) -> Verdict:
    """The verdict on all steps together. `has_unseen_work`: a device worked, and nobody recorded when."""
    total = found.total()
    whole = max(sum(total.values()), 1)
    shares = sorted(((label, total[label] / whole) for label in LABELS if total[label]), key=lambda item: -item[1])
    data, python = total[LABELS[Phase.DATA]] / whole, total[LABELS[Phase.PYTHON]] / whole
    evidence = [f"{label} takes {share:.1%} of the steps' time" for label, share in shares[:3]]
    evidence += [
        f"device {use.device} worked {use.busy_share:.1%} of the time from its first to its last piece of work, and "
        f"had launched work to do {use.supplied_share:.1%} of it"
        for use in devices
    ]
    if data >= _INPUT_SHARE:
        return Verdict("input", f"Input-bound: {data:.0%} of a step waits for the data loader.", evidence, shares)
    unknown = total[LABELS[Phase.UNACCOUNTED]] / whole
    if unknown >= _UNKNOWN_SHARE:
        what = f"No verdict: {unknown:.0%} of the time is what is loaded at first use, or lies outside of all events."
        return Verdict("unknown", what, evidence, shares)
    if has_unseen_work:
        what = "No verdict: work was launched on a device, but when it ran was not recorded."
        return Verdict("unknown", what, evidence, shares)
    if devices:
        slowest = max(devices, key=lambda use: use.busy_ns)
        share = slowest.supplied_share
        if slowest.bound == "unknown":
            what = (
                f"No verdict: the device works {slowest.busy_share:.0%} of the time. Work has been launched for "
                f"{share:.0%} of it, but begins late: behind a queue of the host, a compilation or another stream."
            )
            return Verdict("unknown", what, evidence, shares)
        if slowest.bound == "device":
            supplied = "nearly always" if share >= _NEARLY_ALWAYS else f"{share:.0%} of the time"
            return Verdict("device", f"Device-bound: the device has launched work to do {supplied}.", evidence, shares)
        return Verdict("host", "Host-bound: the device mostly waits for the host to launch work.", evidence, shares)
    work = sum(total[LABELS[p]] for p in (Phase.FORWARD, Phase.BACKWARD, Phase.OPTIMIZER, Phase.COPIES)) / whole
    if python >= _PYTHON_SHARE or python > work:
        return Verdict("host", f"Host-bound: {python:.0%} of a step is Python between operators.", evidence, shares)
    return Verdict("compute", "Compute-bound: most of a step is spent inside operators on the CPU.", evidence, shares)
