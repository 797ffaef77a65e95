"""Classes that derive from Tensor: how they are made, what their operators give, and who is asked."""

from __future__ import annotations

import copy
import pickle
import threading

import pytest

import mindtorch_v2 as torch
import mindtorch_v2.nn.functional as F
from mindtorch_v2.overrides import (
    DisableTorchFunctionSubclass,
    handle_torch_function,
    has_torch_function,
    is_tensor_like,
)


class Plain(torch.Tensor):
    pass


class Derived(Plain):
    pass


class Other(torch.Tensor):
    pass


class Tagged(torch.Tensor):
    def __new__(cls, data, tag=None):
        return super().__new__(cls, data)

    def __init__(self, data, tag=None):
        super().__init__()
        self.tag = tag


class Logged(torch.Tensor):
    log: list = []

    @classmethod
    def __torch_function__(cls, func, types, args=(), kwargs=None):
        cls.log.append((func, types, len(args), sorted(kwargs or {})))
        return super().__torch_function__(func, types, args, kwargs)


class Answers(torch.Tensor):
    @classmethod
    def __torch_function__(cls, func, types, args=(), kwargs=None):
        return {torch.mean: "mean", torch.Tensor.sum: "sum"}.get(func, NotImplemented)


# --- making
@pytest.mark.parametrize("make", [torch.Tensor, torch.FloatTensor, Plain, lambda t: t.as_subclass(Plain)])
def test_constructors_keep_the_graph(make):
    leaf = torch.ones(2, requires_grad=True)
    made = make(leaf)
    assert made.requires_grad and not made.is_leaf and made.grad_fn.name() == "AliasBackward0"
    made.backward(torch.tensor([2.0, 3.0]))
    assert leaf.grad.tolist() == [2.0, 3.0]
    assert made.data_ptr() == leaf.data_ptr()


@pytest.mark.parametrize("dtype", [torch.int64, torch.float64])
def test_a_tensor_of_another_type_keeps_it(dtype):
    assert torch.Tensor(torch.ones(2, dtype=dtype)).dtype is dtype
    assert Plain(torch.ones(2, dtype=dtype)).dtype is dtype


def test_init_is_called_with_what_the_class_was_called_with():
    made = Tagged([1.0, 2.0], tag="a")
    assert type(made) is Tagged and made.tag == "a" and made.tolist() == [1.0, 2.0]
    assert Tagged(torch.ones(1)).tag is None
    with pytest.raises(TypeError):
        Tagged([1.0], colour="red")


def test_make_subclass_leaves_the_graph():
    leaf = torch.ones(2, requires_grad=True)
    made = torch.Tensor._make_subclass(Plain, leaf * 2)
    assert type(made) is Plain and not made.requires_grad
    assert torch.Tensor._make_subclass(Plain, leaf, True).is_leaf


def test_sizes_and_nothing():
    assert Plain(2, 3).shape == (2, 3) and type(Plain(2, 3)) is Plain
    assert Plain().shape == (0,)


def test_as_subclass_wants_a_tensor_class():
    with pytest.raises(TypeError, match="cls must be a type"):
        torch.ones(1).as_subclass(3)


# --- results
@pytest.mark.parametrize(
    "call",
    [
        lambda x: x + 1,
        lambda x: 1 - x,
        lambda x: torch.add(x, 1),
        lambda x: torch.ones(2, 2) * x,
        lambda x: x.sum(),
        lambda x: x[0],
        lambda x: x.max(0).values,
        lambda x: torch.sort(x)[1],
        lambda x: torch.stack([x, torch.ones(2, 2)]),
        lambda x: torch.cat([torch.ones(1, 2), x]),
        lambda x: F.relu(x),
        lambda x: F.linear(torch.ones(1, 2), x),
        lambda x: torch.nn.Linear(2, 1)(x),
        lambda x: x.clone(),
        lambda x: x.double(),
        lambda x: x.view(4),
        lambda x: x.T,
        lambda x: x.mT,
        lambda x: torch.zeros_like(x),
        lambda x: x.new_zeros(2),
        lambda x: x == x,
        lambda x: x @ x,
        lambda x: torch.einsum("ij->ji", x),
        lambda x: torch.linalg.norm(x),
        lambda x: x.split(1)[0],
        lambda x: list(x)[0],
        lambda x: F.dropout(x),
        lambda x: x.add_(1),
        lambda x: x.data,
        lambda x: x.detach(),
        lambda x: F.layer_norm(x, (2,)),
        lambda x: torch.where(x > 0, x, 0),
    ],
)
def test_results_are_of_the_class(call):
    assert type(call(Plain([[1.0, 2.0], [3.0, 4.0]]))) is Plain


def test_values_and_gradients_are_those_of_plain_tensors():
    x, y = Plain([1.0, 2.0, 3.0]).requires_grad_(), torch.tensor([1.0, 2.0, 3.0], requires_grad=True)
    for t in (x, y):
        (torch.exp(t) * t).sum().backward()
    assert x.grad.tolist() == y.grad.tolist() and type(x.grad) is torch.Tensor
    second = torch.autograd.grad((x**3).sum(), x, create_graph=True)[0]
    assert type(second) is Plain
    assert torch.autograd.grad(second.sum(), x)[0].tolist() == [6.0, 12.0, 18.0]


def test_in_place_keeps_the_object():
    x = Plain([1.0, 2.0])
    before = x
    x += 1
    x[0] = 7
    assert x is before and type(x) is Plain and x.tolist() == [7.0, 3.0]
    target = torch.zeros(2)
    target.copy_(x)
    assert type(target) is torch.Tensor and target.tolist() == [7.0, 3.0]


