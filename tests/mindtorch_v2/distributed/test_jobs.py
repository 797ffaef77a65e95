"""Jobs of several processes: collectives, training, faults."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import mindtorch_v2 as torch
from mindtorch_v2 import nn
from mindtorch_v2.distributed._mpi import is_installed

from .conftest import PROGRAMS, launch

SIZE = 3
needs_mpi = pytest.mark.skipif(not is_installed(), reason="mpi4py is not installed")


def _expected(rank: int) -> dict[str, Any]:
    """What process `rank` of three gets, by hand."""
    types = ("float32", "float64", "float16", "bfloat16", "int64", "int32", "int16", "uint8")
    return {
        "ranks": [rank, SIZE, rank, rank, SIZE],
        **{f"sum {name}": [3, 6, 9] for name in types},
        "sum complex64": [[3, 0], [6, 0], [9, 0]],
        "MIN": [1, 2],
        "MAX": [3, 4],
        "PRODUCT": [6, 24],
        "AVG": [2, 3],
        "BAND": [0, 7],
        "BOR": [7, 7],
        "BXOR": [7, 7],
        "any": [True, True, False],
        "strided": [[0, 6, 0], [0, 6, 0]],
        "versions": True,
        "broadcast": [2, 2],
        "reduce": [6, 6] if rank == 1 else [rank + 1] * 2,
        "all_gather": [[[10 * r, 10 * r + 2], [10 * r + 1, 10 * r + 3]] for r in range(SIZE)],
        "all_gather_into_tensor": [True, True, False, True, True, True],
        "reduce_scatter_tensor": [6.0 * 2 * rank, 6.0 * (2 * rank + 1)],
        "reduce_scatter": [3 * rank + 3] * 2,
        "gather": [0, 1, 4] if rank == 0 else None,
        "scatter": [rank] * 2,
        "all_to_all_single": [10 * r + rank for r in range(SIZE)],
        "all_to_all": [[10.0 * r + rank] * (r + 1) for r in range(SIZE)],
        **({"received from": 0, "received": [0, 1, 2, 3]} if rank == 1 else {}),
        "ring": [(rank - 1) % SIZE],
        "future": 3000.0,
        "done": [True, True],
        "pair": [1.0, -1, -1] if rank == 1 else [2.0, 0 if rank == 0 else 1, 2],
        "objects": [{"rank": r} for r in range(SIZE)],
        "broadcast objects": ["from 1", 2],
        "scattered object": f"for {rank}",
        "sent objects": [{"sent": 1}, "two"] if rank < 2 else [None, None],
        "gradient of all_reduce": [6.0 * (rank + 1)] * 2,
        "gradient of all_gather": [6.0 * (rank + 1)] * 2,
        **_expected_of_later_ones(rank),
        "error twice": ["ValueError", "trying to initialize the default process group twice!"],
        "error nccl": ["RuntimeError", "Cannot use ReduceOp.BAND with floating point tensors"],
        "error count": [
            "RuntimeError",
            "tensor_list must have one tensor for each of the 3 processes of the group, got 1",
        ],
        "initialized": False,
    }


def _expected_of_later_ones(rank: int) -> dict[str, Any]:
    """The same for several at once, uneven parts, local groups and results as new tensors."""
    return {
        "coalesced": [[9.0, 9.0], [9.0]],
        "uneven": [6.0 * i for i in range(rank + 1)],
        "sum complex32": [[3.0, 6.0]],
        "functional sum": [[6.0, 12.0, 18.0]],
        "functional gather": [[1.0, 2.0, 3.0, 2.0, 4.0, 6.0, 3.0, 6.0, 9.0]],
        "functional parts": [[3.0 * (rank + 1)]],
        "local": [6.0] if rank else [0.0],
        **({} if rank else {"refused": "Argument ``gather_list`` must be specified on destination rank."}),
    }


def test_collectives(run_ranks: Callable[..., list[Any]]) -> None:
    for rank, made in enumerate(run_ranks("collectives.py", SIZE)):
        error = made.pop("error type")
        assert error[0] == "TypeError" and "Expected parameter `tensor` of type torch.Tensor" in error[1]
        assert made == _expected(rank)


def _alone(spare: bool = True, accumulate: int = 1) -> list[float]:
    """The same training in one process on the joined batches."""
    torch.manual_seed(0)
    first, second, extra = nn.Linear(4, 8), nn.Linear(8, 2), nn.Linear(4, 2)
    net = nn.ModuleList([first, second, extra])
    optimizer = torch.optim.Adam(net.parameters(), lr=0.1)
    for step in range(4):
        optimizer.zero_grad()
        for part in range(accumulate):
            generator = torch.Generator().manual_seed(step * accumulate + part)
            x, y = torch.randn(12, 4, generator=generator), torch.randn(12, 2, generator=generator)
            result = second(first(x).tanh()) + (extra(x) if spare else 0)
            (((result - y) ** 2).mean() / accumulate).backward()
        optimizer.step()
    return [value for p in net.parameters() for value in p.detach().flatten().tolist()]


def test_training_equals_one_process_on_the_joined_batch(run_ranks: Callable[..., list[Any]]) -> None:
    everyone = run_ranks("training.py", SIZE)
    for made in everyone:
        assert made["plain"] == everyone[0]["plain"]  # all processes hold the same weights, bit by bit
        assert "Parameters without a gradient: spare.weight, spare.bias" in made.pop("complaint")
        torch.manual_seed(0)
        rows = nn.Embedding(7, 2).weight.detach()
        for row, gradient in ((0, 1 / 3), (1, 2 / 3), (2, 1.0), (5, 2.0)):
            rows[row] -= 0.3 * gradient
        is_sparse, indices, found = made.pop("sparse")
        assert is_sparse and indices == [[0, 1, 2, 5]]
        # Sums of three terms and two products, of sizes below 4.
        np.testing.assert_allclose(found, rows.tolist(), rtol=0, atol=4 * 5 * 2.0**-24)
        for name, values in made.items():
            want = _alone(name not in ("unused", "static"), 2 if name == "accumulated" else 1)
            # Adam divides by the gradient's size, so that an error of one unit in a gradient moves a weight by the
            # learning rate times the gradient's relative error, at most; four steps of sums of 12 terms. float16 has
            # 2^-11 instead of 2^-24.
            unit = 2.0 ** (-11 if name == "half" else -24)
            np.testing.assert_allclose(values, want, rtol=0, atol=4 * 0.1 * 12 * 64 * unit, err_msg=name)


@needs_mpi
@pytest.mark.parametrize(
    ("kind", "told"),
    [
        ("raise", "ValueError: a fault in rank 1"),
        ("exit", "Rank 1 ended with exit code 7. What the processes did last:"),
        ("desert", "Rank 0 ended with exit code 0 without leaving its group (os._exit?). What the processes did last:"),
        ("kill", "Rank 1 was ended by SIGKILL. What the processes did last:"),
        ("other", "Processes called different collectives: communication 2 is"),
        ("absent", "recv([1] torch.float32) from 0 at"),
    ],
)
def test_one_failing_process_ends_the_job(kind: str, told: str) -> None:
    done = launch(2, PROGRAMS / "faults.py", kind)
    assert done.returncode != 0
    assert told in done.stdout + done.stderr
    if kind in ("other", "absent"):  # the error names what each process was doing, and where
        assert "all_reduce([3] torch.float32)" in done.stdout + done.stderr and "faults.py:" in done.stderr


@needs_mpi
def test_the_launcher_says_what_is_wrong() -> None:
    wrong = launch(0, "x.py")
    assert wrong.returncode == 2 and "--nproc-per-node takes a positive number" in wrong.stderr
    missing = launch(1, "no-such-file.py")
    assert missing.returncode != 0 and "can't open file 'no-such-file.py'" in missing.stderr


def test_without_a_launcher_there_is_one_process() -> None:
    if not is_installed():
        with pytest.raises(RuntimeError, match=r"pip install 'mindtorch_v2\[distributed\]'"):
            torch.distributed.init_process_group("gloo", rank=0, world_size=1)
        return
    code = (
        "import mindtorch_v2 as torch, mindtorch_v2.distributed as d; d.init_process_group('gloo', rank=0, "
        "world_size=1); x = torch.ones(2); "
        "d.all_reduce(x); print(x.tolist(), d.get_world_size()); d.destroy_process_group()\n"
        "try: d.init_process_group('gloo', rank=0, world_size=4)\nexcept RuntimeError as e: print('--nproc-per-node' "
        "in str(e))\n"
        "try: d.init_process_group('nccl')\nexcept RuntimeError as e: print(e)"
    )
    import subprocess
    import sys

    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.stdout.splitlines() == ["[1.0, 1.0] 1", "True", "Distributed package doesn't have NCCL built in"], (
        done.stderr
    )
