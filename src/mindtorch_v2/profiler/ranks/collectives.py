"""The collectives of one rank, found in its events: those of this package, of PyTorch's gloo, and kernels of NCCL, RCCL
and HCCL."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any

import numpy as np

from ..record.kinds import Kind
from ..store.event_store import EventStore

# What libraries and versions call a collective, in lower case without underscores and without "base", "tensor",
# "coalesced".
_CANONICAL = {
    "allreduce": "all_reduce",
    "allgather": "all_gather",
    "allgatherinto": "all_gather",
    "reducescatter": "reduce_scatter",
    "broadcast": "broadcast",
    "reduce": "reduce",
    "gather": "gather",
    "scatter": "scatter",
    "alltoall": "all_to_all",
    "alltoallv": "all_to_all",
    "alltoallsingle": "all_to_all",
    "barrier": "barrier",
    "monitoredbarrier": "barrier",
    "send": "send",
    "recv": "recv",
    "sendrecv": "send_recv",
}
MEETING = frozenset(
    {"all_reduce", "all_gather", "reduce_scatter", "all_to_all", "barrier"}
)  # none ends before all began
FROM_ONE = frozenset({"broadcast", "scatter"})  # none ends before the source began
_NOISE = re.compile(r"base|tensor|coalesced|_|single$")
_KERNEL = re.compile(r"^(?:nccl|rccl)(?:Dev)?Kernel_?([A-Za-z]+)|^hcom_([A-Za-z]+)", re.IGNORECASE)
_CALL = re.compile(r"^(?:gloo|mpi|nccl|hccl|ucc|xccl):(\w+)$")
_ITEM_BYTES = {
    **dict.fromkeys(("float", "int", "unsigned int", "uint32", "int32", "float32"), 4),
    **dict.fromkeys(("double", "long", "long int", "complexfloat", "c10::complex<float>", "uint64", "int64"), 8),
    **dict.fromkeys(("half", "bfloat16", "short", "c10::half", "c10::bfloat16", "short int", "uint16"), 2),
    **dict.fromkeys(("byte", "char", "bool", "unsigned char", "signed char", "float8_e4m3fn", "float8_e5m2"), 1),
    **dict.fromkeys(("complexdouble", "c10::complex<double>"), 16),
}


@dataclass(frozen=True)
class Collectives:
    """The collectives of one rank in the order of start: arrays of equal length, and the texts that they refer to.

    name, group   indices into `names` and `groups`; a group is its name and its ranks as text ("" where the trace does
                  not say)
    seq           sequence id of the collective in its group, or -1 where the trace does not say
    ordinal       how many like it (name, group, size) began before it in its step
    alike         how many like it began in its step
    start_ns, end_ns   on the rank's own clock
    nbytes        size of the message as bandwidths count it: of all_gather and reduce_scatter the joined tensor; 0
                  where unknown
    size          processes in the group; 0 where unknown
    source        rank that a broadcast or scatter comes from; -1 where unknown or none
    exposed_ns    how much of it no computation hid
    step          number of the step that it began in
    """

    names: tuple[str, ...]
    groups: tuple[str, ...]
    name: np.ndarray
    group: np.ndarray
    seq: np.ndarray
    ordinal: np.ndarray
    alike: np.ndarray
    start_ns: np.ndarray
    end_ns: np.ndarray
    nbytes: np.ndarray
    size: np.ndarray
    source: np.ndarray
    exposed_ns: np.ndarray
    step: np.ndarray

    def __len__(self) -> int:
        return len(self.start_ns)


def canonical(name: str) -> str:
    """PyTorch's name of a collective for whatever a library calls it; the name itself where it is none that is
    known."""
    return _CANONICAL.get(_NOISE.sub("", name.lower()), name)


def communication_rows(store: EventStore) -> tuple[np.ndarray, np.ndarray]:
    """(rows that are collectives, mask of all rows that belong to communication rather than computation).

    Kernels count where there are any, else what libraries annotate on the host.
    """
    on_device, on_host, related = (np.zeros(len(store.strings) + 1, bool) for _ in range(3))
    for i, text in enumerate(store.strings):
        on_device[i] = _KERNEL.match(text) is not None
        on_host[i] = _CALL.match(text) is not None
        related[i] = on_device[i] or on_host[i] or text.startswith(("c10d::", "record_param_comms"))
    kernels = np.flatnonzero(on_device[store.name] & (store.device_type != 0)) if len(store) else np.zeros(0, np.int64)
    if not len(kernels):
        kernels = np.flatnonzero(on_host[store.name] & (store.device_type == 0) & (store.kind == Kind.SCOPE))
    return kernels, related[store.name] if len(store) else np.zeros(0, bool)


def find_collectives(store: EventStore, rows: np.ndarray, exposed_ns: np.ndarray) -> Collectives:
    """What the rows that are collectives say; `exposed_ns` as in `Collectives`."""
    names: dict[str, int] = {}
    groups: dict[str, int] = {}
    facts = np.zeros((5, len(rows)), np.int64)
    for index, row in enumerate(rows.tolist()):
        name, group, *values = _described(store, row)
        facts[0, index] = names.setdefault(name, len(names))
        facts[1, index] = groups.setdefault(group, len(groups))
        facts[2:, index] = values[:3]
    source = np.array([_source(store, row) for row in rows.tolist()], np.int64)
    step = store.step[rows].astype(np.int64)
    uneven = names.get("all_to_all", -1)  # whose sizes differ between ranks
    ordinal, alike = _ordinals(facts[0], facts[1], step, np.where(facts[0] == uneven, 0, facts[3]))
    return Collectives(
        tuple(names),
        tuple(groups),
        facts[0],
        facts[1],
        facts[2],
        ordinal,
        alike,
        store.start_ns[rows],
        store.end_ns[rows],
        facts[3],
        facts[4],
        source,
        exposed_ns,
        step,
    )


def _ordinals(*same: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Per collective: how many with equal values in all columns `same` began before it, and how many there are."""
    if not len(same[0]):
        return same[0], same[0]
    order = np.lexsort((np.arange(len(same[0])), *same))
    new = np.append(True, np.any([column[order][1:] != column[order][:-1] for column in same], axis=0))
    first = np.flatnonzero(new)
    group = np.cumsum(new) - 1
    ordinal, alike = np.zeros(len(order), np.int64), np.zeros(len(order), np.int64)
    ordinal[order] = np.arange(len(order)) - first[group]
    alike[order] = np.diff(np.append(first, len(order)))[group]
    return ordinal, alike


