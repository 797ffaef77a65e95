"""`load_ranks`: the profiles of all processes of a job as one."""

from __future__ import annotations

import os
from collections.abc import Iterable

from ..export import chrome_trace
from ..ranks.answer import JobAnswer
from ..ranks.fleet import load_job
from ..ranks.merge import merge_stores
from ..ranks.summary import RankSummary, read_store
from ..report.ranks import write_ranks
from ..store.event_store import EventStore
from .loaded import LoadedProfile

Path = str | os.PathLike[str]


def load_ranks(
    source: Path | Iterable[Path], *, workers: int | None = None, scheduler: str | None = None, strict: bool = False
) -> RanksProfile:
    """The profile of a job: of a folder with one profile or trace for each rank, or of such files.

    `workers` processes read the files (as many as there are processors; 1: this one), or those of the Dask cluster at
    `scheduler`.
    A rank whose clock cannot be aligned, or whose file cannot be read, is told of in `problems`; with `strict` it is a
    ValueError.

    >>> with torch.profiler.profile() as prof:
    ...     _ = torch.ones(2) + 1
    >>> import tempfile
    >>> folder = tempfile.mkdtemp()
    >>> prof.save(f"{folder}/rank0.mindprof")
    >>> torch.profiler.load_ranks(folder, workers=1).problems
    []
    """
    found = load_job(source, workers, scheduler)
    made = RanksProfile(found.ranks, ())
    made.problems = found.problems
    if strict and (lost := made.unusable):
        raise ValueError("; ".join(lost))
    return made


class RanksProfile(JobAnswer):
    """All ranks of a job. `ranks` are their summaries, `time_by_rank`, `straggler`, `imbalance`, `bandwidths` and
    `verdict` the answer,
    `alignments` how their clocks were put on one axis, and `problems` what is missing or in doubt."""

    @property
    def unusable(self) -> list[str]:
        """What `strict` refuses."""
        return [text for text in self.problems if "cannot be aligned" in text or "is left out" in text]

    def profile(self, rank: int) -> LoadedProfile:
        """The profile of one rank, with all that a single profile offers."""
        found = self._summary(rank)
        return LoadedProfile(read_store(found.path)[0], found.path)

    def _summary(self, rank: int) -> RankSummary:
        for summary in self.ranks:
            if summary.rank == rank:
                return summary
        raise KeyError(f"there is no rank {rank}; there are {', '.join(str(summary.rank) for summary in self.ranks)}")

    def store(self, ranks: Iterable[int] | None = None) -> EventStore:
        """The events of some ranks (all if none are named) on one time axis, each rank a process of its own. All are in
        memory then."""
        chosen = [summary.rank for summary in self.ranks] if ranks is None else list(ranks)
        index_of = {summary.rank: i for i, summary in enumerate(self.ranks)}
        parts = []
        for rank in chosen:
            summary = self._summary(rank)
            store = read_store(summary.path)[0]
            own = store.metadata.epoch_offset_ns - summary.unix_offset_ns  # from the file's times to the rank's clock
            parts.append((rank, own + self.alignments[index_of[rank]].offset_ns, store))
        joined = merge_stores(parts)
        return joined.with_metadata(epoch_offset_ns=self.ranks[0].unix_offset_ns)

    def export_chrome_trace(self, path: Path, ranks: Iterable[int] | None = None) -> None:
        """Writes one trace of all ranks, each a process of its own."""
        chrome_trace.write(self.store(ranks), path)

    def export_report(self, path: Path) -> None:
        """Writes one self-contained HTML page: the answer, and the timelines of all ranks (of a large job the telling
        ones)."""
        write_ranks(self, self.store, path)

    def __repr__(self) -> str:
        return f"<RanksProfile of {len(self.ranks)} ranks: {self.verdict}>"
