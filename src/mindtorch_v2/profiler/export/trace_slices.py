"""The lines of a trace for operators, annotations, and what ran on devices, with the arrows between them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import cached_property
from typing import Any

import numpy as np

from ..analysis.flows import find_flows
from ..analysis.tree import EventTree
from ..record.kinds import ACTIVITY_NAMES, LAUNCHING_KINDS, PLACED_KINDS, Flag, Kind
from ..store.input_texts import InputTexts
from .arguments import described_arguments, json_string, module_text, stack_text
from .rows import Micro, Number, Pick, Segment, Texts, When
from .tracks import Tracks

_IS_PLACED = np.isin(np.arange(256), [int(kind) for kind in PLACED_KINDS])
_RUNTIMES = {"cuda": "cuda", "xpu": "xpu", "mtia": "mtia"}  # any other device is PyTorch's "privateuse1"


class Slices:
    """Makes lines for entries of a tree; times are shifted by `shift_ns`."""

    def __init__(self, tree: EventTree, tracks: Tracks, shift_ns: int) -> None:
        self.tree, self.store, self.tracks, self.shift_ns = tree, tree.store, tracks, shift_ns
        self.options = tree.store.metadata.options

    @cached_property
    def names(self) -> Texts:
        """The strings, as they stand between quotation marks."""
        return Texts(json_string(text)[1:-1] for text in self.store.strings)

    @cached_property
    def _categories(self) -> Texts:
        runtime = _RUNTIMES.get(self.store.metadata.use_device or "cuda", "privateuse1")
        names = [ACTIVITY_NAMES.get(kind, "cpu_op") for kind in Kind]
        for kind in LAUNCHING_KINDS:
            names[kind] = names[kind].replace("cuda", runtime)
        return Texts([*names, *(json_string(self.store.strings[i])[1:-1] for i in self._kept_categories.tolist())])

    @cached_property
    def _kept_categories(self) -> np.ndarray:
        """The strings that are categories of loaded events."""
        return np.unique(self.store.category[self.store.category >= 0])

    def _category(self, rows: np.ndarray) -> Pick:
        kind, category = self.store.kind[rows], self.store.category[rows]
        if len(self._kept_categories):
            kind = np.where(category >= 0, len(Kind) + np.searchsorted(self._kept_categories, category), kind)
        return Pick(self._categories, kind)

    def _slice(self, track: tuple[Segment, ...], entries: np.ndarray, rows: np.ndarray) -> list[Segment]:
        """A line up to the start of its arguments. `track` says where it is drawn."""
        store, start = self.store, self.tree.start_ns[entries]
        segments: list[Segment] = [
            b'{"ph":"X","cat":"',
            self._category(rows),
            b'","name":"',
            Pick(self.names, store.name[rows]),
        ]
        if self.options.capture_overload_names:
            overload = store.overload[rows]
            named = np.array([bool(text) for text in store.strings] + [False])[overload]
            segments.append(When(named, (b".", Pick(self.names, np.maximum(overload, 0)))))
        return [
            *segments,
            b'"',
            *track,
            b',"ts":',
            Micro(start + self.shift_ns),
            b',"dur":',
            Micro(self.tree.end_ns[entries] - start),
            b',"args":{',
        ]

    def host(self, entries: np.ndarray, ev_idx: Number) -> list[Segment]:
        """Lines of what ran on the CPU. The ends of arrows follow the slice that they are attached to."""
        rows = self.tree.rows_of(entries)
        track = (b',"pid":', number_segment(self.tracks.pids(rows)), b',"tid":', number_segment(self.tracks.tids(rows)))
        return [
            *self._slice(track, entries, rows),
            b'"External id":',
            Number(entries + 1),
            *self._details(rows),
            b',"Ev Idx":',
            ev_idx,
            b"}}",
            *self._forward_backward(track, entries),
            *self._launches(track, entries),
        ]

    def device(self, entries: np.ndarray) -> list[Segment]:
        """Lines of what ran on streams."""
        rows = self.tree.rows_of(entries)
        device, stream = number_segment(self.tracks.devices(rows)), number_segment(self.tracks.tids(rows))
        track = (b',"pid":', device, b',"tid":', stream)
        owner, correlation = self.tree.owner[entries], self.store.correlation[rows]
        arrow = self._first_launched[entries]
        owned, has_correlation = owner >= 0, correlation >= 0
        placed = _IS_PLACED[self.store.kind[rows]] & (self.store.category[rows] < 0)
        return [
            *self._slice(track, entries, rows),
            When(owned, (b'"External id":', Number(owner + 1))),
            When(owned & placed, (b",",)),
            When(placed, (b'"device":', device)),
            When(placed & ~self._names_stream(rows), (b',"stream":', stream)),
            When(has_correlation & (owned | placed), (b",",)),
            When(has_correlation, (b'"correlation":', Number(correlation))),
            *self._arguments_of(rows, owned | placed | has_correlation),
            b"}}",
            When(arrow > 0, _arrow(b"f", "ac2g", arrow, track, self.tree.start_ns[entries] + self.shift_ns)),
        ]

    # ---- the members of "args" ------------------------------------------------------------------------------

    def _details(self, rows: np.ndarray) -> list[Segment]:
        """Those between the first and the last."""
        store, base = self.store, self.store.metadata.record_function_base
        sequence_id, correlation = store.sequence_nr[rows], store.correlation[rows]
        segments: list[Segment] = (
            [b',"Record function id":0']
            if base is None
            else [b',"Record function id":', Number(base + self._recorded_order[rows])]
        )
        if (sequence_id >= 0).any():
            segments.append(
                When(
                    sequence_id >= 0,
                    (
                        b',"Sequence number":',
                        Number(sequence_id),
                        b',"Fwd thread id":',
                        Number(store.forward_thread[rows]),
                    ),
                )
            )
        if (correlation >= 0).any():
            segments.append(When(correlation >= 0, (b',"correlation":', Number(correlation))))
        segments += self._arguments_of(rows)
        if self.options.verbose and len(store.stacks):
            segments.append(self._texts("Call stack", store.stack[rows], stack_text))
        if store.modules:
            segments.append(self._texts("Module Hierarchy", store.module[rows], module_text))
        unfinished = (store.flags[rows] & Flag.UNFINISHED) != 0
        if unfinished.any():
            segments.append(When(unfinished, (b',"finished":false',)))
        return segments

    @cached_property
    def _recorded_order(self) -> np.ndarray:
        """Per row: how many calls an ExecutionTraceObserver had counted with this one."""
        return np.cumsum(~self.tree.is_python & (self.store.kind != Kind.LOADING))

    def _arguments_of(self, rows: np.ndarray, follow: np.ndarray | None = None) -> list[Segment]:
        """The descriptions of arguments; with a comma first where they follow something."""
        if not self.store.inputs:
            return []
        index = self.store.columns["inputs"][rows]
        none = len(self.store.inputs)
        which = np.where(index < 0, none, index) + np.where(self.store.kind[rows] == Kind.OP, none + 1, 0)
        if follow is None or follow.all():
            return [Pick(self._arguments, which)]
        return [When(follow, (Pick(self._arguments, which),)), When(~follow, (Pick(self._leading_arguments, which),))]

    def _names_stream(self, rows: np.ndarray) -> np.ndarray:
        """Do the arguments of a row name a stream of their own?"""
        return self._stream_names[self.store.columns["inputs"][rows]]

    @cached_property
    def _stream_names(self) -> np.ndarray:
        inputs = self.store.inputs
        if isinstance(inputs, InputTexts):
            return np.array([*inputs.have_keyword("stream"), False])
        return np.array([*(any(key == "stream" for key, _ in described.keywords) for described in inputs), False])

    def _argument_texts(self) -> Iterator[str]:
        """The description of every set of arguments and of none, for other events and then for operators."""
        inputs, options, is_foreign = self.store.inputs, self.options, self.store.metadata.is_foreign
        choices = options.describes_inputs, options.concrete_inputs, is_foreign
        written: Sequence[str | None] = (
            inputs.members(all(choices)) if isinstance(inputs, InputTexts) else [None] * len(inputs)
        )
        for operator in (False, True):
            used = np.zeros(len(inputs) + 1, bool)
            used[self.store.columns["inputs"][(self.store.kind == Kind.OP) == operator]] = True
            for i, (is_used, text) in enumerate(zip(used.tolist(), written)):
                if not is_used:
                    yield ""
                else:
                    yield "," + text if text is not None else described_arguments(inputs[i], operator, *choices)
            yield ""

    @cached_property
    def _arguments(self) -> Texts:
        return Texts(self._argument_texts())

    @cached_property
    def _leading_arguments(self) -> Texts:
        return Texts([text[1:] for text in self._arguments.texts])

    def _texts(self, key: str, index: np.ndarray, text: Any) -> Pick:
        """`,"key":"..."` for indices into a side table, nothing for -1."""
        distinct, which = np.unique(index, return_inverse=True)
        return Pick(
            Texts(f',"{key}":{json_string(text(self.store, i))}' if i >= 0 else "" for i in distinct.tolist()), which
        )

    # ---- arrows ---------------------------------------------------------------------------------------------

    @cached_property
    def _flows(self) -> tuple[np.ndarray, np.ndarray, dict[int, list[int]]] | None:
        """Per entry the id of the arrow that begins there and of that which ends there, 0 for none; and the
        ids of further ones that begin at an entry. None where there are no arrows.
        """
        flows = find_flows(self.tree)
        if not len(flows.forward):
            return None
        begins, ends = np.zeros(len(self.tree), np.int32), np.zeros(len(self.tree), np.int32)
        arrow_ids = np.arange(1, len(flows.forward) + 1)
        begins[flows.forward[::-1]] = arrow_ids[::-1]  # of several the first stays
        ends[flows.backward] = arrow_ids
        more: dict[int, list[int]] = {}
        again = np.flatnonzero(begins[flows.forward] != arrow_ids)
        for entry, arrow_id in zip(flows.forward[again].tolist(), arrow_ids[again].tolist()):
            more.setdefault(entry, []).append(arrow_id)
        return begins, ends, more

    def _forward_backward(self, track: tuple[Segment, ...], entries: np.ndarray) -> list[Segment]:
        if self._flows is None:
            return []
        begins, ends, more = self._flows
        times = self.tree.start_ns[entries] + self.shift_ns
        segments: list[Segment] = []
        for phase, arrow_ids in ((b"s", begins[entries]), (b"f", ends[entries])):
            if arrow_ids.any():
                segments.append(When(arrow_ids > 0, _arrow(phase, "fwdbwd", arrow_ids, track, times)))
        if more:
            for extra in range(max(map(len, more.values()))):
                arrow_ids = np.array([more.get(entry, [])[extra : extra + 1] or [0] for entry in entries.tolist()])[
                    :, 0
                ]
                segments.append(When(arrow_ids > 0, _arrow(b"s", "fwdbwd", arrow_ids, track, times)))
        return segments

    @cached_property
    def _first_launched(self) -> np.ndarray:
        """Per entry: the index of its launcher's entry, counted from 1, if it is the first that this one launched."""
        found = np.zeros(len(self.tree), np.int32)
        launched = np.flatnonzero((self.tree.launcher >= 0) & (self.tree.kind != Kind.DEVICE_SCOPE))
        launchers, first = np.unique(self.tree.launcher[launched], return_index=True)
        found[launched[first]] = launchers + 1
        return found

    @cached_property
    def _launching(self) -> np.ndarray | None:
        """The mask of entries that launched something; None where nothing did."""
        if not self.tree.has_device_entries:
            return None
        launchers = self._first_launched[self._first_launched > 0]
        if not len(launchers):
            return None
        mask = np.zeros(len(self.tree), bool)
        mask[launchers - 1] = True
        return mask

    def _launches(self, track: tuple[Segment, ...], entries: np.ndarray) -> list[Segment]:
        if self._launching is None:
            return []
        times = self.tree.start_ns[entries] + self.shift_ns
        return [When(self._launching[entries], _arrow(b"s", "ac2g", entries + 1, track, times))]


def number_segment(values: np.ndarray) -> Segment:
    """A column of integers; where all are equal, as mostly, the one integer as part of the text."""
    return b"%d" % int(values[0]) if (values == values[0]).all() else Number(values)


def _arrow(
    phase: bytes, name: str, arrow_ids: np.ndarray, track: tuple[Segment, ...], times_ns: np.ndarray
) -> tuple[Segment, ...]:
    """One end of an arrow, as a line of its own."""
    end = b',"bp":"e"' if phase == b"f" else b""
    return (
        b',\n{"ph":"%s","id":' % phase,
        Number(arrow_ids),
        *track,
        b',"ts":',
        Micro(times_ns),
        f',"cat":"{name}","name":"{name}"'.encode() + end + b"}",
    )
