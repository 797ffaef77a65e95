"""A profile lists the same steps of a copy whether or not it records more than names and times: in the first case the
native core lists them around one kernel, in the second they run one by one."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import mindtorch_v2 as torch

COPIES: dict[str, Callable[[Any], Any]] = {
    "contiguous": lambda x: x.clone(),
    "transposed": lambda x: x.t().clone(),
    "row-major from transposed": lambda x: x.t().contiguous(),
    "preserve_format given": lambda x: x.clone(memory_format=torch.preserve_format),
    "contiguous_format given": lambda x: x.clone(memory_format=torch.contiguous_format),
    "every second column": lambda x: x[:, ::2].clone(),
    "reshape": lambda x: x.t().reshape(-1),
    "expanded": lambda x: x[:1].expand(3, 4).clone(),
}


def _steps(call: Callable[[], Any], **flags: bool) -> list[tuple[str, int, int]]:
    with torch.profiler.profile(**flags) as prof:
        call()
    events = [e for e in prof.events() if e.name.startswith("aten::")]
    first = min((e.sequence_nr for e in events if e.sequence_nr >= 0), default=0)

    def depth(event: Any) -> int:
        return 0 if event.cpu_parent is None else 1 + depth(event.cpu_parent)

    return [(e.name, depth(e), e.sequence_nr - first if e.sequence_nr >= 0 else -1) for e in events]


@pytest.mark.parametrize("requires_grad", [False, True])
@pytest.mark.parametrize("name", COPIES)
def test_a_copy_has_the_same_steps_with_and_without_shapes(name: str, requires_grad: bool) -> None:
    x = torch.arange(12.0).reshape(3, 4).requires_grad_(requires_grad)
    call = COPIES[name]
    plain = _steps(lambda: call(x))
    assert [name for name, _, _ in plain].count("aten::copy_") == 1
    assert plain == _steps(lambda: call(x), record_shapes=True) == _steps(lambda: call(x), profile_memory=True)


@pytest.mark.parametrize("name", COPIES)
def test_an_observed_copy_is_the_unobserved_one(name: str) -> None:
    x = torch.arange(12.0).reshape(3, 4).requires_grad_()
    alone = COPIES[name](x)
    with torch.profiler.profile():
        observed = COPIES[name](x)
    assert observed.tolist() == alone.tolist()
    assert observed.stride() == alone.stride()
    assert type(observed.grad_fn).__name__ == type(alone.grad_fn).__name__
    observed.sum().backward()
    assert x.grad is not None
    assert observed.data_ptr() != x.data_ptr()


def test_large_transposed_copies_write_every_element_once_even_into_their_own_memory() -> None:
    source = torch.arange(700 * 900.0).reshape(700, 900)
    wanted = np.ascontiguousarray(source.numpy().T)
    target = torch.empty(900, 700)
    target.copy_(source.t())
    assert np.array_equal(target.numpy(), wanted)
    square = torch.arange(800 * 800.0).reshape(800, 800)
    wanted = square.numpy().T.copy()
    square.copy_(square.t())
    assert np.array_equal(square.numpy(), wanted)
