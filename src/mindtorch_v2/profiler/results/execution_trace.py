"""Execution traces: every call with its inputs and outputs as nodes of a graph, in the Chakra format."""

from __future__ import annotations

import itertools
import json
import os
import time
import weakref
from typing import Any

from ..._device import device as Device
from ..._dtype import dtype as Dtype
from ..._guarded import guarded
from ..._storage import root_array
from ..._tensor import Tensor
from ..export.atomic import atomic_writer
from ..record.interning import number_of
from ..record.kinds import Kind
from ..record.session import add_listener, remove_listener
from ..record.thread_identity import identity

SCHEMA = "1.1.1-chakra.0.0.4"
PROCESS_NODE = "[pytorch|profiler|execution_trace|process]"
THREAD_NODE = "[pytorch|profiler|execution_trace|thread]"
_SCOPES = {Kind.BACKWARD: 1, Kind.SCOPE: 7, Kind.STEP: 7}
_EMPTY: dict[str, list[Any]] = {"values": [], "shapes": [], "types": [], "strides": []}
_ATTRIBUTE_TYPES = {
    "rf_id": "uint64",
    "fw_parent": "uint64",
    "seq_id": "int64",
    "scope": "uint64",
    "tid": "uint64",
    "fw_tid": "uint64",
    "op_schema": "string",
    "kernel_backend": "string",
    "kernel_file": "string",
    "tensor_range": "string",
}


class _Ids:
    """Ids for nodes, tensors and storages, from one count. Objects are held weakly."""

    def __init__(self) -> None:
        self.next = itertools.count(1).__next__
        self._ids: dict[int, tuple[weakref.ref[Any], int]] = {}

    def of(self, thing: Any) -> int:
        """The thing's id; a new object at an old one's address gets a new id."""
        known = self._ids.get(id(thing))
        if known is None or known[0]() is not thing:
            known = self._ids[id(thing)] = (weakref.ref(thing), self.next())
        return known[1]


class _Values:
    """Describes values as four parallel lists."""

    def __init__(self, ids: _Ids) -> None:
        self._ids = ids

    def describe(self, values: Any) -> dict[str, list[Any]]:
        rows = [self._row(v) for v in values]
        return {name: [row[i] for row in rows] for i, name in enumerate(("values", "shapes", "types", "strides"))}

    def _row(self, value: Any) -> tuple[Any, Any, str, Any]:
        if isinstance(value, Tensor):
            return self._tensor(value), list(value.shape), f"Tensor({value.dtype.cpp_name})", list(value.stride())
        if isinstance(value, (list, tuple)):
            rows = [self._row(v) for v in value]
            return (
                [r[0] for r in rows],
                [r[1] for r in rows],
                f"GenericList[{','.join(r[2] for r in rows)}]",
                [r[3] for r in rows],
            )
        text, type_name = self._plain(value)
        return text, [], type_name, []

    def _tensor(self, t: Tensor) -> list[Any]:
        node_id = self._ids.of(t)
        storage = self._ids.of(root_array(t._array))
        return [node_id, storage, 0 if t.is_meta else t.storage_offset(), t.numel(), t.element_size(), str(t.device)]

    @staticmethod
    def _plain(value: Any) -> tuple[Any, str]:
        if value is None:
            return "<None>", "None"
        if isinstance(value, bool):
            return value, "Bool"
        if isinstance(value, int):
            return value, "Int"
        if isinstance(value, float):
            # JSON has no infinities.
            return value if value - value == 0 else str(value), "Double"
        if isinstance(value, str):
            return value, "String"
        if isinstance(value, Device):
            return str(value), "Device"
        code = value.code if isinstance(value, Dtype) else number_of(value)
        return ("<None>", "None") if code is None else (code, "Int")


