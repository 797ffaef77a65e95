"""Nested tensors: every operator gives what it gives part by part, gradients reach the parts, the rest is refused."""

from __future__ import annotations

import copy
import pickle

import pytest

import mindtorch_v2 as torch
from mindtorch_v2 import nn
from mindtorch_v2.nn import functional as F

LAYOUTS = [torch.strided, torch.jagged]


def parts(*lengths, width=4, dtype=torch.float64):
    torch.manual_seed(0)
    return [torch.randn(n, width, dtype=dtype) for n in lengths]


def assert_parts(nested, expected):
    found = nested.unbind()
    assert len(found) == len(expected)
    for a, b in zip(found, expected):
        assert a.shape == b.shape
        assert torch.allclose(a, b, rtol=1e-12, atol=1e-12)


WEIGHT = torch.linspace(-1, 1, 12, dtype=torch.float64).view(3, 4)
FUNCTIONS = {
    "exp": torch.exp,
    "gelu": F.gelu,
    "scaled": lambda x: x * 2.5 + 1,
    "power": lambda x: x**2,
    "reverse": lambda x: 1 - x,
    "itself": lambda x: x * x,
    "linear": lambda x: F.linear(x, WEIGHT),
    "matmul": lambda x: x @ WEIGHT.t(),
    "softmax": lambda x: x.softmax(-1),
    "log_softmax": lambda x: F.log_softmax(x, -1),
    "layer_norm": lambda x: F.layer_norm(x, (4,), torch.ones(4, dtype=x.dtype)),
    "sum": lambda x: x.sum(-1),
    "mean": lambda x: x.mean(-1, keepdim=True),
    "unsqueeze": lambda x: x.unsqueeze(-1),
    "unflatten": lambda x: x.unflatten(-1, [2, 2]),
    "flatten": lambda x: x.unflatten(-1, [2, 2]).flatten(-2),
    "transpose": lambda x: x.transpose(-1, -2),
    "heads": lambda x: x.unflatten(-1, [2, 2]).transpose(-3, -2) * 2,
    "masked_fill": lambda x: x.masked_fill(x > 0, 0.0),
    "joined": lambda x: torch.cat([x, x + 1], -1),
    "chunk": lambda x: x.chunk(2, -1)[1],
    "single": lambda x: x.to(torch.float32).to(torch.float64),
    "embedding": lambda x: F.embedding((x > 0).to(torch.int64), WEIGHT),
}


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("name", FUNCTIONS)
def test_functions_work_part_by_part(layout, name):
    function = FUNCTIONS[name]
    given = parts(2, 5, 1)
    assert_parts(function(torch.nested.nested_tensor(given, layout=layout)), [function(part) for part in given])


@pytest.mark.parametrize("layout", LAYOUTS)
def test_gradients_reach_the_parts(layout):
    leaves = [part.requires_grad_() for part in parts(2, 3)]
    made = F.linear(torch.nested.as_nested_tensor(leaves, layout=layout), WEIGHT)
    (made * made).to_padded_tensor(0.0).sum().backward()
    for leaf in leaves:
        assert torch.allclose(leaf.grad, 2 * (leaf @ WEIGHT.t()) @ WEIGHT)


@pytest.mark.parametrize("layout", LAYOUTS)
def test_a_leaf_has_a_nested_gradient(layout):
    x = torch.nested.nested_tensor(parts(2, 1), layout=layout, requires_grad=True)
    (x * 3).unbind()[0].sum().backward()
    assert x.is_leaf
    assert [g.unique().tolist() for g in x.grad.unbind()] == [[3.0], [0.0]]


@pytest.mark.parametrize("layout", LAYOUTS)
def test_attention_stays_within_the_parts(layout):
    given = parts(3, 5)

    def attend(x):
        heads = x.unflatten(-1, [2, 2]).transpose(-3, -2)
        return F.scaled_dot_product_attention(heads, heads, heads).transpose(-3, -2).flatten(-2)

    assert_parts(attend(torch.nested.nested_tensor(given, layout=layout)), [attend(part) for part in given])


