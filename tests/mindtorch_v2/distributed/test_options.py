"""What programs import and tell, in one process."""

from __future__ import annotations

import pytest

import mindtorch_v2 as torch
from mindtorch_v2 import nn
from mindtorch_v2.distributed import fsdp
from mindtorch_v2.distributed.checkpoint.state_dict import StateDictOptions, get_state_dict, set_state_dict
from mindtorch_v2.distributed.elastic.multiprocessing.errors import record


def test_options_that_ask_for_nothing_are_taken_and_others_refused() -> None:
    asks = fsdp.api.asks_for_something
    taken = (None, fsdp.CPUOffload(), fsdp.OffloadPolicy())
    assert not any(asks(value) for value in taken)
    refused = (fsdp.CPUOffload(offload_params=True), fsdp.CPUOffloadPolicy())
    assert all(asks(value) for value in refused)
    with pytest.raises(NotImplementedError, match="cpu_offload is not supported"):
        fsdp.FullyShardedDataParallel(nn.Linear(2, 2), cpu_offload=refused[0])
    context = fsdp.FullyShardedDataParallel.state_dict_type(nn.Linear(2, 2), fsdp.StateDictType.SHARDED_STATE_DICT)
    with pytest.raises(NotImplementedError, match="a state dict holds whole tensors"), context:
        pass


def _stepped(seed: int) -> tuple[nn.Module, torch.optim.Optimizer]:
    torch.manual_seed(seed)
    model = nn.Linear(3, 2)
    optimizer = torch.optim.Adam(model.parameters(), lr=0.1 * (seed + 1))
    model(torch.ones(1, 3)).sum().backward()
    optimizer.step()
    return model, optimizer


def test_states_of_a_model_and_its_optimizer_are_set() -> None:
    (model, optimizer), (other, empty) = _stepped(0), _stepped(1)
    whole = StateDictOptions(full_state_dict=True)
    state, moments = get_state_dict(model, optimizer, options=whole)
    set_state_dict(other, empty, model_state_dict=state, optim_state_dict=moments, options=whole)
    assert torch.equal(other.weight, model.weight) and empty.param_groups[0]["lr"] == 0.1
    assert torch.equal(empty.state[other.weight]["exp_avg"], optimizer.state[model.weight]["exp_avg"])


def test_an_optimizer_that_has_not_stepped_gets_a_state_to_be_loaded_into() -> None:
    torch.manual_seed(0)
    model = nn.Linear(3, 2)
    before = model.weight.tolist()
    optimizer = torch.optim.AdamW(model.parameters(), lr=0.1)
    _, state = get_state_dict(model, optimizer)
    assert [sorted(held) for held in state["state"].values()] == [["exp_avg", "exp_avg_sq", "step"]] * 2
    assert state["state"]["weight"]["exp_avg"].tolist() == [[0.0] * 3] * 2 and optimizer.param_groups[0]["lr"] == 0.1
    assert model.weight.tolist() == before and model.weight.grad is None


def test_record_passes_on_what_the_function_gives_and_raises() -> None:
    assert record(divmod)(7, 2) == (3, 1)
    with pytest.raises(ZeroDivisionError):
        record(divmod)(1, 0)
