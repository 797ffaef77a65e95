"""The catalogue of what a store holds: every column, its type, its unit and its meaning.

The store, its file format, the exporters and the documentation read this one table, so a column is added here
and nowhere else.
"""

from __future__ import annotations

from typing import NamedTuple


class Field(NamedTuple):
    """One column: its name, numpy type, unit ("" when it has none), what a missing value looks like, and its
    meaning.
    """

    name: str
    dtype: str
    unit: str
    missing: int | None
    meaning: str
    json_key: str = ""  # the key in a trace's args, where it has one of its own


EVENT_FIELDS: tuple[Field, ...] = (
    Field("start_ns", "int64", "ns", None, "when the event began, on the profiler's clock"),
    Field("end_ns", "int64", "ns", None, "when it ended; never before start_ns"),
    Field("name", "int32", "string", None, "its name, an index into the strings"),
    Field(
        "parent", "int32", "row", -1, "the innermost event of the same thread that encloses it; always a smaller row"
    ),
    Field("thread", "int32", "thread", None, "an index into the threads"),
    Field("kind", "uint8", "Kind", None, "what it is"),
    Field("step", "int32", "", None, "the profiler's step number when it began"),
    Field("sequence_nr", "int64", "", -1, "ties a forward operator to its backward node", "Sequence number"),
    Field(
        "forward_thread", "int32", "", 0, "id of the thread that ran the forward; 0 on forward events", "Fwd thread id"
    ),
    Field("inputs", "int32", "inputs", -1, "its arguments, an index into the input descriptions"),
    Field("stack", "int32", "stack", -1, "the Python call that led to it, a node of the stack tree", "Call stack"),
    Field("module", "int32", "module", -1, "the nn.Module it ran in, an index into the modules", "Module Hierarchy"),
    Field("overload", "int32", "string", -1, 'the operator\'s overload ("Tensor"), an index into the strings'),
    Field("device_type", "uint8", "DeviceType", None, "the device that ran it (0 is the CPU)"),
    Field("flags", "uint8", "Flag", None, "unfinished, asynchronous"),
    Field(
        "launcher",
        "int32",
        "row",
        -1,
        "of what ran on a device: the call that launched it; of an annotation there: that on the CPU",
    ),
    Field(
        "end_thread",
        "int32",
        "",
        0,
        "id of the thread that ended it, where that is another (-1: not known which); 0 otherwise",
    ),
    Field("correlation", "int64", "", -1, "id that a launching call and what it launched share", "correlation"),
    Field(
        "category",
        "int32",
        "string",
        -1,
        'of events of loaded traces: "cat" there, if the kind does not imply it; a string',
    ),
)

MEMORY_FIELDS: tuple[Field, ...] = (
    Field("time_ns", "int64", "ns", None, "when it happened, on the profiler's clock"),
    Field("address", "int64", "", None, "the address of the block", "Addr"),
    Field("nbytes", "int64", "bytes", None, "bytes gained (positive) or given back (negative)", "Bytes"),
    Field(
        "total",
        "int64",
        "bytes",
        None,
        "live bytes on that device after it, among those the profiler saw",
        "Total Allocated",
    ),
    Field("device_type", "uint8", "DeviceType", None, "where the block lives", "Device Type"),
    Field("device_index", "int16", "", -1, "which device of that type; -1 on the CPU", "Device Id"),
    Field("row", "int32", "row", -1, "the innermost open event of the thread"),
    Field("thread", "int32", "thread", None, "an index into the threads"),
    Field("block", "int64", "", 0, "the id of the block, which no other of its process has"),
)

HELD_FIELDS: tuple[Field, ...] = (
    Field("time_ns", "int64", "ns", None, "when the tensors that live were looked at, on the profiler's clock"),
    Field("at_end", "uint8", "", None, "1 where that was when the recording ended, 0 where it began (or was resumed)"),
    Field("block", "int64", "", None, "the id of a block that a tensor held; each look begins with a row of number 0"),
    Field("address", "int64", "", None, "its address"),
    Field("nbytes", "int64", "bytes", None, "its size"),
    Field("device_type", "uint8", "DeviceType", None, "where the block lives"),
    Field("device_index", "int16", "", -1, "which device of that type; -1 on the CPU"),
    Field("category", "uint8", "Category", None, "what it is for"),
)

_TENSOR_FIELDS: tuple[Field, ...] = (
    Field("tensor", "int64", "", 0, "the id of the tensor, which no other of its process has"),
    Field("block", "int64", "", 0, "the id of its block, where that is known"),
    Field("address", "int64", "", 0, "the address of its memory"),
    Field("device_type", "uint8", "DeviceType", None, "where the tensor lives"),
    Field("device_index", "int16", "", -1, "which device of that type; -1 on the CPU"),
)

REFERENCE_FIELDS: tuple[Field, ...] = (
    Field("row", "int32", "row", None, "the event that was given a tensor; ascending"),
    Field("argument", "int16", "", None, "which of its arguments it was; tensors of a list have the same"),
    *_TENSOR_FIELDS,
)

OWNED_FIELDS: tuple[Field, ...] = (
    Field("time_ns", "int64", "ns", None, "when the owner was looked at, on the profiler's clock"),
    Field("row", "int32", "row", -1, "the module's call, or the scope of the optimizer's step"),
    Field("owner", "int64", "", None, "the address of the module or optimizer"),
    Field("owner_class", "int64", "", None, "the address of its class"),
    Field("class_name", "int32", "string", None, "the name of its class, an index into the strings"),
    Field("is_optimizer", "uint8", "", None, "1 for an optimizer, 0 for a module"),
    Field("role", "uint8", "Role", None, "what the tensor is to it; each owner begins with a row of role OWNER"),
    Field("parameter", "int32", "", -1, "which of its parameters it is, or belongs to"),
    Field("name", "int32", "string", -1, "the parameter's name in its module, the state's in the optimizer"),
    Field("inputs", "int32", "inputs", -1, "what it looked like, an index into the input descriptions"),
    *_TENSOR_FIELDS,
)

STACK_FIELDS: tuple[Field, ...] = (
    Field("parent", "int32", "stack", -1, "the calling frame's node; always a smaller id"),
    Field("frame", "int32", "string", None, "`file.py(12): fn`, an index into the strings"),
)
