"""What callers may pass and get back where no schema says it: sizes that are tensors, names of types, histories."""

from __future__ import annotations

import warnings

import pytest

import mindtorch_v2 as torch
from mindtorch_v2._storage import native


def test_sizes_may_be_tensors_of_one_integer() -> None:
    n = torch.tensor(3)
    assert torch.randint(low=1, high=5, size=(n,), dtype=torch.long).shape == (3,)
    assert torch.randint(5, (2, n)).shape == (2, 3)
    assert torch.randint(0, 5, (n, 2)).shape == (3, 2)
    with pytest.raises(TypeError):
        torch.randint(0, 5, (torch.tensor(3.0),))


@pytest.mark.parametrize(
    "left, right, dim", [((3, 4, 4), (5, 5), 2), ((2, 3), (4, 3), 0), ((1, 2, 3), (3, 4), 2), ((2, 5), (3, 2, 4), 2)]
)
def test_of_several_differences_in_shape_the_last_dimension_is_named(left: tuple, right: tuple, dim: int) -> None:
    with pytest.raises(RuntimeError, match=f"at non-singleton dimension {dim}$"):
        torch.ones(left) + torch.ones(right)


def test_asarray_keeps_the_history_of_a_tensor_and_says_so() -> None:
    made = torch.ones(2, requires_grad=True) + 1
    with pytest.warns(UserWarning, match="unspecified requires_grad"):
        assert torch.asarray(made).grad_fn is made.grad_fn
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert torch.asarray(made, requires_grad=False).grad_fn is None
        assert torch.asarray(made, requires_grad=True).grad_fn is made.grad_fn
        assert not torch.asarray(torch.ones(2)).requires_grad
        assert not torch.asarray([1.0]).requires_grad


def test_typed_and_untyped_storages_are_storages() -> None:
    assert torch.is_storage(torch.ones(1).untyped_storage())
    assert torch.is_storage(torch.TypedStorage(5, dtype=torch.float32))
    assert not torch.is_storage(torch.ones(1))


def test_typename_of_classes_functions_and_objects() -> None:
    assert torch.typename(torch.nn.Linear) == torch.typename(torch.nn.Linear(1, 1))
    assert torch.typename(torch.nn.Linear).endswith(".nn.modules.linear.Linear")
    assert (torch.typename(3), torch.typename(int), torch.typename(torch.ones(1))) == (
        "int",
        "int",
        "torch.FloatTensor",
    )


def test_histogramdd_gives_a_named_tuple_of_return_types() -> None:
    made = torch.histogramdd(torch.tensor([[0.0, 1.0], [1.0, 0.0]]), bins=[2, 2])
    assert type(made) is torch.return_types.histogramdd
    assert repr(made).startswith("torch.return_types.histogramdd(\nhist=tensor(")


def test_special_xlogy_takes_numbers_on_either_side() -> None:
    x = torch.tensor([1.0, 2.0])
    assert torch.equal(torch.special.xlogy(x, 4), torch.xlogy(x, 4))
    assert torch.equal(torch.special.xlogy(3, x), torch.xlogy(3, x))


def test_inference_tensors_have_no_version() -> None:
    with torch.inference_mode():
        made = torch.ones(2)
    with pytest.raises(RuntimeError, match="Inference tensors do not track version counter."):
        made._version
    with torch.inference_mode(), torch.autocast("cpu", dtype=torch.bfloat16):
        weight = torch.ones(2, 2)
        assert (weight @ weight).dtype is torch.bfloat16


def test_set_state_returns_the_generator() -> None:
    generator = torch.Generator()
    assert generator.set_state(torch.Generator().get_state()) is generator


def test_hooks_on_saved_tensors_can_be_forbidden() -> None:
    graph = torch.autograd.graph
    forbidden = pytest.raises(RuntimeError, match="not here")
    with graph.disable_saved_tensors_hooks("not here"), forbidden, graph.save_on_cpu():
        pass
    with graph.save_on_cpu(), forbidden, graph.disable_saved_tensors_hooks("not here"):
        pass
    with graph.save_on_cpu():  # allowed again afterwards
        x = torch.ones(2, requires_grad=True)
        (x * x).sum().backward()
    assert x.grad is not None and x.grad.tolist() == [2.0, 2.0]


def test_nodes_of_functions_are_printed_with_their_module() -> None:
    class Twice(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            return x * 2

        @staticmethod
        def backward(ctx, grad):
            return grad * 2

    assert repr(Twice.apply(torch.ones(1, requires_grad=True)).grad_fn).startswith(
        "<torch.autograd.function.TwiceBackward object at 0x"
    )


def test_ranks_of_lstsq_belong_to_the_matrices() -> None:
    matrix = torch.eye(3)[None]
    made = torch.linalg.lstsq(matrix, torch.ones(2, 3, 3), driver="gelsd")
    assert made.rank.tolist() == [3] and made.singular_values.tolist() == [[1.0, 1.0, 1.0]]
    many = torch.linalg.lstsq(torch.eye(3).expand(2, 1, 3, 3), torch.ones(1, 4, 3, 3))
    assert many.solution.shape == (2, 4, 3, 3) and many.rank.tolist() == [[3], [3]]


def test_assert_close_can_refuse_subclasses() -> None:
    with pytest.raises(TypeError, match="No comparison pair was able to handle inputs of type"):
        torch.testing.assert_close(torch.nn.Parameter(torch.ones(1)), torch.ones(1), allow_subclasses=False)


@pytest.mark.skipif(not native, reason="in Python, functions bind to instances")
def test_functions_in_a_class_do_not_get_the_instance() -> None:
    class Layer:
        activation = torch.relu  # of one declaration
        largest = torch.max  # of several

    x = torch.tensor([-1.0, 2.0])
    assert Layer().activation(x).tolist() == [0.0, 2.0] and Layer().largest(x).item() == 2.0
    assert x.relu().tolist() == torch.Tensor.relu(x).tolist() == [0.0, 2.0] and x.max().item() == 2.0