class _OpenNode:
    __slots__ = ("id", "name", "parent", "inputs", "outputs", "attributes")

    def __init__(
        self, node_id: int, name: str, parent: int, inputs: dict[str, list[Any]], attributes: dict[str, Any]
    ) -> None:
        self.id, self.name, self.parent, self.inputs, self.attributes = node_id, name, parent, inputs, attributes
        self.outputs = _EMPTY


def _node_text(node: _OpenNode) -> str:
    attributes = [
        {"name": n, "type": t, "value": node.attributes.get(n, "" if t == "string" else 0)}
        for n, t in _ATTRIBUTE_TYPES.items()
    ]
    return json.dumps(
        {
            "id": node.id,
            "name": node.name,
            "ctrl_deps": node.parent,
            "inputs": node.inputs,
            "outputs": node.outputs,
            "attrs": attributes,
        }
    )


class _Recording:
    """Listens to calls and collects finished nodes as texts."""

    def __init__(self) -> None:
        self.ids = _Ids()
        self.process = self.ids.next()
        self.values = _Values(self.ids)
        self.nodes: list[str] = []
        self.functions = 0
        self.started = time.monotonic_ns() // 1_000_000
        self.date = time.strftime("%Y-%m-%d %H:%M:%S")
        self._open: dict[int, list[_OpenNode]] = {}  # thread id -> its thread node, then open calls

    def _stack(self) -> list[_OpenNode]:
        thread = identity.info.id
        stack = self._open.get(thread)
        if stack is None:
            node = _OpenNode(
                self.ids.next(), THREAD_NODE, self.process, _EMPTY, {"seq_id": -1, "scope": 7, "tid": thread}
            )
            self.nodes.append(_node_text(node))
            stack = self._open[thread] = [node]
        return stack

    def enter(
        self, kind: Kind, name: str, op: Any, args: tuple[Any, ...], sequence_nr: int, forward_thread: int
    ) -> None:
        stack = self._stack()
        parent = stack[-1]
        self.functions += 1
        backward = kind == Kind.BACKWARD
        attributes = {
            "rf_id": self.functions,
            "fw_parent": parent.id if backward else 0,
            "seq_id": -1 if kind == Kind.NODE else sequence_nr,
            "scope": _SCOPES.get(kind, 0),
            "tid": identity.info.id,
            "fw_tid": (forward_thread or identity.info.id) if backward else 0,
            "op_schema": "" if op is None else f"aten::{op.schema.text}",
        }
        node_id = self.ids.next()
        stack.append(_OpenNode(node_id, name, parent.id, self.values.describe(args), attributes))

    def outputs(self, result: Any) -> None:
        """What the innermost operator of the thread returned."""
        stack = self._stack()
        if len(stack) > 1:
            results = result if isinstance(result, tuple) else (result,)
            stack[-1].outputs = self.values.describe(results)

    def leave(self) -> None:
        stack = self._stack()
        if len(stack) > 1:
            self.nodes.append(_node_text(stack.pop()))

    def forget_open(self) -> None:
        """Calls that are still running when recording pauses will not be seen to end: they end now."""
        for stack in self._open.values():
            while len(stack) > 1:
                self.nodes.append(_node_text(stack.pop()))

    def document(self) -> str:
        """The whole trace."""
        process = _OpenNode(self.process, PROCESS_NODE, self.process, _EMPTY, {"seq_id": -1, "scope": 7})
        nodes = ",\n    ".join([*self.nodes, _node_text(process)])
        head = json.dumps({"schema": SCHEMA, "pid": os.getpid(), "time": self.date, "start_ts": self.started})
        return f'{head[:-1]},\n  "nodes": [\n    {nodes}\n  ],\n  "finish_ts": {time.monotonic_ns() // 1_000_000}\n}}\n'


