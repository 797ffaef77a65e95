"""Names that programs of several processes use: functional collectives, launchers inside programs, rendezvous."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from typing import Any

import pytest

import mindtorch_v2 as torch
from mindtorch_v2 import distributed as dist
from mindtorch_v2.distributed.elastic.multiprocessing.errors import ChildFailedError
from mindtorch_v2.distributed.elastic.utils.data import ElasticDistributedSampler
from mindtorch_v2.distributed.launcher.api import LaunchConfig, elastic_launch


def test_functional_collectives_and_dtensors(run_ranks: Callable[..., list[Any]]) -> None:
    for rank, made in enumerate(run_ranks("more_names.py", 2)):
        assert made["moved"] == [2.0 * rank, 2.0 * rank + 1, 10 + 2.0 * rank, 11 + 2.0 * rank]
        assert made["moved gradient"] == [1, 1, 2, 2]
        assert made["joined"] == [1, 1, 2, 2]
        assert made["joined gradient"] == [3.0 * 2 * rank, 3.0 * (2 * rank + 1)]  # 3: the sum of the factors
        own = [6.0 * rank, 3.0 * (2 * rank + 1)]
        assert made["sum"] == own and made["avg"] == [value / 2 for value in own]
        assert made["sum gradient"] == [1, 1, 2, 2] and made["avg gradient"] == [0.5, 0.5, 1, 1]
        assert made["summands"] == [3, 3] and made["whole"] == [3, 3, 3, 3]
        assert made["mapped"] == 12 and made["pair"] == ["DTensor", "int"]
        assert made["mismatch"] == "arg 0 in local_map has a mismatched placements:"
        assert made["part"] == [[[3, 3], [0, 0]], [[2, 3], [3, 0]]][rank]
        assert made["facts"] == [2, 1, 4 * 9, "Linear"]
        assert made["scale"] == 2.0 and made["kept"] == 1.0  # no process took the step


def _add(x: int) -> Any:
    rank = int(os.environ["RANK"])
    dist.init_process_group("gloo")
    total = torch.tensor([x + rank])
    dist.all_reduce(total)
    dist.destroy_process_group()
    return {"sum": total, "rank": rank}


def _fail() -> None:
    raise KeyError("no such thing")


def _config(count: int) -> LaunchConfig:
    return LaunchConfig(min_nodes=1, max_nodes=1, nproc_per_node=count, rdzv_backend="c10d", max_restarts=0)


def test_functions_are_started_in_several_processes() -> None:
    pytest.importorskip("mpi4py")
    made = elastic_launch(_config(2), _add)(5)
    assert {rank: (value["sum"].tolist(), value["rank"]) for rank, value in made.items()} == {
        0: ([11], 0),
        1: ([11], 1),
    }


def test_a_function_that_fails() -> None:
    with pytest.raises(ChildFailedError, match=r"_fail FAILED(?s:.)*KeyError: 'no such thing'") as caught:
        elastic_launch(_config(1), _fail)()
    assert caught.value.get_first_failure()[1].exitcode == 1


def test_what_the_launcher_inside_programs_refuses() -> None:
    with pytest.raises(NotImplementedError, match="on 2 machines"):
        LaunchConfig(min_nodes=2, max_nodes=2, nproc_per_node=1)
    with pytest.raises(NotImplementedError, match="calls functions"):
        elastic_launch(_config(1), "train.py")


def test_an_epoch_that_begins_in_the_middle() -> None:
    samplers = [ElasticDistributedSampler(range(10), 2, rank, start_index=3) for rank in range(2)]
    both = [list(sampler) for sampler in samplers]
    assert [len(part) for part in both] == [4, 4] and set(both[0] + both[1]) == set(range(3, 10))
    samplers[0].set_epoch(1)
    assert list(samplers[0]) != both[0]
    with pytest.raises(ValueError, match="Start index 10"):
        ElasticDistributedSampler(range(10), 2, 0, start_index=10)


def test_meeting_at_an_address(tmp_path: Any) -> None:
    store, rank, size = next(dist.rendezvous(f"file://{tmp_path}/store?rank=0&world_size=1"))
    store.set("a", "b")
    assert (store.get("a"), rank, size) == (b"b", 0, 1)

    def own(url: str, **options: Any) -> Iterator[tuple[Any, int, int]]:
        yield store, 3, 4

    scheme = f"mine{os.getpid()}"
    dist.register_rendezvous_handler(scheme, own)
    assert next(dist.rendezvous(f"{scheme}://x")) == (store, 3, 4)
    with pytest.raises(RuntimeError, match="already registered"):
        dist.register_rendezvous_handler(scheme, own)
    with pytest.raises(ValueError, match="the rank or the world size is missing"):
        next(dist.rendezvous("tcp://127.0.0.1:1"))


def test_debug_levels(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TORCH_DISTRIBUTED_DEBUG", "detail")
    dist.set_debug_level_from_env()
    assert dist.get_debug_level() is dist.DebugLevel.DETAIL
    monkeypatch.setenv("TORCH_DISTRIBUTED_DEBUG", "much")
    with pytest.raises(RuntimeError, match="must be OFF, INFO, or DETAIL"):
        dist.set_debug_level_from_env()
    dist.set_debug_level(dist.DebugLevel.OFF)


def test_older_and_other_paths() -> None:
    from mindtorch_v2.distributed._composable.fsdp import fully_shard
    from mindtorch_v2.distributed.constants import default_pg_timeout
    from mindtorch_v2.distributed.fsdp import FSDPModule, ShardedStateDictConfig
    from mindtorch_v2.distributed.tensor.parallel.style import ColwiseParallel, ParallelStyle

    assert issubclass(ColwiseParallel, ParallelStyle) and default_pg_timeout == dist.default_pg_timeout
    assert fully_shard.__module__.startswith("mindtorch_v2.distributed.fsdp") and FSDPModule
    assert ShardedStateDictConfig().offload_to_cpu is False
    from mindtorch_v2.distributed.tensor.placement_types import _StridedShard

    with pytest.raises(NotImplementedError, match="split_factor=2"):
        _StridedShard(0, split_factor=2)
    assert dist.Backend.default_device_backend_map["cpu"] == "gloo"
    from mindtorch_v2.distributed.tensor.placement_types import _StridedShard

    with pytest.raises(NotImplementedError, match="split_factor=2"):
        _StridedShard(0, split_factor=2)
    assert dist.Backend.default_device_backend_map["npu"] == "hccl"
    assert isinstance(dist.ReduceOp.SUM, dist.ReduceOp.RedOpType)
    assert dist.GradBucket.__name__ == "GradBucket"