def test_padding_and_sizes():
    x = torch.nested.nested_tensor([[1.0, 2.0], [3.0]], layout=torch.jagged)
    assert torch.nested.to_padded_tensor(x, -1.0).tolist() == [[1.0, 2.0], [3.0, -1.0]]
    assert x.to_padded_tensor(0.0, (2, 3)).tolist() == [[1.0, 2.0, 0.0], [3.0, 0.0, 0.0]]
    with pytest.raises(RuntimeError, match="Truncation"):
        x.to_padded_tensor(0.0, (2, 1))
    assert (x.dim(), x.numel(), len(x), x.size(0), x.is_nested, x.layout) == (2, 3, 2, 2, True, torch.jagged)
    assert x.offsets().tolist() == [0, 2, 3]
    assert x.values().tolist() == [1.0, 2.0, 3.0]
    with pytest.raises(RuntimeError, match="no single value"):
        int(x.size(1))
    y = torch.nested.nested_tensor(parts(2, 3))
    assert (y.size(-1), y._nested_tensor_size().tolist()) == (4, [[2, 4], [3, 4]])
    with pytest.raises(RuntimeError, match="Given dimension 1 is irregular"):
        y.size(1)


def test_jagged_tensors_over_packed_values():
    values = torch.arange(6.0).view(3, 2)
    x = torch.nested.nested_tensor_from_jagged(values, torch.tensor([0, 1, 3]))
    y = torch.nested.nested_tensor_from_jagged(values, lengths=torch.tensor([1, 2]))
    for nested in (x, y):
        assert [part.tolist() for part in nested.unbind()] == [[[0.0, 1.0]], [[2.0, 3.0], [4.0, 5.0]]]
    x.values().add_(1)
    assert values[0].tolist() == [1.0, 2.0]  # not a copy
    rows = torch.nested.narrow(
        torch.arange(6.0).view(2, 3), 1, torch.tensor([0, 1]), torch.tensor([2, 1]), torch.jagged
    )
    assert [part.tolist() for part in rows.unbind()] == [[0.0, 1.0], [4.0]]
    chosen = torch.nested.masked_select(torch.arange(4.0).view(2, 2), torch.tensor([[True, False], [True, True]]))
    assert [part.tolist() for part in chosen.unbind()] == [[0.0], [2.0, 3.0]]


@pytest.mark.parametrize("layout", LAYOUTS)
def test_copies_and_pickles(layout):
    x = torch.nested.nested_tensor(parts(2, 1), layout=layout)
    for other in (copy.deepcopy(x), pickle.loads(pickle.dumps(x)), x.clone()):
        assert other.layout is layout
        assert_parts(other, x.unbind())


def test_what_cannot_work_is_refused():
    x = torch.nested.nested_tensor(parts(2, 1), layout=torch.jagged)
    with pytest.raises(NotImplementedError, match="no implementation for nested tensors"):
        torch.cumsum(x, 1)
    with pytest.raises(RuntimeError, match="ragged dim"):
        x.sum(1)
    with pytest.raises(RuntimeError, match="different sizes"):
        x + torch.nested.nested_tensor(parts(1, 2), layout=torch.jagged)
    with pytest.raises(RuntimeError, match="no single array"):
        x.numpy()
    with pytest.raises(RuntimeError, match="more than one ragged dimension"):
        torch.nested.nested_tensor([torch.ones(2, 3), torch.ones(1, 2)], layout=torch.jagged)
    with pytest.raises(RuntimeError, match="same dimension"):
        torch.nested.nested_tensor([torch.ones(2), torch.ones(1, 2)])
    with pytest.raises(RuntimeError, match="layout is unsupported"):
        torch.nested.nested_tensor([torch.ones(2)], layout=torch.sparse_coo)


IN_PLACE = [
    lambda x: nn.functional.relu(x, inplace=True),
    lambda x: nn.functional.leaky_relu(x, 0.01, True),
    lambda x: nn.functional.dropout(x, 0.0, True, True),
    lambda x: nn.ReLU(inplace=True)(x),
    lambda x: x.mul_(2).add_(x),
]


@pytest.mark.parametrize("change", IN_PLACE)
@pytest.mark.parametrize("layout", LAYOUTS)
def test_functions_of_elements_write_in_place(layout, change):
    x = torch.nested.nested_tensor([part - 2 for part in parts(2, 1)], layout=layout)
    expected = [change(part.clone()) for part in x.unbind()]
    assert change(x) is x
    assert_parts(x, expected)


def test_modules_of_elements():
    x = torch.nested.nested_tensor(parts(2, 1), layout=torch.jagged)
    for module in (nn.Dropout(0.0), nn.Hardswish(), nn.ReLU6(), nn.SELU(), nn.Softshrink(), nn.CELU()):
        assert_parts(module(x), [module(part) for part in x.unbind()])
