"""What some traces have and others lack: categories that are not ours, and memory records without addresses."""

from __future__ import annotations

import numpy as np

from ..record.kinds import Kind
from .collected import IS_DEVICE, Collected

# in a collector's column "kind", codes from here on stand for categories that are kept by name
KEPT = 32
MISSING_ADDRESS = -1 << 63  # of memory records in traces of PyTorch before 1.10


def resolve_categories(raw: Collected, columns: dict[str, np.ndarray]) -> None:
    """Gives rows whose category was kept by name their kinds and the column "category". Those of a device are moved
    to tracks of its own; of an unknown category those are taken to be, which lie in no process of the host.
    """
    if not raw.kept:
        return
    code = columns["kind"]
    kinds, names = np.arange(256), np.full(256, -1)
    for i, (category, kind) in enumerate(raw.kept.items()):
        kinds[KEPT + i], names[KEPT + i] = kind, raw.strings.setdefault(category, len(raw.strings))
    kind = kinds[code]
    foreign = code >= KEPT
    on_device = foreign & (IS_DEVICE[kind] | ((kind == Kind.OTHER) & _outside(raw, columns["track"], kind)))
    columns["kind"] = np.where(on_device & (kind == Kind.OTHER), int(Kind.KERNEL), kind).astype(np.uint8)
    columns["category"] = names[code].astype(np.int32)
    columns["track"] = _on_streams(raw, columns["track"], on_device)


def _outside(raw: Collected, track: np.ndarray, kind: np.ndarray) -> np.ndarray:
    """Per row: does it lie in a process that has no events of the host and is not called one? False where there is
    no host.
    """
    known = np.unique(track[~IS_DEVICE[kind] & (kind != Kind.OTHER) & (kind != Kind.OVERHEAD)])
    hosts = {str(raw.tracks[i][0]) for i in known.tolist()}
    if not hosts:
        return np.zeros(len(track), bool)
    hosts |= {
        str(pid)
        for (fact, pid, _), text in raw.names.items()
        if fact == "process_labels" and text.strip().upper() == "CPU"
    }
    return np.array([str(owner) not in hosts for owner, _, _ in raw.tracks])[track]


def _on_streams(raw: Collected, track: np.ndarray, on_device: np.ndarray) -> np.ndarray:
    """The tracks of rows; those on devices get streams with the same names."""
    index = {item: i for i, item in enumerate(raw.tracks)}
    moved = np.arange(len(raw.tracks))
    for i in np.unique(track[on_device]).tolist():
        stream = (*raw.tracks[i][:2], True)
        moved[i] = index.setdefault(stream, len(index))
    raw.tracks[:] = list(index)
    return np.where(on_device, moved[track], track)


def with_addresses(
    address: np.ndarray, nbytes: np.ndarray, device_type: np.ndarray, device_index: np.ndarray
) -> np.ndarray:
    """Addresses for records that have none: a block that is given back is the newest of its size on its device. They
    are negative, as no real one is.
    """
    missing = np.flatnonzero(address == MISSING_ADDRESS)
    if not len(missing):
        return address
    found, made = address.copy(), 0
    live: dict[tuple[int, int, int], list[int]] = {}
    for i in missing.tolist():
        size = int(nbytes[i])
        blocks = live.setdefault((int(device_type[i]), int(device_index[i]), abs(size)), [])
        if size < 0 and blocks:
            found[i] = blocks.pop()
            continue
        made -= 1
        found[i] = made
        if size > 0:
            blocks.append(made)
    return found
