"""In-place writes whose other arguments are, or lie in, the memory that is written."""

import pytest

import mindtorch_v2 as torch

_VALUES = {
    "add_": [2.0, 4.0, 8.0],
    "sub_": [0.0, 0.0, 0.0],
    "mul_": [1.0, 4.0, 16.0],
    "div_": [1.0, 1.0, 1.0],
    "copy_": [1.0, 2.0, 4.0],
}


@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float16, torch.float32])
@pytest.mark.parametrize("name", _VALUES)
def test_a_tensor_as_both_arguments(name, dtype):
    x = torch.tensor([1.0, 2.0, 4.0], dtype=dtype)
    assert getattr(x, name)(x) is x
    assert x.tolist() == _VALUES[name]


@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float16, torch.float32])
def test_a_tensor_as_three_arguments(dtype):
    x = torch.tensor([1.0, 2.0, 4.0], dtype=dtype)
    assert x.addcmul_(x, x).tolist() == [2.0, 6.0, 20.0]
    torch._foreach_mul_([x], [x])
    assert x.tolist() == [4.0, 36.0, 400.0]


@pytest.mark.parametrize("name", ["mul_", "div_", "atan2_", "remainder_"])
def test_what_was_saved_of_the_other_argument_is_gone(name):
    leaf = torch.tensor([2.0, 3.0], requires_grad=True)
    x = leaf * 1
    getattr(x, name)(x)
    with pytest.raises(RuntimeError, match=r"is at version 1; expected version 0 instead"):
        x.sum().backward()


def test_a_view_as_the_other_argument():
    leaf = torch.tensor([[2.0, 3.0], [4.0, 5.0]], requires_grad=True)
    x = leaf * 1
    x.mul_(x[0])
    with pytest.raises(RuntimeError, match=r"modified by an inplace operation"):
        x.sum().backward()


def test_other_memory_is_no_error():
    leaf = torch.tensor([2.0, 3.0], requires_grad=True)
    x = leaf * 1
    x.mul_(x.clone())
    x.sum().backward()
    assert leaf.grad.tolist() == [4.0, 6.0]


def test_whole_numbers_get_no_gradient():
    source = torch.tensor([1.5, 2.5], requires_grad=True)
    whole = torch.zeros(2, dtype=torch.int64)
    whole.copy_(source)
    assert whole.tolist() == [1, 2] and not whole.requires_grad and whole.grad_fn is None
    whole[0] = source[1]
    assert whole.tolist() == [2, 2] and not whole.requires_grad


@pytest.mark.parametrize("name", ["remainder", "fmod", "floor_divide"])
def test_no_division_where_there_are_no_elements(name):
    assert getattr(torch.zeros(0, dtype=torch.int64), name)(0).shape == (0,)
    with pytest.raises(RuntimeError, match="ZeroDivisionError"):
        getattr(torch.zeros(1, dtype=torch.int64), name)(0)


def test_errors_of_writes():
    with pytest.raises(RuntimeError, match="Negation, the `-` operator, on a bool tensor is not supported"):
        torch.tensor([True]).neg_()
    with pytest.raises(RuntimeError, match="expected dtype c10::BFloat16 for `end` but got dtype double"):
        torch.ones(2, dtype=torch.bfloat16).lerp_(torch.ones(2, dtype=torch.float64), 0.5)


def test_results_keep_the_order_of_memory():
    x = torch.arange(6).reshape(2, 3).t()
    assert [f(x).stride() for f in (torch.isposinf, torch.floor, torch.round, torch.nan_to_num)] == [(1, 3)] * 4