def _described(store: EventStore, row: int) -> tuple[str, str, int, int, int]:
    """(name, group, seq, bytes, processes) of a collective."""
    facts = _keywords(store, row)
    call = _call_above(store, row)
    text = str(facts.get("Collective name") or "") or _call_name(store.name_of(call)) if call >= 0 else ""
    text = str(facts.get("Collective name") or "") or text or _kernel_name(store.name_of(row))
    name = canonical(text)
    ranks = str(facts.get("Process Group Ranks", "")).replace(" ", "")
    group = f"{facts.get('Process Group Name', '')} {'' if '...' in ranks else ranks}".strip()
    size = _whole(facts.get("Group size"))
    return name, group, _whole(facts.get("Seq"), -1), _message_bytes(store, call, facts, name, size), size


def _source(store: EventStore, row: int) -> int:
    return _whole(_keywords(store, row).get("Src Rank"), -1)


def _keywords(store: EventStore, row: int) -> dict[str, Any]:
    inputs = store.inputs_of(row)
    return dict(inputs.keywords) if inputs is not None else {}


def _call_above(store: EventStore, row: int) -> int:
    """The annotation of the host that a kernel was launched in (`nccl:all_reduce`), or the row itself if it is one; -1
    for none."""
    at = row if store.device_type[row] == 0 else int(store.launcher[row])
    while at >= 0 and _CALL.match(store.name_of(at)) is None:
        at = int(store.parent[at])
    return at


def _call_name(text: str) -> str:
    found = _CALL.match(text)
    return found.group(1) if found else ""


def _kernel_name(text: str) -> str:
    found = _KERNEL.match(text)
    return (found.group(1) or found.group(2)).rstrip("_") if found else text


def _whole(value: Any, missing: int = 0) -> int:
    if isinstance(value, str) and value.lstrip("-").isdigit():
        return int(value)
    return int(value) if isinstance(value, int) else missing


def _message_bytes(store: EventStore, call: int, facts: dict[str, Any], name: str, size: int) -> int:
    """The size of the message as bandwidths count it."""
    given, taken = _whole(facts.get("In msg nelems")), _whole(facts.get("Out msg nelems"))
    item = _ITEM_BYTES.get(str(facts.get("dtype", "")).lower(), 0)
    if not item and call >= 0:
        inputs = store.inputs_of(call)
        if inputs is not None and inputs.shapes and inputs.types:
            shape = inputs.shapes[0]
            item = _ITEM_BYTES.get(inputs.types[0].lower(), 0)
            plain = all(isinstance(length, int) for length in shape)
            given = int(np.prod(shape, dtype=np.int64)) if plain and shape else 0
            taken = given * max(size, 1) if name == "all_gather" else given
    return item * max(given, taken)
