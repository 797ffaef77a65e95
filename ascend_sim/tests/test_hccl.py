"""HCCL between processes: values, order, and what the others see when a rank dies, hangs or calls something else."""

from __future__ import annotations

import ctypes as C
import glob
import json
import os
import subprocess
import sys
import textwrap
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from simlib import Sim

ROOT_INFO_BYTES = 4108
PARAMETER, NULL, NOT_SUPPORTED, TIMEOUT, RUNTIME, REMOTE = 1, 2, 5, 9, 15, 21
TASK_TIMEOUT, SUSPECT_REMOTE = 107020, 507057
HEADER = """
import ctypes as C, json, os, sys
import numpy as np
sys.path.insert(0, {tests!r})
from simlib import *
INT8_, INT16_, INT32_, FP16_, FP32_, INT64_, UINT64_, UINT8_, BF16_ = 0, 1, 2, 3, 4, 5, 6, 7, 11
SUM, PROD, MAX, MIN = range(4)
rank, size = int(os.environ["RANK"]), int(os.environ["SIZE"])
sim = Sim({library!r})
sim.check(sim.lib.aclInit(None))
sim.check(sim.lib.aclrtSetDevice(int(os.environ.get("DEVICE", rank))))
lib = sim.lib
P = C.c_void_p

def join():
    comm = P()
    code = lib.HcclCommInitRootInfo(size, open({root!r}, "rb").read(), rank, C.byref(comm))
    return code, comm

def buffer(values, dtype=FLOAT):
    made = Buffer(sim, values.shape, dtype)
    if made.bytes:
        raw = np.ascontiguousarray(values)
        sim.memcpy(made.address, raw.ctypes.data, made.bytes, H2D)
    return made

def wait():
    return lib.aclrtSynchronizeStream(None), sim.message()

def tell(value):
    print(json.dumps(value))
"""


@pytest.fixture
def job(loaded: Sim, library: Path, tmp_path: Path) -> Callable[..., list[Any]]:
    """Runs a program as several ranks; gives what each of them told, None for one that was killed."""

    def run(program: str, size: int = 2, **environment: object) -> list[Any]:
        root = tmp_path / "root"
        info = C.create_string_buffer(ROOT_INFO_BYTES)
        assert loaded.lib.HcclGetRootInfo(info) == 0
        root.write_bytes(info.raw)
        code = HEADER.format(tests=str(Path(__file__).parent), library=str(library), root=str(root))
        env = {**os.environ, "ASCEND_SIM_HBM": "64M", "ASCEND_SIM_DEVICES": "8", "SIZE": str(size)}
        env.update({name: str(value) for name, value in environment.items()})
        started = [
            subprocess.Popen(
                [sys.executable, "-c", code + textwrap.dedent(program)],
                env={**env, "RANK": str(rank)},
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                text=True,
            )
            for rank in range(size)
        ]
        told = []
        for process in started:
            out, err = process.communicate(timeout=120)
            assert process.returncode in (0, -9), f"exit {process.returncode}\n{out}\n{err}"
            told.append(json.loads(out.splitlines()[-1]) if process.returncode == 0 else None)
        return told

    return run


