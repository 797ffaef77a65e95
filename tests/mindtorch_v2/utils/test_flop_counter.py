"""`utils.flop_counter`: counts per operator and module; the figures are PyTorch's."""

from __future__ import annotations

import pytest

import mindtorch_v2 as torch
from mindtorch_v2.nn import functional as F  # noqa: F401 - cases use it
from mindtorch_v2.utils import flop_counter
from mindtorch_v2.utils.flop_counter import FlopCounterMode, register_flop_formula

aten = torch.ops.aten
CASES = [
    ("torch.mm(T(4,5),T(5,6))", {"aten.mm": 240}, {"aten.mm": 480}),
    ("torch.addmm(T(6),T(4,5),T(5,6),beta=0.5)", {"aten.addmm": 240}, {"aten.mm": 480}),
    ("torch.bmm(T(3,4,5),T(3,5,6))", {"aten.bmm": 720}, {"aten.bmm": 1440}),
    ("torch.baddbmm(T(3,4,6),T(3,4,5),T(3,5,6))", {"aten.baddbmm": 720}, {"aten.bmm": 1440}),
    ("torch.matmul(T(2,3,4),T(4,5))", {"aten.mm": 240}, {"aten.mm": 480}),
    ("torch.einsum('ab,bc->ac',T(6,7),T(7,8))", {"aten.bmm": 672}, {"aten.bmm": 1344}),
    ("F.linear(T(5,4),T(3,4),T(3))", {"aten.addmm": 120}, {"aten.mm": 240}),
    ("F.conv1d(T(2,3,6),T(6,3,4),padding=1)", {"aten.convolution": 1440}, {"aten.convolution_backward": 2880}),
    ("F.conv2d(T(2,3,6,6),T(6,3,4,4),padding=1)", {"aten.convolution": 28800}, {"aten.convolution_backward": 57600}),
    ("F.conv3d(T(1,2,4,4,4),T(3,2,2,2,2))", {"aten.convolution": 2592}, {"aten.convolution_backward": 5184}),
    ("F.conv2d(T(2,4,6,6),T(6,2,3,3),groups=2)", {"aten.convolution": 6912}, {"aten.convolution_backward": 20736}),
    (
        "F.conv2d(T(2,3,7,7),T(6,3,3,3),stride=2,dilation=2)",
        {"aten.convolution": 2592},
        {"aten.convolution_backward": 5184},
    ),
    (
        "F.conv_transpose2d(T(1,4,5,5),T(4,6,2,2),stride=2)",
        {"aten.convolution": 4800},
        {"aten.convolution_backward": 9600},
    ),
    ("F.conv_transpose1d(T(1,4,5),T(4,6,2))", {"aten.convolution": 480}, {"aten.convolution_backward": 960}),
    ("T(4)*T(4)", {}, {}),
    ("torch.mm(T(4,5).detach(),T(5,6).detach(),out=torch.empty(4,6))", {"aten.mm": 240}, {}),
    ("(T(4,5)@T(5,4))@T(4,5)", {"aten.mm": 320}, {"aten.mm": 640}),
    ("T(5)@T(5)", {}, {}),
    ("T(4,5)@T(5)", {}, {}),
    ("torch.nn.LSTM(4,3)(T(5,2,4))[0]", {}, {}),
    (
        "torch.nn.MultiheadAttention(8,2)(T(3,1,8),T(3,1,8),T(3,1,8),need_weights=True)[0]",
        {"aten.addmm": 1536, "aten.bmm": 288},
        {"aten.mm": 3072, "aten.bmm": 576},
    ),
]


def T(*shape):
    return torch.rand(*shape, requires_grad=True)


def counted(body):
    with FlopCounterMode(display=False) as mode:
        result = body()
    return result, {str(op): n for op, n in mode.get_flop_counts().get("Global", {}).items()}


@pytest.mark.parametrize("call, forward, backward", CASES)
def test_forward_and_backward(call, forward, backward):
    result, found = counted(lambda: eval(call))
    assert found == forward
    if result.requires_grad:
        assert counted(lambda: result.sum().backward())[1] == backward


def test_attention_is_two_products_forward_and_five_backward():
    q, k, v = T(2, 3, 4, 8), T(2, 3, 5, 8), T(2, 3, 5, 8)
    one = 2 * (2 * 3) * 4 * 8 * 5
    name = "aten._scaled_dot_product_flash_attention_for_cpu"
    result, found = counted(lambda: F.scaled_dot_product_attention(q, k, v))
    assert found == {name: 2 * one} and counted(lambda: result.sum().backward())[1] == {f"{name}_backward": 5 * one}
    assert flop_counter.sdpa_flop_count((2, 32, 8, 4), (2, 8, 8, 4), (2, 8, 8, 4)) == flop_counter.sdpa_flop_count(
        *[(2, 32, 8, 4)] * 3
    )
    with pytest.raises(AssertionError, match="do not fit"):
        flop_counter.sdpa_flop_count((2, 32, 8, 4), (2, 5, 8, 4), (2, 5, 8, 4))


