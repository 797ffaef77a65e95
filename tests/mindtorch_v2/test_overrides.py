"""`__torch_function__` on classes that are not tensors, modes above and below autograd, classes without memory."""

from __future__ import annotations

import pytest

import mindtorch_v2 as torch
import mindtorch_v2.nn.functional as F
from mindtorch_v2.overrides import TorchFunctionMode, handle_torch_function, has_torch_function
from mindtorch_v2.utils._python_dispatch import TorchDispatchMode, _get_current_dispatch_mode
from mindtorch_v2.utils._pytree import tree_map


class Foreign:
    @classmethod
    def __torch_function__(cls, func, types, args=(), kwargs=None):
        return func, [t.__name__ for t in types], len(args), kwargs or {}


X, OTHER = torch.ones(2, 2), Foreign()
# What PyTorch hands to the class: the function.
CALLS = [
    ("torch.matmul(OTHER, X)", torch.matmul),
    ("torch.matmul(X, OTHER)", torch.matmul),
    ("X @ OTHER", torch.Tensor.matmul),
    ("X + OTHER", torch.Tensor.add),
    ("X * OTHER", torch.Tensor.mul),
    ("X == OTHER", torch.Tensor.eq),
    ("torch.add(X, OTHER)", torch.add),
    ("torch.cat([X, OTHER])", torch.cat),
    ("torch.sum(OTHER)", torch.sum),
    ("torch.sum(OTHER, dim=1)", torch.sum),
    ("F.linear(X, OTHER)", F.linear),
    ("X.add(OTHER)", torch.Tensor.add),
    ("torch.max(OTHER)", torch.max),
    ("torch.where(OTHER, X, X)", torch.where),
    ("F.relu(OTHER)", F.relu),
    ("F.softmax(OTHER, -1)", F.softmax),
    ("F.cross_entropy(OTHER, X)", F.cross_entropy),
    ("torch.einsum('ij,jk->ik', OTHER, X)", torch.einsum),
    ("torch.linalg.solve(OTHER, X)", torch.linalg.solve),
    ("torch.linalg.cholesky(OTHER)", torch.linalg.cholesky),
    ("torch.stack([OTHER, OTHER])", torch.stack),
    ("torch.split(OTHER, 1)", torch.split),
    ("torch.norm(OTHER)", torch.norm),
    ("torch.unique(OTHER)", torch.unique),
    ("torch.square(OTHER)", torch.square),
    ("torch.numel(OTHER)", torch.numel),
    ("torch.div(OTHER, X)", torch.div),
    ("X.expand_as(OTHER)", torch.Tensor.expand_as),
    ("torch.zeros_like(OTHER)", torch.zeros_like),
]


@pytest.mark.parametrize(("call", "function"), CALLS, ids=[c for c, _ in CALLS])
def test_a_foreign_class_is_asked(call, function):
    asked, types, count, kwargs = eval(call)
    assert asked is function and types == ["Foreign"]
    assert call != "torch.sum(OTHER, dim=1)" or (count, kwargs) == (1, {"dim": 1})


class Forwarding:
    """A wrapper that passes on every attribute that it lacks, as kornia's does."""

    def __init__(self, inner):
        self.__dict__["inner"] = inner

    def __getattr__(self, name):
        return getattr(self.inner, name)


class AskedForwarding(Forwarding):
    @classmethod
    def __torch_function__(cls, func, types, args=(), kwargs=None):
        def unwrapped(value):
            if isinstance(value, (list, tuple)):
                return [unwrapped(v) for v in value]
            return value.inner if isinstance(value, cls) else value

        return cls(func(*unwrapped(args), **(kwargs or {})))


@pytest.mark.parametrize(
    "call",
    [
        lambda x: torch.add(x, 1),
        lambda x: torch.ones(2, 3) + x,
        lambda x: torch.cat([x, x]),
        lambda x: torch.stack((x, torch.ones(2, 3))),
        lambda x: torch.sum(x, 0),
        lambda x: torch.unsqueeze(x, 0),
        lambda x: torch.nn.functional.relu(x),
        lambda x: torch.where(torch.tensor(True), x, x),
    ],
)
def test_what_forwards_attributes_to_a_tensor_is_no_tensor(call):
    inner = torch.ones(2, 3)
    made = call(AskedForwarding(inner))
    assert type(made) is AskedForwarding and made.inner.tolist() == call(inner).tolist()
    with pytest.raises(TypeError):
        call(Forwarding(inner))


def test_who_does_not_answer_is_named():
    class Silent:
        @classmethod
        def __torch_function__(cls, func, types, args=(), kwargs=None):
            return NotImplemented

    with pytest.raises(
        TypeError, match="Multiple dispatch failed for 'torch.matmul'; all __torch_function__ handlers returned"
    ):
        torch.matmul(X, Silent())
    with pytest.raises(TypeError, match="must be Tensor, not object"):
        torch.matmul(X, object())


def test_libraries_functions_can_be_overridden():
    def library_function(a, b=1):
        if has_torch_function((a,)):
            return handle_torch_function(library_function, (a,), a, b=b)
        return a * b

    assert library_function(3, 2) == 6
    assert library_function(OTHER, b=5) == (library_function, ["Foreign"], 1, {"b": 5})