def test_collectives_give_every_rank_its_values(job: Callable[..., list[Any]]) -> None:
    told = job(
        """
        code, comm = join()
        assert code == 0
        found = {}
        n = 70001                                    # three ranks, several rounds of shared memory
        own = buffer(np.arange(n, dtype=np.float32) + rank)
        out = Buffer(sim, (n,), FLOAT)
        assert lib.HcclAllReduce(P(own.address), P(out.address), C.c_uint64(n), FP32_, SUM, comm, None) == 0
        every = Buffer(sim, (size, n), FLOAT)
        assert lib.HcclAllGather(P(own.address), P(every.address), C.c_uint64(n), FP32_, comm, None) == 0
        part = Buffer(sim, (n,), FLOAT)
        assert lib.HcclReduceScatter(P(every.address), P(part.address), C.c_uint64(n), FP32_, MAX, comm, None) == 0
        assert lib.HcclBarrier(comm, None) == 0
        mine = buffer(np.full(5, rank, np.int64), INT64)
        assert lib.HcclBroadcast(P(mine.address), C.c_uint64(5), INT64_, 2, comm, None) == 0
        whole = buffer(np.arange(size * 4, dtype=np.int32), INT32)
        piece = Buffer(sim, (4,), INT32)
        assert lib.HcclScatter(P(whole.address), P(piece.address), C.c_uint64(4), INT32_, 1, comm, None) == 0
        low = Buffer(sim, (n,), FLOAT)
        assert lib.HcclReduce(P(own.address), P(low.address), C.c_uint64(n), FP32_, MIN, 0, comm, None) == 0
        nothing = lib.HcclAllReduce(None, None, C.c_uint64(0), FP32_, SUM, comm, None)
        assert wait()[0] == 0
        expected = np.stack([np.arange(n, dtype=np.float32) + r for r in range(size)])
        found["sum"] = bool((out.read() == expected.sum(0, dtype=np.float32)).all())
        found["gather"] = bool((every.read() == expected).all())
        found["part"] = bool((part.read() == expected[rank]).all())
        found["broadcast"] = mine.read().tolist()
        found["scatter"] = piece.read().tolist()
        found["reduce"] = rank != 0 or bool((low.read() == expected.min(0)).all())
        found["nothing"] = nothing
        assert lib.HcclCommDestroy(comm) == 0
        tell([found, sim.violations()[0]])
        """,
        size=3,
    )
    for rank, (found, violations) in enumerate(told):
        assert violations == 0
        assert found == {
            "sum": True, "gather": True, "part": True, "broadcast": [2] * 5, "scatter": [4 * rank + i for i in range(4)],
            "reduce": True, "nothing": 0,
        }  # fmt: skip


def test_every_type_that_hccl_adds(job: Callable[..., list[Any]]) -> None:
    told = job(
        """
        code, comm = join()
        found = {}
        for name, dtype, hccl, kind in [("int8", INT8, INT8_, np.int8), ("int16", INT16, INT16_, np.int16), ("int32", INT32, INT32_, np.int32),
                                        ("int64", INT64, INT64_, np.int64), ("half", FLOAT16, FP16_, np.float16)]:
            x = buffer(np.array([100 + rank, -3, rank], kind), dtype)
            for op in (SUM, PROD, MAX, MIN):
                y = Buffer(sim, (3,), dtype)
                assert lib.HcclAllReduce(P(x.address), P(y.address), C.c_uint64(3), hccl, op, comm, None) == 0
                assert wait()[0] == 0
                found[f"{name} {op}"] = y.read().tolist()
        x = buffer(to_bf16(np.array([1.0 + rank, 256.0], np.float32)), BF16)
        assert lib.HcclAllReduce(P(x.address), P(x.address), C.c_uint64(2), BF16_, SUM, comm, None) == 0
        assert wait()[0] == 0
        found["bfloat16"] = x.read().tolist()
        refused = lib.HcclAllReduce(P(x.address), P(x.address), C.c_uint64(1), UINT8_, SUM, comm, None)
        tell([found, refused, sim.message()])
        """
    )
    assert told[0] == told[1]
    found, refused, text = told[0]
    for kind in (np.int8, np.int16, np.int32, np.int64, np.float16):
        name = "half" if kind is np.float16 else np.dtype(kind).name
        a, b = np.array([100, -3, 0], kind), np.array([101, -3, 1], kind)
        with np.errstate(over="ignore"):
            assert [found[f"{name} {op}"] for op in range(4)] == [
                v.tolist() for v in (a + b, a * b, np.maximum(a, b), np.minimum(a, b))
            ]
    assert found["bfloat16"] == [3.0, 512.0]
    assert refused == NOT_SUPPORTED and "UINT8" in text


