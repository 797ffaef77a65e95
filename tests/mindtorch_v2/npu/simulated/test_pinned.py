"""Host memory that devices reach directly: who makes it, who keeps it, when it is used again."""

from __future__ import annotations

import pytest

import mindtorch_v2 as torch

npu = torch.npu
x = torch.ones(3)
MAKERS = {
    "empty": lambda **k: torch.empty(9, **k),
    "empty of none": lambda **k: torch.empty(0, **k),
    "zeros": lambda **k: torch.zeros(2, 3, **k),
    "ones": lambda **k: torch.ones((2, 3), **k),
    "full": lambda **k: torch.full((2,), 7.0, **k),
    "full of an integer": lambda **k: torch.full((2,), 7, **k),
    "tensor": lambda **k: torch.tensor([1.0, 2.0], **k),
    "tensor of a tensor": lambda **k: torch.tensor(x.numpy(), **k),
    "empty_like": lambda **k: torch.empty_like(x, **k),
    "zeros_like": lambda **k: torch.zeros_like(x, **k),
    "ones_like": lambda **k: torch.ones_like(x, **k),
    "full_like": lambda **k: torch.full_like(x, 3.0, **k),
    "rand": lambda **k: torch.rand(3, **k),
    "randn": lambda **k: torch.randn(3, **k),
    "randint": lambda **k: torch.randint(9, (3,), **k),
    "randperm": lambda **k: torch.randperm(5, **k),
    "rand_like": lambda **k: torch.rand_like(x, **k),
    "randn_like": lambda **k: torch.randn_like(x, **k),
    "randint_like": lambda **k: torch.randint_like(x, 9, **k),
    "normal": lambda **k: torch.normal(0.0, 1.0, (3,), **k),
    "arange": lambda **k: torch.arange(5, **k),
    "arange of floats": lambda **k: torch.arange(0.0, 1.0, 0.25, **k),
    "linspace": lambda **k: torch.linspace(0, 1, 3, **k),
    "logspace": lambda **k: torch.logspace(0, 1, 3, **k),
    "eye": lambda **k: torch.eye(3, **k),
    "scalar_tensor": lambda **k: torch.scalar_tensor(2.0, **k),
    "empty_strided": lambda **k: torch.empty_strided((2, 3), (1, 2), **k),
    "tril_indices": lambda **k: torch.tril_indices(3, 3, **k),
    "channels_last": lambda **k: torch.empty(2, 3, 4, 4, memory_format=torch.channels_last, **k),
    "new_empty": lambda **k: x.new_empty(2, **k),
    "new_zeros": lambda **k: x.new_zeros(2, 2, **k),
    "new_ones": lambda **k: x.new_ones(2, **k),
    "new_full": lambda **k: x.new_full((2,), 3.0, **k),
    "new_tensor": lambda **k: x.new_tensor([2.0], **k),
    "new_empty_strided": lambda **k: x.new_empty_strided((2,), (1,), **k),
}


@pytest.mark.parametrize("name", MAKERS)
def test_every_function_that_makes_a_tensor_can_pin_it(name):
    torch.manual_seed(3)
    plain = MAKERS[name]()
    torch.manual_seed(3)
    pinned = MAKERS[name](pin_memory=True)
    assert pinned.is_pinned() and not plain.is_pinned() and not MAKERS[name](pin_memory=False).is_pinned()
    assert (pinned.shape, pinned.dtype, pinned.stride(), pinned.device) == (
        plain.shape,
        plain.dtype,
        plain.stride(),
        plain.device,
    )
    if "empty" not in name and name != "channels_last":
        assert torch.equal(pinned, plain)


def test_options_beside_it():
    made = torch.zeros(3, pin_memory=True, requires_grad=True)
    assert made.is_pinned() and made.requires_grad and made.is_leaf
    assert torch.tensor([1.0], pin_memory=True, requires_grad=True).requires_grad
    assert torch.zeros(3, pin_memory=True, dtype=torch.int64).dtype is torch.int64
    assert torch.zeros(3, pin_memory=True, device="meta").device.type == "meta"
    with pytest.raises(RuntimeError, match="Only dense CPU tensors can be pinned"):
        torch.zeros(3, pin_memory=True, device="npu")
    assert torch.ones(4, pin_memory=True)[1:].is_pinned() and not (torch.ones(4, pin_memory=True) + 1).is_pinned()
    turned = torch.arange(6.0).reshape(2, 3).t().pin_memory()
    assert turned.is_pinned() and turned.stride() == (1, 3) and turned.tolist() == [[0.0, 3.0], [1.0, 4.0], [2.0, 5.0]]


def test_packed_sequences():
    from mindtorch_v2.nn.utils.rnn import pack_sequence

    packed = pack_sequence([torch.ones(3), torch.ones(2)])
    assert (
        not packed.is_pinned()
        and packed.pin_memory().is_pinned()
        and packed.pin_memory().data.tolist() == packed.data.tolist()
    )


def test_while_a_profile_runs():
    with torch.profiler.profile() as prof:
        assert torch.zeros(4, pin_memory=True).is_pinned() and torch.zeros_like(x, pin_memory=True).is_pinned()
    assert "aten::zeros" in {e.name for e in prof.events()}


def test_copies_keep_no_events_while_the_tensor_lives(simulator):
    """However often a pinned tensor is copied: events are made when its memory is to be used again, and taken from
    those before.
    """
    pinned, target = torch.ones(100, pin_memory=True), torch.empty(100, device="npu")
    npu.synchronize()
    made = simulator.count("events_made")
    for _ in range(200):
        target.copy_(pinned, non_blocking=True)
    npu.synchronize()
    assert simulator.count("events_made") == made
    for _ in range(50):
        torch.ones(100, pin_memory=True).to("npu", non_blocking=True)
        npu.synchronize()
    assert simulator.count("events_made") <= made + 2


def test_memory_is_not_used_again_before_every_stream_has_passed(simulator):
    sides = [npu.Stream(), npu.Stream()]
    pinned = torch.full((500,), 3.0, pin_memory=True)
    address = pinned.data_ptr()
    copies = []
    with simulator.held(sides[0]):
        for side in sides:
            with npu.stream(side):
                copies.append(pinned.to("npu", non_blocking=True))
        del pinned
        sides[1].synchronize()
        others = [torch.full((500,), 9.0, pin_memory=True) for _ in range(3)]
        assert address not in {t.data_ptr() for t in others}
    npu.synchronize()
    assert [t.cpu().unique().tolist() for t in copies] == [[3.0], [3.0]]
    del others
    assert address in {t.data_ptr() for t in [torch.zeros(500, pin_memory=True) for _ in range(6)]}
