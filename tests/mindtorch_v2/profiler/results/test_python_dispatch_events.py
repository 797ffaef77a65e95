"""Python that runs instead of operators (`__torch_dispatch__`) is an event inside the operator's, as in PyTorch."""

from __future__ import annotations

import pytest

import mindtorch_v2 as torch
from mindtorch_v2.profiler import profile
from mindtorch_v2.utils._python_dispatch import TorchDispatchMode


class Through(TorchDispatchMode):
    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        return func(*args, **(kwargs or {}))


class Refusing(TorchDispatchMode):
    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        raise KeyError("refused")


class Subclass(torch.Tensor):
    @staticmethod
    def __new__(cls, elem):
        made = torch.Tensor._make_wrapper_subclass(cls, elem.size(), dtype=elem.dtype)
        made.elem = elem
        return made

    @classmethod
    def __torch_dispatch__(cls, func, types, args=(), kwargs=None):
        return func(*(arg.elem if isinstance(arg, cls) else arg for arg in args), **(kwargs or {}))


def tree(prof, skipped=()):
    def walk(nodes, depth):
        for node in nodes:
            if node.name not in skipped:
                yield "  " * depth + node.name
                yield from walk(node.children, depth + 1)

    return list(walk(prof.profiler.kineto_results.experimental_event_tree(), 0))


def test_a_mode_is_an_event_in_the_operator():
    x = torch.ones(3, 4)
    with profile() as prof, Through():
        torch.sin(x)
        torch.ones(2)
    assert tree(prof) == [
        "aten::sin",
        "  PythonDispatchMode",
        "    aten::sin",
        "aten::ones",
        "  PythonDispatchMode",
        "    aten::ones",
        "      aten::empty",
        "      aten::fill_",
    ]


def test_modes_inside_each_other():
    x = torch.ones(2)
    with profile() as prof, Through(), Through():
        torch.cos(x)
    mode, op = "PythonDispatchMode", "aten::cos"
    assert tree(prof) == [op, f"  {mode}", f"    {op}", f"      {mode}", f"        {op}"]


def test_a_subclass_is_an_event_in_the_operator():
    x = Subclass(torch.ones(3))
    with profile() as prof:
        torch.sin(x)
    # The plain result becomes an instance of the class again, which is an alias here.
    assert tree(prof, skipped=("aten::alias",)) == ["aten::sin", "  PythonSubclass", "    aten::sin"]


def test_the_event_has_the_arguments_of_the_operator_and_no_sequence_number():
    x = torch.ones(3, 4, requires_grad=True)
    with profile(record_shapes=True) as prof, Through():
        torch.mul(x, x)
    outer, mode, inner = prof.events()
    assert (outer.name, mode.name, inner.name) == ("aten::mul", "PythonDispatchMode", "aten::mul")
    assert mode.input_shapes == outer.input_shapes == [[3, 4], [3, 4]]
    assert outer.sequence_nr >= 0
    assert (mode.sequence_nr, mode.scope, mode.is_user_annotation) == (-1, 0, False)
    assert mode.cpu_parent is outer and inner.cpu_parent is mode


def test_an_error_closes_the_event():
    x = torch.ones(2)
    with profile() as prof:
        with pytest.raises(KeyError), Refusing():
            torch.sin(x)
        torch.cos(x)
    assert tree(prof) == ["aten::sin", "  PythonDispatchMode", "aten::cos"]