def test_messages_between_ranks(job: Callable[..., list[Any]]) -> None:
    told = job(
        """
        code, comm = join()
        n = 50000                                    # more than one piece
        x, y = buffer(np.arange(n, dtype=np.float32) + rank), Buffer(sim, (n,), FLOAT)
        if rank == 0:
            assert lib.HcclSend(P(x.address), C.c_uint64(n), FP32_, 1, comm, None) == 0
            assert lib.HcclRecv(P(y.address), C.c_uint64(n), FP32_, 1, comm, None) == 0
        else:
            assert lib.HcclRecv(P(y.address), C.c_uint64(n), FP32_, 0, comm, None) == 0
            assert lib.HcclSend(P(x.address), C.c_uint64(n), FP32_, 0, comm, None) == 0
        assert wait()[0] == 0
        found = [bool((y.read() == np.arange(n, dtype=np.float32) + 1 - rank).all())]

        class Item(C.Structure):
            _fields_ = [("type", C.c_int32), ("buffer", P), ("count", C.c_uint64), ("dtype", C.c_int32), ("peer", C.c_uint32)]
        a, b = buffer(np.full(3, 7 + rank, np.float32)), Buffer(sim, (3,), FLOAT)
        items = (Item * 2)(Item(0, a.address, 3, FP32_, 1 - rank), Item(1, b.address, 3, FP32_, 1 - rank))
        assert lib.HcclBatchSendRecv(items, 2, comm, None) == 0      # both send first: in one call that is not a deadlock
        counts = [[1, 2], [3, 0]][rank], [[1, 3], [2, 0]][rank]       # rank 1 keeps nothing for itself
        starts = [[0, counts[0][0]], [0, counts[1][0]]]
        u64 = lambda v: (C.c_uint64 * 2)(*v)
        given = buffer(np.arange(3, dtype=np.float32) + 10 * rank)
        got = Buffer(sim, (sum(counts[1]),), FLOAT)
        assert lib.HcclAlltoAllV(P(given.address), u64(counts[0]), u64(starts[0]), FP32_, P(got.address), u64(counts[1]),
                                 u64(starts[1]), FP32_, comm, None) == 0
        assert wait()[0] == 0
        tell([found, b.read().tolist(), got.read().tolist()])
        """
    )
    assert told == [[[True], [8.0] * 3, [0.0, 10.0, 11.0, 12.0]], [[True], [7.0] * 3, [1.0, 2.0]]]


def test_collectives_of_one_communicator_keep_their_order_across_streams(job: Callable[..., list[Any]]) -> None:
    told = job(
        """
        code, comm = join()
        streams = [P(), P()]
        for s in streams:
            sim.check(lib.aclrtCreateStream(C.byref(s)))
        held = streams[rank]                                          # on each rank the other stream could go first
        sim.check(lib.simHoldStream(held))
        x, y = buffer(np.full(4, 1.0 + rank, np.float32)), buffer(np.full(4, 10.0 + rank, np.float32))
        assert lib.HcclAllReduce(P(x.address), P(x.address), C.c_uint64(4), FP32_, SUM, comm, streams[0]) == 0
        assert lib.HcclAllReduce(P(y.address), P(y.address), C.c_uint64(4), FP32_, SUM, comm, streams[1]) == 0
        sim.check(lib.simReleaseStream(held))
        for s in streams:
            sim.check(lib.aclrtSynchronizeStream(s))
        tell([x.read().tolist(), y.read().tolist()])
        """
    )
    assert told == [[[3.0] * 4, [21.0] * 4]] * 2


@pytest.mark.parametrize(
    ("fault", "answer", "result", "words"),
    [("1:2:die", SUSPECT_REMOTE, REMOTE, "rank 1 has ended"), ("1:2:hang", TASK_TIMEOUT, TIMEOUT, "rank 1 did not take part")],
)  # fmt: skip
def test_a_rank_that_dies_or_hangs_is_named(
    job: Callable[..., list[Any]], fault: str, answer: int, result: int, words: str
) -> None:
    told = job(
        """
        code, comm = join()
        x = buffer(np.ones(4, np.float32))
        codes = []
        for _ in range(3):
            codes.append(lib.HcclAllReduce(P(x.address), P(x.address), C.c_uint64(4), FP32_, SUM, comm, None))
            codes.append(wait())
        error = C.c_int32()
        assert lib.HcclGetCommAsyncError(comm, C.byref(error)) == 0
        lib.HcclGetErrorString.restype = C.c_char_p
        tell([codes, error.value, lib.HcclGetErrorString(error).decode()])
        """,
        ASCEND_SIM_HCCL_FAULT=fault,
        HCCL_EXEC_TIMEOUT=0.3 if fault.endswith("hang") else 60,
    )
    (first, done, second, failed, third, _), error, text = told[0]
    assert (first, done[0], second, failed[0], third) == (0, 0, 0, answer, RUNTIME)
    assert words in failed[1] and "HcclAllReduce" in failed[1]
    assert (error, text) == (result, {REMOTE: "remote error", TIMEOUT: "timeout"}[result])


def test_an_error_code_can_be_asked_for(job: Callable[..., list[Any]]) -> None:
    told = job(
        """
        code, comm = join()
        codes = [lib.HcclBarrier(comm, None) for _ in range(2)]
        tell([codes, sim.message()])
        """,
        ASCEND_SIM_HCCL_FAULT="0:2:4",
    )
    assert told[0][0] == [0, 4] and "injected fault" in told[0][1]
    assert told[1][0] == [0, 0]


