"""Hooks of DistributedDataParallel that approximate, and averages of parameters instead of gradients."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import mindtorch_v2 as torch
from mindtorch_v2.distributed.algorithms.ddp_comm_hooks import DDPCommHookType, register_ddp_comm_hook
from mindtorch_v2.distributed.algorithms.ddp_comm_hooks.powerSGD_hook import PowerSGDState
from mindtorch_v2.distributed.algorithms.model_averaging.averagers import PeriodicModelAverager
from mindtorch_v2.distributed.algorithms.model_averaging.utils import get_params_to_average

STEPS, SIZE = 6, 12


def _trained_alone(rank: int, averages: Callable[[int], bool]) -> list[np.ndarray]:
    """The weights and bias, in float64, of processes that average their parameters after some steps."""
    torch.manual_seed(0)
    net = torch.nn.Linear(SIZE, SIZE)
    first = [net.weight.detach().numpy().astype(float), net.bias.detach().numpy().astype(float)]
    held = [[p.copy() for p in first] for _ in range(2)]
    momenta = [[np.zeros_like(p) for p in first] for _ in range(2)]
    for step in range(STEPS):
        for r in range(2):
            x = torch.randn(1, SIZE, generator=torch.Generator().manual_seed(2 * step + r)).numpy()[0].astype(float)
            error = 2 * (held[r][0] @ x + held[r][1] - x[::-1])
            for i, gradient in enumerate((np.outer(error, x), error)):
                momenta[r][i] = momenta[r][i] * 0.5 + gradient
                held[r][i] = held[r][i] - 0.1 * momenta[r][i]
        if averages(step):
            held = [[(a + b) / 2 for a, b in zip(*held)] for _ in range(2)]
    return held[rank]


def test_averages_of_all_kinds(run_ranks: Callable[..., list[Any]]) -> None:
    both = run_ranks("averaging.py", 2)
    # Sums of 12 products of size below 10, six steps; each factor of an approximation is such a sum once more.
    tolerance = 2.0**-24 * SIZE * 10 * STEPS * 4
    for rank, made in enumerate(both):
        plain = np.array(made["plain"])
        for way in ("power", "cold", "batched"):  # two gradients of rank 1 have an average of rank 2
            np.testing.assert_allclose(made[way], plain, rtol=0, atol=tolerance, err_msg=way)
        assert made["power"] == both[0]["power"]
        np.testing.assert_allclose(made["half"], plain, rtol=0, atol=2.0**-9 * 10 * STEPS)
        assert made["half"] != made["plain"]
        # four iterations of a matrix of 12 x 12, sent as two of 12 x 2, and a bias of 12
        assert made["rate"] == [156 / 60, 4 * 156, 4 * 60]
        expected = _trained_alone(rank, lambda step: step % (STEPS - 1) == 0)
        expected = np.concatenate([p.ravel() for p in expected])
        np.testing.assert_allclose(made["local"], expected, rtol=0, atol=tolerance)
        assert made["count"] == STEPS


def test_wrong_arguments() -> None:
    with pytest.raises(ValueError, match="Expect `start_powerSGD_iter` > 1"):
        PowerSGDState(None, start_powerSGD_iter=1)
    group: Any = object()
    with pytest.raises(ValueError, match="positive value"):
        PeriodicModelAverager(0, process_group=group)
    with pytest.raises(ValueError, match="non-negative"):
        PeriodicModelAverager(1, -1, process_group=group)
    with pytest.warns(UserWarning, match="period is 1"):
        PeriodicModelAverager(1, process_group=group)


def test_hooks_by_name() -> None:
    class Model:
        def register_comm_hook(self, state: Any, hook: Any) -> None:
            kept.append((state, hook.__name__))

    kept: list[Any] = []
    for kind in DDPCommHookType:
        register_ddp_comm_hook(kind, Model())
    assert [name for _, name in kept] == [kind.value.partition(" ")[0] for kind in DDPCommHookType]
    assert [state.matrix_approximation_rank for state, name in kept if "power" in name] == [1, 2, 1, 2]


def test_parameters_without_a_gradient_are_left_out() -> None:
    a, b = torch.nn.Parameter(torch.ones(1)), torch.nn.Parameter(torch.ones(1))
    a.grad = torch.ones(1)
    assert get_params_to_average([a, b]) == [a] and get_params_to_average([{"params": [b, a]}]) == [a]


def test_a_state_is_saved_without_its_group() -> None:
    import copy

    state = PowerSGDState("group", 3, 5)
    again = copy.copy(state)
    assert again.process_group is None and again.matrix_approximation_rank == 3
