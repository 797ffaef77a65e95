"""Traces as PyTorch writes them, event by event."""

from __future__ import annotations

import gzip
import json

PID, TID, BACK = 500, 500, 501
BASE = 1_735_632_360_000_000_000


def x(cat, name, ts, dur, pid=PID, tid=TID, **args):
    return {
        "ph": "X",
        "cat": cat,
        "name": name,
        "pid": pid,
        "tid": tid,
        "ts": ts,
        "dur": dur,
        "args": {key.replace("_", " ") if key[0].isupper() else key: value for key, value in args.items()},
    }


def arrow(ph, number, ts, cat="ac2g", **more):
    return {"ph": ph, "id": number, "pid": PID, "tid": TID, "ts": ts, "cat": cat, "name": cat, **more}


def named(name, pid, tid, text):
    return {
        "ph": "M",
        "name": name,
        "pid": pid,
        "tid": tid,
        "ts": 0,
        "args": {"labels" if name == "process_labels" else "name": text},
    }


def gpu_events(runtime="cuda", stream=7, external=True):
    """A training step: two kernels and a copy under operators, one kernel under an annotation alone, one under
    nothing.
    """

    def ids(op, correlation):
        return {"External_id": op if external else correlation, "correlation": correlation}

    return [
        *_tracks(stream),
        *_forward(runtime, stream, ids),
        *_backward(runtime, stream, ids),
        *_rest(runtime, stream, ids),
    ]


def _tracks(stream):
    return [
        named("process_name", PID, 0, "python3"),
        named("thread_name", PID, TID, f"thread {TID} (python3)"),
        named("thread_name", PID, BACK, f"thread {BACK} (pt_autograd_0)"),
        named("process_labels", 0, 0, "GPU 0"),
        named("thread_name", 0, stream, f"stream {stream} "),
    ]


def _forward(runtime, stream, ids):
    return [
        x("user_annotation", "ProfilerStep#4", 0.0, 100.5, External_id=1, Ev_Idx=0),
        x(
            "cpu_op",
            "aten::linear",
            1.0,
            20.0,
            External_id=2,
            Sequence_number=7,
            Fwd_thread_id=0,
            Ev_Idx=1,
            Input_Dims=[[2, 3], [4, 3], []],
            Input_type=["float", "float", "Scalar"],
            Concrete_Inputs=["", "", "1."],
        ),
        x("cpu_op", "aten::addmm", 2.0, 18.0, External_id=3, Sequence_number=7, Fwd_thread_id=0, Ev_Idx=2),
        x(f"{runtime}_runtime", "cudaLaunchKernel", 5.0, 2.0, **ids(3, 901), cbid=211),
        arrow("s", 901, 5.0),
        x(
            "kernel",
            "gemm<float, 4>",
            30.0,
            12.25,
            0,
            stream,
            **ids(3, 901),
            device=0,
            stream=stream,
            grid=[2, 1, 1],
            block=[32, 1, 1],
        ),
        arrow("f", 901, 30.0, bp="e"),
        x("cpu_op", "aten::copy_", 21.5, 5.0, External_id=4, Ev_Idx=3),
        x(f"{runtime}_runtime", "cudaMemcpyAsync", 22.0, 3.0, **ids(4, 902)),
        x(
            "gpu_memcpy",
            "Memcpy HtoD (Pageable -> Device)",
            43.0,
            4.0,
            0,
            stream,
            **ids(4, 902),
            device=0,
            stream=stream,
            bytes=1024,
        ),
    ]


def _backward(runtime, stream, ids):
    return [
        x(f"{runtime}_runtime", "cudaLaunchKernel", 28.0, 1.0, **ids(0, 903)),
        x("kernel", "triton_fused", 50.0, 3.0, 0, stream, **ids(0, 903), device=0, stream=stream),
        x(
            "cpu_op",
            "autograd::engine::evaluate_function: AddmmBackward0",
            60.0,
            20.0,
            tid=BACK,
            External_id=5,
            Sequence_number=7,
            Fwd_thread_id=1,
        ),
        x("cpu_op", "AddmmBackward0", 61.0, 18.0, tid=BACK, External_id=6, Sequence_number=7, Fwd_thread_id=1),
        x("cpu_op", "aten::mm", 62.0, 10.0, tid=BACK, External_id=7),
        x(f"{runtime}_runtime", "cudaLaunchKernel", 64.0, 2.0, tid=BACK, **ids(7, 904)),
        x(
            "kernel",
            "gemm<float, 4>",
            70.0,
            8.0,
            0,
            stream,
            **ids(7, 904),
            device=0,
            stream=stream,
            grid=[2, 1, 1],
            block=[32, 1, 1],
        ),
        x("kernel", "second of a graph", 78.0, 1.0, 0, stream, **ids(7, 904), device=0, stream=stream),
        x("gpu_memset", "Memset (Device)", 79.5, 0.5, 0, stream, correlation=999, device=0, stream=stream),
    ]


def _rest(runtime, stream, ids):
    return [
        x(f"{runtime}_runtime", "cudaDeviceSynchronize", 90.0, 5.0, **ids(0, 905)),
        x("cuda_sync", "Context Sync", 91.0, 4.0, 0, -1, **ids(0, 905), device=0, stream=-1),
        x("gpu_user_annotation", "ProfilerStep#4", 30.0, 50.0, 0, stream, External_id=1),
        x("overhead", "Activity Buffer Request", 3.0, 1.0, -1, 0),
        x("Trace", "PyTorch Profiler (0)", 0, 101, "Spans", "PyTorch Profiler", Op_count=0),
        {
            "ph": "i",
            "s": "g",
            "name": "Iteration Start: PyTorch Profiler",
            "pid": "Traces",
            "tid": "Trace PyTorch Profiler",
            "ts": 0,
        },
        {"ph": "i", "s": "g", "name": "Record Window End", "pid": "", "tid": "", "ts": 110},
    ]


def write(path, events, **head):
    trace = {
        "schemaVersion": 1,
        "deviceProperties": [{"id": 0, "name": "GPU"}],
        "distributedInfo": {"rank": 3},
        "traceEvents": events,
        "traceName": "x.json",
        "displayTimeUnit": "ms",
        "baseTimeNanoseconds": BASE,
        **head,
    }
    data = json.dumps(trace).encode()
    path.write_bytes(gzip.compress(data) if path.name.endswith("gz") else data)
    return path