def test_different_calls_are_named_on_both_ranks(job: Callable[..., list[Any]]) -> None:
    told = job(
        """
        code, comm = join()
        x = buffer(np.ones(4, np.float32))
        if rank == 0:
            lib.HcclAllReduce(P(x.address), P(x.address), C.c_uint64(4), FP32_, SUM, comm, None)
        else:
            lib.HcclBroadcast(P(x.address), C.c_uint64(2), FP32_, 0, comm, None)
        tell([*wait(), sim.violations()])
        """
    )
    for code, text, (violations, _) in told:
        assert code == SUSPECT_REMOTE and violations == 1
        assert "HcclAllReduce(4 FP32" in text and "HcclBroadcast(2 FP32" in text


def test_ranks_that_cannot_form_a_communicator(job: Callable[..., list[Any]], loaded: Sim) -> None:
    program = "code, comm = join()\ntell([code, sim.message()])"
    for code, text in job(program, DEVICE=3):
        assert code == PARAMETER and "ranks 0 and 1 are both on device 3" in text
    comm = C.c_void_p()
    loaded.check(loaded.lib.aclrtSetDevice(0))
    assert loaded.lib.HcclCommInitRootInfo(1, bytes(ROOT_INFO_BYTES), 0, C.byref(comm)) == PARAMETER
    assert loaded.lib.HcclCommInitRootInfo(99, bytes(ROOT_INFO_BYTES), 0, C.byref(comm)) == PARAMETER
    assert loaded.lib.HcclCommInitRootInfo(1, None, 0, C.byref(comm)) == NULL
    assert loaded.lib.HcclBarrier(None, None) == NULL


def test_nothing_is_left_in_shared_memory(job: Callable[..., list[Any]], loaded: Sim) -> None:
    stale = "/dev/shm/ascend_sim_hccl-99999999-0-0"  # of a process that cannot be there
    Path(stale).touch()
    job("code, comm = join()\ntell(code)")
    assert not os.path.exists(stale)
    assert glob.glob(f"/dev/shm/ascend_sim_hccl-{os.getpid()}-*") == []


def test_a_communication_is_an_activity_record(sim: Sim, in_process: Callable[..., str]) -> None:
    out = in_process(
        """
        import numpy as np
        lib, P = sim.lib, C.c_void_p
        pieces = []
        request = C.CFUNCTYPE(None, C.POINTER(P), C.POINTER(C.c_size_t), C.POINTER(C.c_size_t))
        complete = C.CFUNCTYPE(None, P, C.c_size_t, C.c_size_t)
        room = C.create_string_buffer(65536)
        def ask(b, s, n):
            b[0], s[0], n[0] = C.addressof(room), 65536, 0
        def give(b, s, valid):
            if valid:
                pieces.append(C.string_at(b, valid))
        keep = request(ask), complete(give)
        handle = P()
        assert lib.msptiSubscribe(C.byref(handle), None, None) == 0
        assert lib.msptiActivityRegisterCallbacks(*keep) == 0
        assert lib.msptiActivityEnable(9) == 0
        info, comm = C.create_string_buffer(4108), P()
        assert lib.HcclGetRootInfo(info) == 0 and lib.HcclCommInitRootInfo(1, info, 0, C.byref(comm)) == 0
        x = Buffer(sim, (6,), FLOAT)
        assert lib.HcclAllReduce(P(x.address), P(x.address), C.c_uint64(6), 4, 0, comm, None) == 0
        sim.check(lib.aclrtSynchronizeStream(None))
        for _ in range(200):
            lib.msptiActivityFlushAll(1)
            if pieces: break
        kind, dtype, count, device, stream, start, end, alg, name, group, corr = np.frombuffer(pieces[0], np.dtype(
            "<u4,<u4,<u8,<u4,<u4,<u8,<u8,<u8,<u8,<u8,<u8"))[0].tolist()
        text = C.create_string_buffer(128)
        assert lib.HcclGetCommName(comm, text) == 0
        assert C.string_at(group) == text.value
        print(kind, dtype, count, device, start <= end, C.string_at(name).decode())
        """,
        ASCEND_SIM_MSPTI_DELAY_MS=0,
    )
    assert out == "9 4 6 0 True hcom_allReduce_Sim"