class ExecutionTraceObserver:
    """Writes an execution trace. Register a path, record between `start` and `stop` as often as wanted, and unregister:
    then the file is written. A profile does all but the first if it is given the observer.

    >>> import os, tempfile
    >>> path = os.path.join(tempfile.mkdtemp(), "trace.json")
    >>> observer = torch.profiler.ExecutionTraceObserver().register_callback(path)
    >>> observer.start()
    >>> y = torch.ones(2) + 1
    >>> observer.stop()
    >>> observer.unregister_callback()
    >>> os.path.exists(path)
    True
    """

    _recording: _Recording | None = None

    def __init__(self) -> None:
        self._path: str | None = None
        self._running = False
        self.extra_resources_collection = False

    def __del__(self) -> None:
        self.unregister_callback()

    @staticmethod
    def build_execution_trace_obs_from_env() -> ExecutionTraceObserver | None:
        """An observer that writes to a temporary file, if ENABLE_PYTORCH_EXECUTION_TRACE is "1"."""
        if os.environ.get("ENABLE_PYTORCH_EXECUTION_TRACE", "0") != "1":
            return None
        import tempfile

        handle, path = tempfile.mkstemp(suffix=".et.json")
        os.close(handle)
        observer = ExecutionTraceObserver().register_callback(path)
        observer.set_extra_resource_collection(os.environ.get("ENABLE_PYTORCH_EXECUTION_TRACE_EXTRAS", "0") == "1")
        return observer

    def register_callback(self, output_file_path: str | os.PathLike[str]) -> ExecutionTraceObserver:
        """Chooses the file; compressed if it ends in ".gz". Ignored if one has been chosen before."""
        path = os.fspath(output_file_path)
        if self._recording is None:
            try:
                with open(path, "a"):
                    pass
            except OSError as error:
                from .loggers import logger  # few programs need it

                logger("profiler").error("Failed to open output file: %s: %s", path, error.strerror)
                return self
            self._path, self._recording = path, _Recording()
            if self.extra_resources_collection:
                self.get_resources_dir(can_create=True)
        return self

    @property
    def is_registered(self) -> bool:
        return self._recording is not None

    @property
    def recorded_functions(self) -> int:
        """How many calls have been seen."""
        return 0 if self._recording is None else self._recording.functions

    def is_running(self) -> bool:
        return self._running

    @property
    def _execution_trace_running(self) -> bool:
        return self._running

    @guarded("stop")
    def start(self) -> None:
        """Records from now on; does nothing without a file."""
        if self._recording is not None and not self._running:
            self._running = True
            add_listener(self._recording)

    @guarded("_stop")
    def stop(self) -> None:
        """Records no more."""
        self._stop()

    def _stop(self) -> None:
        if self._running and self._recording is not None:
            remove_listener(self._recording)
            self._recording.forget_open()
            self._running = False

    def unregister_callback(self) -> None:
        """Stops, and writes the file."""
        self.stop()
        # one of several callers takes it; a lock could stay locked where an interrupt comes while it is taken
        recording: _Recording | None = self.__dict__.pop("_recording", None)
        if self._path is not None and recording is not None:
            with atomic_writer(self._path) as file:
                file.write(recording.document())

    def cleanup(self) -> None:
        self.unregister_callback()

    def get_output_file_path(self) -> str | None:
        """The file chosen last, also after it has been written."""
        return self._path

    def set_extra_resource_collection(self, val: bool) -> None:
        """Whether a directory for further files is made beside the trace."""
        self.extra_resources_collection = val
        if val:
            self.get_resources_dir(can_create=True)

    def get_resources_dir(self, can_create: bool = False) -> str | None:
        """The directory for further files, if they are wanted and a file has been chosen."""
        if self._path is None or not self.extra_resources_collection:
            return None
        return self.get_resources_dir_for_et_path(self._path, can_create)

    @staticmethod
    def get_resources_dir_for_et_path(trace_path: str, create_dir: bool = False) -> str | None:
        """`<trace without its suffix>_resources`, if it is there or may be made."""
        stem, _ = os.path.splitext(trace_path)
        path = f"{stem}_resources"
        if not os.path.exists(path):
            if not create_dir:
                return None
            os.makedirs(path, exist_ok=True)
        return path
