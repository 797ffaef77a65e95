"""Profiles of many ranks: time and memory of reading them, by the count of files.

    python benchmarks/fleet.py [--ranks 64 128 256] [--events 100000] [--workers 2] [--keep DIR]

Makes traces of synthetic ranks (the same steps, with different times and one slow rank), then reads 1/4, 1/2 and all of
them. Prints the CPU time for each file, the largest memory of the reading processes, and what the answer says.
"""

from __future__ import annotations

import argparse
import os
import resource
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import numpy as np

from mindtorch_v2.profiler.ranks.fleet import load_job
from mindtorch_v2.profiler.record.clock import ALIGNMENT_KEY
from mindtorch_v2.profiler.record.descriptions import InputDescription, Metadata, ThreadInfo
from mindtorch_v2.profiler.record.kinds import Kind
from mindtorch_v2.profiler.store import storefile
from mindtorch_v2.profiler.store.event_store import EventStore

_STEPS = 20
_SLOW = 0.25  # how much longer the slow rank computes


def rank_store(rank: int, size: int, events: int, slow: bool) -> EventStore:
    """Twenty steps of operators, each step with one all_reduce that all ranks end together."""
    each = events // _STEPS - 3
    random = np.random.default_rng(rank)
    lengths = random.integers(800, 1200, (_STEPS, each))
    if slow:
        lengths = (lengths * (1 + _SLOW)).astype(np.int64)
    columns: dict[str, list[Any]] = {n: [] for n in ("start_ns", "end_ns", "name", "parent", "kind", "step", "inputs")}
    inputs = []
    longest = int(1200 * (1 + _SLOW)) * each + 50_000
    for step in range(_STEPS):
        begin, row = step * longest, len(columns["start_ns"])
        starts = begin + np.append(0, np.cumsum(lengths[step])[:-1])
        meets, ends = int(starts[-1] + lengths[step][-1]), begin + longest
        facts = {"Collective name": "all_reduce", "dtype": "Float", "In msg nelems": 250_000, "Out msg nelems": 250_000}
        group = {"Group size": size, "Process Group Name": "0", "Seq": step}
        inputs.append(InputDescription((), (), (), (), tuple({**facts, **group}.items())))
        columns["start_ns"] += [begin, *starts.tolist(), meets, meets]
        columns["end_ns"] += [ends, *(starts + lengths[step]).tolist(), ends, ends]
        columns["name"] += [4 + step, *random.integers(0, 2, each).tolist(), 2, 3]
        columns["parent"] += [-1, *[row] * each, row, row + each + 1]
        columns["kind"] += [int(Kind.STEP), *[int(Kind.OP)] * each, int(Kind.FUNCTION), int(Kind.SCOPE)]
        columns["step"] += [step] * (each + 3)
        columns["inputs"] += [-1] * (each + 2) + [step]
    columns["thread"] = [0] * len(columns["start_ns"])
    strings = [
        "aten::mm",
        "aten::add",
        "c10d::allreduce_",
        "gloo:all_reduce",
        *(f"ProfilerStep#{i}" for i in range(_STEPS)),
    ]
    user = {
        "distributedInfo": f'{{"rank": {rank}, "world_size": {size}}}',
        ALIGNMENT_KEY: '{"clock": "one", "epoch_offset_ns": 0, "pings": []}',
    }
    threads = [ThreadInfo(1, 1, "MainThread")]
    return EventStore(columns, strings=strings, inputs=inputs, threads=threads, metadata=Metadata(user=user))


def make(folder: Path, ranks: int, events: int) -> list[str]:
    """The files of a job, made once."""
    paths = []
    for rank in range(ranks):
        path = folder / f"rank{rank}.mindprof"
        if not path.exists():
            storefile.save(rank_store(rank, ranks, events, rank == ranks // 3), path)
        paths.append(str(path))
    return paths


def _cpu() -> float:
    return sum(sum(resource.getrusage(who)[:2]) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0] if __doc__ else None)
    parser.add_argument("--ranks", type=int, default=256)
    parser.add_argument("--events", type=int, default=100_000)
    parser.add_argument("--workers", type=int, default=len(os.sched_getaffinity(0)))
    parser.add_argument("--keep", help="a folder for the files; a temporary one if it is not given")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as temporary:
        folder = Path(options.keep or temporary)
        folder.mkdir(parents=True, exist_ok=True)
        paths = make(folder, options.ranks, options.events)
        print(f"{options.ranks} ranks of {options.events:,} events, {options.workers} workers", flush=True)
        for count in (options.ranks // 4, options.ranks // 2, options.ranks):
            before, began = _cpu(), time.perf_counter()
            job = load_job(paths[:count], options.workers)
            told = job.verdict
            took, wall = _cpu() - before, time.perf_counter() - began
            own, others = (
                resource.getrusage(w).ru_maxrss / 1024 for w in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)
            )
            print(
                f"{count:5d} files: {took:7.2f} s CPU, {1000 * took / count:6.1f} ms a file, {wall:7.2f} s; "
                f"largest memory {own:.0f} MB here, {others:.0f} MB in a worker. {told}",
                flush=True,
            )


if __name__ == "__main__":
    sys.exit(main())