def test_the_more_derived_class_wins_and_strangers_refuse():
    assert type(Plain([1.0]) + Derived([1.0])) is Derived and type(Derived([1.0]) + Plain([1.0])) is Derived
    with pytest.raises(TypeError, match="unsupported operand"):
        Plain([1.0]) + Other([1.0])
    with pytest.raises(TypeError, match="Multiple dispatch failed for 'torch.mul'"):
        torch.mul(Plain([1.0]), Other([1.0]))


def test_parameters_and_buffers_give_plain_tensors():
    class Weight(torch.nn.Parameter):
        pass

    weight = Weight(torch.ones(2))
    assert type(weight) is Weight and type(weight + 1) is torch.Tensor
    assert type(torch.nn.Parameter(torch.ones(2)) + 1) is torch.Tensor
    assert type(torch.nn.Buffer(torch.ones(2)) + 1) is torch.Tensor


def test_text_and_copies():
    x = Tagged([1.0], tag=[3])
    assert repr(x) == "Tagged([1.])"
    for made in (copy.deepcopy(x), copy.copy(x), pickle.loads(pickle.dumps(x))):
        assert type(made) is Tagged and made.tag == [3] and made.tolist() == [1.0]
        assert type(made + 1) is Tagged


# --- asking
def test_functions_and_methods_are_told_apart():
    x = Logged([3.0, 4.0])
    Logged.log.clear()
    (
        x + 1,
        torch.add(x, 1),
        x.mul_(2),
        F.linear(torch.ones(1, 2), Logged([[1.0, 2.0]])),
        torch.sub(1, x, alpha=2),
        torch.stack([x, x]),
    )
    assert Logged.log == [
        (torch.Tensor.add, (Logged,), 2, []),
        (torch.add, (Logged,), 2, []),
        (torch.Tensor.mul_, (Logged,), 2, []),
        (F.linear, (Logged,), 2, []),
        (torch.sub, (Logged,), 2, ["alpha"]),
        (torch.stack, (Logged,), 1, []),
    ]


def test_a_class_may_answer_itself_or_not_at_all():
    x = Answers([1.0])
    assert torch.mean(x) == "mean" and x.sum() == "sum"
    with pytest.raises(TypeError, match="Multiple dispatch failed for 'torch.exp'"):
        torch.exp(x)
    with pytest.raises(TypeError, match="unsupported operand"):
        x + 1


def test_nobody_is_asked_inside_a_pause():
    x = Logged([1.0])
    Logged.log.clear()
    with DisableTorchFunctionSubclass():
        assert type(x + 1) is torch.Tensor and type(torch.stack([x])) is torch.Tensor and not has_torch_function((x,))
    assert Logged.log == [] and has_torch_function((torch.ones(1), [x]))
    seen: list = []
    thread = threading.Thread(target=lambda: seen.append(type(x + 1)))
    with DisableTorchFunctionSubclass():
        thread.start()
        thread.join()
    assert seen == [Logged]


def test_functions_of_a_program_can_be_overridden():
    def twice(x):
        return handle_torch_function(twice, (x,), x) if has_torch_function((x,)) else x * 2

    x = Logged([1.0])
    Logged.log.clear()
    assert type(twice(x)) is Logged and Logged.log[0] == (twice, (Logged,), 1, [])
    assert is_tensor_like(x) and is_tensor_like(torch.ones(1)) and not is_tensor_like(3)


def test_plain_calls_stay_as_they_are_once_a_subclass_exists():
    x = torch.ones(2, 2)
    assert (
        type(x + x) is torch.Tensor
        and type(torch.stack([x, x])) is torch.Tensor
        and type(F.linear(x, x)) is torch.Tensor
    )


def test_indexing_is_one_function_to_classes_and_modes():
    seen = []

    class Told(torch.Tensor):
        @classmethod
        def __torch_function__(cls, func, types, args=(), kwargs=None):
            seen.append((func, args[1:]))
            return super().__torch_function__(func, types, args, kwargs)

    x, plain = torch.arange(6.0).reshape(2, 3).as_subclass(Told), torch.arange(3)
    seen.clear()
    for key in (0, slice(1), (0, 1), None, torch.tensor([True, False]), [0, 1]):
        row = x[key]
        assert type(row) is Told and seen == [(torch.Tensor.__getitem__, (key,))]
        seen.clear()
    assert type(plain[x[0].long()]) is Told and seen[-1][0] is torch.Tensor.__getitem__
    seen.clear()
    x[0] = 5
    x[1] = plain.new_zeros(3)
    assert [func for func, _ in seen] == [torch.Tensor.__setitem__] * 2
    assert x.as_subclass(torch.Tensor).tolist() == [[5, 5, 5], [0, 0, 0]]
    assert torch.Tensor.__getitem__.__name__ == "__getitem__"

    class Mode(torch.overrides.TorchFunctionMode):
        def __torch_function__(self, func, types, args=(), kwargs=None):
            seen.append((func, types))
            return func(*args, **(kwargs or {}))

    seen.clear()
    with Mode():
        assert int(plain[1]) == 1
        plain[0] = 7
    assert (torch.Tensor.__getitem__, ()) in seen and seen[-1] == (torch.Tensor.__setitem__, ())


def test_indexing_that_no_class_answers():
    class Silent(torch.Tensor):
        @classmethod
        def __torch_function__(cls, func, types, args=(), kwargs=None):
            return NotImplemented

    x = torch.ones(2).as_subclass(Silent)
    with pytest.raises(TypeError, match="Multiple dispatch failed for 'torch.Tensor.__getitem__'"):
        x[0]
