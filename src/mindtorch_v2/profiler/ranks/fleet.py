"""The summaries of many ranks: one function mapped over files, in this process, in a pool of processes, or on a Dask
cluster.

Only paths go out and only summaries come back, so the memory that a job needs does not depend on how large its traces
are.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
from typing import Any

from ..store.files import ProfileFileError
from .answer import JobAnswer
from .files import rank_files
from .summary import RankSummary, summarize_file

_FEW = 4  # files that are not worth a pool
Result = RankSummary | str  # a sentence for a file that could not be read


def try_summary(path: str) -> Result:
    """The summary of a file, or why there is none: one bad file of many does not lose the others."""
    try:
        return summarize_file(path)
    except (OSError, ProfileFileError) as error:
        return f"{path!r} is left out: {error}"


def map_files(paths: Sequence[str], workers: int | None = None, scheduler: str | None = None) -> Iterator[Result]:
    """`try_summary` of every file, in their order. `scheduler` is the address of a Dask scheduler whose workers reach
    the same files."""
    if scheduler is not None:
        return _on_dask(try_summary, paths, scheduler)
    count = min(workers or len(os.sched_getaffinity(0)), len(paths))
    if count <= 1 or (workers is None and len(paths) <= _FEW):
        return map(try_summary, paths)
    return _in_pool(try_summary, paths, count)


def _in_pool(function: Callable[[str], Result], paths: Sequence[str], workers: int) -> Iterator[Result]:
    with ProcessPoolExecutor(workers, mp_context=get_context("spawn")) as pool:
        yield from pool.map(function, paths)


def _on_dask(function: Callable[[str], Result], paths: Sequence[str], scheduler: str) -> Iterator[Result]:
    try:
        from distributed import Client
    except ImportError as error:
        raise RuntimeError(
            "a Dask scheduler needs pip install 'mindtorch_v2[fleet]' here and on its workers"
        ) from error
    client: Any
    with Client(scheduler, set_as_default=False) as client:
        # workers run in folders of their own; files may have changed since a worker last read them
        yield from client.gather(client.map(function, [os.path.abspath(path) for path in paths], pure=False))


def load_job(
    source: str | os.PathLike[str] | Iterable[str | os.PathLike[str]],
    workers: int | None = None,
    scheduler: str | None = None,
) -> JobAnswer:
    """The answer for a folder with one file for each rank, or for such files. ProfileFileError where none can be
    read."""
    paths = rank_files(source) if isinstance(source, (str, os.PathLike)) else [os.fspath(path) for path in source]
    results = list(map_files(paths, workers, scheduler))
    summaries = [result for result in results if isinstance(result, RankSummary)]
    problems = [result for result in results if isinstance(result, str)]
    if not summaries:
        raise ProfileFileError(
            paths[0] if paths else "", f"no rank can be read: {problems[0] if problems else 'no files'}"
        )
    return JobAnswer(summaries, problems)
