"""Python numbers beside integer tensors: every op that takes numbers either wraps, or refuses with PyTorch's error."""

from __future__ import annotations

import pytest

import mindtorch_v2 as torch
from mindtorch_v2._dispatch.bind import make_call
from mindtorch_v2._ops import table

# PyTorch gives no gradient for integers. (The count of elements of a range is another matter.)
INEXACT_ONLY = {"elu_backward", "leaky_relu_backward", "softplus_backward"}
TAKING_NUMBERS = [
    name
    for name, op in table.OPS.items()
    if any(p.type == "Scalar" for p in op.schema.params)
    and not op.base.startswith(("_fused", "arange", "range"))
    and name not in INEXACT_ONLY
]


def _argument(p, dtype, number):
    if p.is_tensor:
        if p.name in ("index", "indices"):
            made = torch.zeros(2, 2, dtype=torch.int64)
        else:
            made = torch.ones(2, 2, dtype=torch.bool if p.name in ("mask", "condition") else dtype)
        return [made] if p.is_list else made
    simple = {"Scalar": number, "float": 0.5, "bool": False, "ScalarType": dtype, "Device": "cpu", "str": "floor"}
    if p.type in simple:
        return [simple[p.type]] if p.is_list else simple[p.type]
    return (2, 2) if p.is_list else 0 if p.type == "int" else None


@pytest.mark.parametrize(
    "dtype, number", [(torch.uint8, -3), (torch.uint8, 300), (torch.int8, 300), (torch.int32, 2**40)]
)
def test_no_op_stumbles_over_a_number_that_does_not_fit(dtype, number):
    stumbled = []
    for name in TAKING_NUMBERS:
        op = table.OPS[name]
        made = {p.name: _argument(p, dtype, number) for p in op.schema.params}
        try:
            make_call(op, "method")(
                *[made[p.name] for p in op.schema.params if not p.keyword_only],
                **{p.name: made[p.name] for p in op.schema.params if p.keyword_only},
            )
        except OverflowError:
            stumbled.append(name)
        except (RuntimeError, TypeError, NotImplementedError, IndexError, ValueError):
            pass  # an op that does not take such arguments at all
    assert stumbled == []


@pytest.mark.parametrize("value", [-1.0, -0.5, 255.5, float("nan"), float("inf")])
def test_a_float_must_fit_before_it_is_cut(value):
    """As in PyTorch: the integer -1 stands for the largest unsigned number, the float does not."""
    x = torch.ones(1, dtype=torch.uint8)
    assert x.clone().fill_(-1).tolist() == [255] and x.clone().fill_(2.5).tolist() == [2]
    for write in (lambda: x.clone().fill_(value), lambda: torch.nn.functional.pad(x, (1, 0), value=value)):
        with pytest.raises(RuntimeError, match="value cannot be converted to type uint8_t without overflow"):
            write()
    with pytest.raises(RuntimeError, match="without overflow"):
        torch.nn.functional.pad(x, (1, 0), value=-1)  # padding takes a float
