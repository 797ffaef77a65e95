"""Module: registration, traversal, state, conversion."""

from __future__ import annotations

import copy
import pickle
from collections import OrderedDict
from typing import Any

import pytest

import mindtorch_v2 as torch
from mindtorch_v2 import nn


class Net(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.fc = nn.Linear(3, 2)
        self.register_buffer("seen", torch.zeros(2))
        self.register_buffer("scratch", torch.zeros(2), persistent=False)
        self.scale = nn.Parameter(torch.ones(2))
        self.plain = torch.ones(1)

    def forward(self, x: Any) -> Any:
        return self.fc(x) * self.scale


def test_attributes_are_registered_by_their_kind() -> None:
    net = Net()
    assert [n for n, _ in net.named_parameters()] == ["scale", "fc.weight", "fc.bias"]
    assert [n for n, _ in net.named_buffers()] == ["seen", "scratch"]
    assert list(net.state_dict()) == ["scale", "seen", "fc.weight", "fc.bias"]
    assert "plain" in net.__dict__ and isinstance(net.fc, nn.Linear)


def test_a_name_moves_between_the_tables() -> None:
    net = Net()
    net.fc = None
    assert net.fc is None and [n for n, _ in net.named_modules()] == [""]
    net.plain = nn.Parameter(torch.ones(1))
    assert "plain" in dict(net.named_parameters()) and "plain" not in net.__dict__
    net.plain = nn.ReLU()
    assert "plain" not in dict(net.named_parameters()) and isinstance(net.plain, nn.ReLU)
    del net.plain
    with pytest.raises(AttributeError, match="'Net' object has no attribute 'plain'"):
        net.plain  # noqa: B018 - the access is the test


def test_buffers_can_be_assigned_by_class() -> None:
    net = nn.Module()
    net.a = nn.Buffer(torch.ones(2))
    net.b = nn.Buffer(torch.ones(2), persistent=False)
    assert list(net.state_dict()) == ["a"] and [n for n, _ in net.named_buffers()] == ["a", "b"]
    assert isinstance(net.a, nn.Buffer) and not isinstance(torch.ones(1), nn.Buffer)
    net.a = torch.zeros(2)
    assert net.state_dict()["a"].sum() == 0


@pytest.mark.parametrize("kind, value", [("parameters", lambda: nn.Parameter(torch.ones(1))), ("module", nn.ReLU)])
def test_registration_needs_init(kind: str, value: Any) -> None:
    class Bare(nn.Module):
        def __init__(self) -> None:
            self.part = value()

    with pytest.raises(AttributeError, match=f"cannot assign {kind} before Module.__init__"):
        Bare()


def test_dir_lists_children() -> None:
    assert {"fc", "scale", "seen", "forward", "training"} <= set(dir(Net()))


def test_paths() -> None:
    net = nn.Sequential(OrderedDict(a=Net()))
    assert net.get_submodule("a.fc") is net.a.fc and net.get_submodule("") is net
    assert net.get_parameter("a.fc.weight") is net.a.fc.weight
    assert net.get_buffer("a.seen") is net.a.seen
    net.set_submodule("a.fc", nn.Identity())
    assert isinstance(net.a.fc, nn.Identity)


def test_shared_modules_are_listed_once() -> None:
    part = nn.Linear(2, 2)
    net = nn.Sequential(part, nn.ReLU(), part)
    assert [n for n, _ in net.named_modules()] == ["", "0", "1"]
    assert [n for n, _ in net.named_modules(remove_duplicate=False)] == ["", "0", "1", "2"]
    assert len(list(net.parameters())) == 2 and len(net.state_dict()) == 4


def test_train_and_eval_reach_all() -> None:
    net = nn.Sequential(nn.Dropout(), Net())
    net.eval()
    assert not any(m.training for m in net.modules())
    net.train()
    assert all(m.training for m in net.modules())


def test_apply_returns_the_module_and_goes_bottom_up() -> None:
    names: list[str] = []
    net = nn.Sequential(nn.Linear(1, 1))
    assert net.apply(lambda m: names.append(type(m).__name__)) is net
    assert names == ["Linear", "Sequential"]


def test_to_keeps_parameters_and_casts_only_floats() -> None:
    net = nn.BatchNorm1d(2)
    weight = net.weight
    net(torch.ones(3, 2) + torch.arange(3.0).unsqueeze(1)).sum().backward()
    net.to(torch.float64)
    assert net.weight is weight and weight.dtype is torch.float64 and weight.grad.dtype is torch.float64
    assert net.num_batches_tracked.dtype is torch.int64 and net.running_mean.dtype is torch.float64
    assert net.float().weight.dtype is torch.float32 and net.half().weight.dtype is torch.float16


def test_meta_modules_have_shapes_and_no_data() -> None:
    net = nn.Linear(3, 2, device="meta")
    assert net.weight.is_meta and net(torch.empty(4, 3, device="meta")).shape == (4, 2)
    with pytest.raises(NotImplementedError, match="to_empty"):
        net.to("cpu")
    assert not net.to_empty(device="cpu").weight.is_meta


def test_state_dict_shares_memory_and_carries_versions() -> None:
    net = nn.Sequential(nn.Linear(2, 2), nn.BatchNorm1d(2))
    state = net.state_dict()
    assert state["0.weight"].data_ptr() == net[0].weight.data_ptr() and not state["0.weight"].requires_grad
    assert state._metadata["1"] == {"version": 2}
    assert net.state_dict(keep_vars=True)["0.weight"] is net[0].weight


def test_load_copies_in_place() -> None:
    net, other = Net(), Net()
    weight = net.fc.weight
    assert str(net.load_state_dict(other.state_dict())) == "<All keys matched successfully>"
    assert net.fc.weight is weight and torch.equal(weight, other.fc.weight)


def test_failed_keys_do_not_stop_the_others() -> None:
    net = nn.Linear(2, 2)
    with pytest.raises(RuntimeError, match="size mismatch for weight"):
        net.load_state_dict({"weight": torch.ones(3, 3), "bias": torch.full((2,), 7.0)})
    assert net.bias.tolist() == [7, 7]


def test_old_batch_norm_states_load_without_a_counter() -> None:
    net = nn.BatchNorm1d(2)
    state = {k: v for k, v in net.state_dict().items() if k != "num_batches_tracked"}
    net.load_state_dict(state)
    assert int(net.num_batches_tracked) == 0


def test_extra_state() -> None:
    class Extra(nn.Module):
        value = 0

        def get_extra_state(self) -> int:
            return self.value

        def set_extra_state(self, state: int) -> None:
            self.value = state

    one, two = Extra(), Extra()
    one.value = 5
    assert one.state_dict() == {"_extra_state": 5}
    two.load_state_dict(one.state_dict())
    assert two.value == 5


def test_state_dict_hooks() -> None:
    net, seen = nn.Linear(2, 2), []
    net.register_state_dict_pre_hook(lambda m, prefix, keep: seen.append("pre"))
    net.register_state_dict_post_hook(lambda m, state, prefix, meta: state.update(more=torch.ones(1)))
    net.register_load_state_dict_pre_hook(lambda m, state, *rest: state.pop("more"))
    net.register_load_state_dict_post_hook(lambda m, keys: seen.append(list(keys.missing_keys)))
    state = net.state_dict()
    assert "more" in state
    net.load_state_dict(state)
    assert seen == ["pre", []]


def test_deepcopy_and_pickle_make_independent_modules() -> None:
    net = Net()
    for copied in (copy.deepcopy(net), pickle.loads(pickle.dumps(net))):
        assert torch.equal(copied.fc.weight, net.fc.weight) and copied.fc.weight is not net.fc.weight
        copied.fc.weight.data.zero_()
        assert net.fc.weight.abs().sum() > 0
        assert list(copied.state_dict()) == list(net.state_dict())


def test_zero_grad() -> None:
    net = nn.Linear(2, 1)
    net(torch.ones(1, 2)).sum().backward()
    net.zero_grad(set_to_none=False)
    assert net.weight.grad.tolist() == [[0, 0]]
    net.zero_grad()
    assert net.weight.grad is None


def test_repr_of_nested_modules() -> None:
    class Told(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.part = nn.Sequential(nn.ReLU())

        def extra_repr(self) -> str:
            return "a=1\nb=2"

    assert repr(Told()) == "Told(\n  a=1\n  b=2\n  (part): Sequential(\n    (0): ReLU()\n  )\n)"


def test_registration_hooks_may_replace() -> None:
    from mindtorch_v2.nn.modules.module import register_module_parameter_registration_hook

    with register_module_parameter_registration_hook(
        lambda m, name, p: None if p is None else nn.Parameter(p.detach() * 0)
    ):
        assert nn.Linear(2, 2).weight.abs().sum() >= 0
    net = nn.Linear(2, 2)
    assert net.weight.abs().sum() > 0