class Names(TorchFunctionMode):
    def __init__(self):
        self.seen = []

    def __torch_function__(self, func, types, args=(), kwargs=None):
        self.seen.append(func.__name__)
        return func(*args, **(kwargs or {}))


def test_a_function_mode_sees_what_the_program_calls_and_no_steps():
    with Names() as names:
        x = torch.ones(2, 2)
        F.cross_entropy(F.linear(x, x) + 1, torch.arange(2))
        torch.einsum("ij,jk", x, x)
    assert names.seen == ["ones", "linear", "add", "arange", "cross_entropy", "einsum"]
    torch.exp(x)
    assert len(names.seen) == 6, "outside nothing is seen"


def test_a_function_mode_sees_tensors_made_of_python_values():
    class Doubling(torch.overrides.TorchFunctionMode):
        def __torch_function__(self, func, types, args=(), kwargs=None):
            seen.append((func, args, kwargs))
            return func(*args, **(kwargs or {})) * 2

    seen: list = []
    with Doubling():
        made = [torch.tensor([1.0], dtype=torch.float64), torch.as_tensor([2]), torch.asarray([3], copy=True)]
    assert [t.tolist() for t in made] == [[2.0], [4], [6]] and made[0].dtype is torch.float64
    assert seen == [
        (torch.tensor, ([1.0],), {"dtype": torch.float64}),
        (torch.as_tensor, ([2],), {}),
        (torch.asarray, ([3],), {"copy": True}),
    ]


def test_function_modes_nest_and_can_change_results():
    class Double(TorchFunctionMode):
        def __torch_function__(self, func, types, args=(), kwargs=None):
            return func(*args, **(kwargs or {})) * 2

    with Names() as outer, Double():
        made = torch.ones(1)
    assert made.item() == 2.0 and outer.seen == ["ones", "mul"]
    with pytest.raises(ValueError, match="stop"), Names():
        raise ValueError("stop")
    assert not has_torch_function((X,))


class Operators(TorchDispatchMode):
    def __init__(self):
        super().__init__()
        self.seen = []

    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        assert _get_current_dispatch_mode() is not self
        self.seen.append(str(func))
        return func(*args, **(kwargs or {}))


def test_a_dispatch_mode_sees_operators_below_autograd():
    layer, x = torch.nn.Linear(3, 2), torch.ones(4, 3)
    with Operators() as operators:
        F.relu(layer(x)).sum().backward()
        torch.zeros(2).add_(1)
    assert operators.seen[:4] == ["aten.t.default", "aten.addmm.default", "aten.relu.default", "aten.sum.default"]
    assert {"aten.threshold_backward.default", "aten.mm.default", "aten.zeros.default", "aten.add_.Tensor"} <= set(
        operators.seen
    )
    expected = layer.weight.grad.clone()
    layer.zero_grad()
    F.relu(layer(x)).sum().backward()
    assert torch.equal(layer.weight.grad, expected), "gradients are those of the call without the mode"


def test_a_dispatch_mode_may_give_another_result():
    class Negative(TorchDispatchMode):
        def __torch_dispatch__(self, func, types, args=(), kwargs=None):
            made = func(*args, **(kwargs or {}))
            return -made if func is torch.ops.aten.exp.default else made

    x = torch.zeros(2, requires_grad=True)
    with Negative():
        y = torch.exp(x)
    assert y.tolist() == [-1.0, -1.0] and y.requires_grad


class Wrapper(torch.Tensor):
    """Holds a tensor and counts operators."""

    calls: list = []  # noqa: RUF012 - shared on purpose
    __torch_function__ = torch._C._disabled_torch_function_impl

    @staticmethod
    def __new__(cls, inner):
        return torch.Tensor._make_wrapper_subclass(
            cls, inner.shape, dtype=inner.dtype, device=inner.device, requires_grad=inner.requires_grad
        )

    def __init__(self, inner):
        self.inner = inner

    @classmethod
    def __torch_dispatch__(cls, func, types, args=(), kwargs=None):
        cls.calls.append(str(func))
        args, kwargs = tree_map(lambda v: v.inner if isinstance(v, Wrapper) else v, (args, kwargs or {}))
        return tree_map(lambda v: Wrapper(v) if isinstance(v, torch.Tensor) else v, func(*args, **kwargs))


def test_a_class_without_memory_computes_through_its_dispatch():
    w = Wrapper(torch.arange(3.0))
    assert (w.shape, w.dtype, w.device.type, type(w)) == ((3,), torch.float32, "cpu", Wrapper)
    Wrapper.calls.clear()
    made = (w * w + 1).sum()
    assert isinstance(made, Wrapper) and made.inner.item() == 8.0
    assert Wrapper.calls == ["aten.mul.Tensor", "aten.add.Tensor", "aten.sum.default"]


def test_gradients_pass_through_such_a_class():
    w = Wrapper(torch.arange(3.0).requires_grad_(True))
    (w * w).sum().backward()
    assert isinstance(w.grad, Wrapper) and w.grad.inner.tolist() == [0.0, 2.0, 4.0]