def test_modules_own_their_forward_and_their_backward():
    model = torch.nn.Sequential(torch.nn.Linear(4, 3), torch.nn.ReLU(), torch.nn.Sequential(torch.nn.Linear(3, 2)))
    x = torch.rand(5, 4)
    with FlopCounterMode(display=False) as mode:
        model(x).sum().backward()
        torch.mm(x, x.t())
    assert mode.get_flop_counts() == {
        "Global": {aten.addmm: 180, aten.mm: 440},
        "Sequential": {aten.addmm: 180, aten.mm: 240},
        "Sequential.0": {aten.addmm: 120, aten.mm: 120},
        "Sequential.2": {aten.addmm: 60, aten.mm: 120},
        "Sequential.2.0": {aten.addmm: 60, aten.mm: 120},
    }
    assert mode.get_total_flops() == 620
    assert [line.split() for line in mode.get_table(1).splitlines()[2:]] == [
        ["Global", "620.000", "100.00%"],
        ["-", "aten.addmm", "180.000", "29.03%"],
        ["-", "aten.mm", "440.000", "70.97%"],
        ["Sequential", "420.000", "67.74%"],
        ["-", "aten.addmm", "180.000", "29.03%"],
        ["-", "aten.mm", "240.000", "38.71%"],
    ]


def test_a_forward_that_raises_leaves_its_module():
    class Broken(torch.nn.Module):
        def forward(self, x):
            raise ValueError

    with FlopCounterMode(display=False) as mode:
        with pytest.raises(ValueError):
            Broken()(1)
        torch.mm(torch.ones(2, 2), torch.ones(2, 2))
    assert list(mode.get_flop_counts()) == ["Global"]


def test_entering_again_begins_at_zero_and_nothing_stays_behind(capsys):
    mode = FlopCounterMode()
    for size in (2, 3):
        with mode:
            torch.mm(torch.ones(size, size), torch.ones(size, size))
    assert mode.get_total_flops() == 54
    assert [line.split()[0] for line in capsys.readouterr().out.splitlines()] == [
        "Module",
        "----------",
        "Global",
        "-",
    ] * 2
    torch.mm(torch.ones(2, 2), torch.ones(2, 2))
    assert mode.get_total_flops() == 54 and torch._observer.active is None


def test_own_formulas_see_shapes_or_values():
    seen = []

    def by_shape(*args, out_shape, **kwargs):
        seen.append((args, out_shape, kwargs))
        return 5

    def by_value(*args, out_val, **kwargs):
        return out_val.numel()

    by_value._get_raw = True
    x = torch.ones(4, 5)
    with FlopCounterMode(display=False, custom_mapping={aten.add: by_shape, aten.exp: by_value}) as mode:
        torch.add(x, x, alpha=2)
        x.exp()
    assert mode.get_flop_counts()["Global"] == {aten.add: 5, aten.exp: 20}
    assert seen == [(((4, 5), (4, 5)), (4, 5), {"alpha": 2})]


@pytest.fixture
def registry():
    """The table of formulas, as it was before when the test ends."""
    table = flop_counter.flop_registry
    before = dict(table)
    yield table
    table.clear()
    table.update(before)


def test_registering(registry):
    with pytest.raises(ValueError, match="expected each target to be OpOverloadPacket"):
        register_flop_formula(aten.tanh.default)(lambda x: x)
    with pytest.raises(RuntimeError, match="duplicate registrations for aten.mm"):
        register_flop_formula(aten.mm)(lambda x: x)

    @register_flop_formula([aten.tanh, aten.sin])
    def formula(shape, out_shape=None, **kwargs):
        return 3 * shape.numel()

    assert counted(lambda: torch.ones(4).tanh())[1] == {"aten.tanh": 12}


def test_text():
    assert [flop_counter.get_suffix_str(n) for n in (0, 999, 1000, 10**5, 10**7, 10**12)] == ["", "", "", "K", "M", "B"]
    assert (
        flop_counter.convert_num_with_suffix(1234, "K") == "1.234K"
        and flop_counter.convert_to_percent_str(1, 0) == "0%"
    )
    with pytest.warns(UserWarning, match="not needed"):
        FlopCounterMode(torch.nn.Linear(2, 2))
