"""The stubs that editors and type checkers read say what the package is."""

from __future__ import annotations

import ast
import os
import pathlib
import subprocess
import sys

import pytest

import mindtorch_v2 as torch

ROOT = pathlib.Path(__file__).parents[2]
PACKAGE = pathlib.Path(torch.__file__).parent


def names_in(text: str, owner: str | None = None) -> set[str]:
    """The names that a stub, or a class in it, declares."""
    tree: ast.Module | ast.ClassDef = ast.parse(text)
    if owner:
        tree = next(node for node in tree.body if isinstance(node, ast.ClassDef) and node.name == owner)
    found = set()
    for node in tree.body:
        if isinstance(node, ast.FunctionDef | ast.ClassDef):
            found.add(node.name)
        elif isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name):
            found.add(node.target.id)
        elif isinstance(node, ast.ImportFrom):
            found.update(alias.asname for alias in node.names if alias.asname)
    return found


def test_stubs_are_current():
    """In a process of its own: tests may add names to the package. The native core changes no name."""
    run = subprocess.run(
        [sys.executable, str(ROOT / "scripts" / "stubs" / "write.py"), "--check"],
        capture_output=True,
        text=True,
        env={**os.environ, "PYTHONPATH": str(PACKAGE.parent)},
    )
    assert (run.returncode, run.stderr) == (0, "")


def test_every_public_name_of_torch_is_in_its_stub():
    names = subprocess.run(
        [sys.executable, "-c", "import mindtorch_v2; print(*dir(mindtorch_v2))"],
        capture_output=True,
        text=True,
        check=True,
        env={**os.environ, "PYTHONPATH": str(PACKAGE.parent)},
    ).stdout.split()
    stub = names_in((PACKAGE / "__init__.pyi").read_text())
    assert [
        name for name in names if not name.startswith("_") and name not in stub and name not in ("Any", "annotations")
    ] == []


def test_every_public_attribute_of_tensors_is_in_a_stub_or_in_the_class():
    stub = names_in((PACKAGE / "_op_methods.pyi").read_text(), "OpMethods")
    own = {name for base in torch.Tensor.__mro__ for name in vars(base) if base.__name__ in ("TensorFields",)}
    text = (PACKAGE / "_tensor.py").read_text()
    missing = [
        name
        for name in dir(torch.Tensor)
        if not name.startswith("_") and name not in stub | own and f" {name}" not in text
    ]
    assert missing == []


@pytest.mark.parametrize(
    ("stub", "line"),
    [
        ("_op_methods.pyi", "    def add_(self, other: Tensor | _Number, *, alpha: _Number = 1) -> Tensor: ..."),
        (
            "_op_methods.pyi",
            "    def sum(self, dim: _int | _Sequence[_int] | None, keepdim: _bool = False, *, dtype: _DType | None = "
            "None) -> Tensor: ...",
        ),
        (
            "__init__.pyi",
            "def max(input: Tensor, dim: _int, keepdim: _bool = False, *, out: _Sequence[Tensor] | None = None) "
            "-> _return_types.max_values_indices: ...",
        ),
        (
            "__init__.pyi",
            "def add(input: Tensor | _Number, other: Tensor | _Number, *, alpha: _Number = 1, out: Tensor | None = "
            "None) -> Tensor: ...",
        ),
        ("__init__.pyi", "float32: _DType"),
        ("nn/functional.pyi", "from ._functional.activation import relu as relu"),
        ("linalg.pyi", "def inv(A: Tensor, *, out: Tensor | None = None) -> Tensor: ..."),
        ("special.pyi", "def polygamma(n: _int, input: Tensor, *, out: Tensor | None = None) -> Tensor: ..."),
    ],
)
def test_declarations_have_types(stub, line):
    assert line in (PACKAGE / stub).read_text().splitlines()


@pytest.mark.parametrize("module", [torch, torch.nn, torch.optim, torch.fx, torch.nn.utils.rnn, torch.utils.data])
def test_constructors_tell_whose_object_they_make(module):
    """An editor that is told "anything" by `__new__` completes nothing on a layer or an optimizer."""
    classes = {name: value for name, value in vars(module).items() if isinstance(value, type)}
    assert classes
    answers = {name: getattr(kind.__new__, "__annotations__", {}).get("return") for name, kind in classes.items()}
    assert [name for name, answer in answers.items() if answer == "Any"] == []


def test_classes_that_programs_write_types_for_take_type_arguments():
    """`def train(loader: DataLoader[tuple[Tensor, Tensor]])`: what is generic in PyTorch is so here."""
    data = torch.utils.data
    generic = (data.Dataset, data.IterableDataset, data.StackDataset, data.Sampler, data.DistributedSampler)
    for kind in (
        *generic,
        data.DataLoader,
        torch.nn.DataParallel,
        torch.distributions.Independent,
        torch.futures.Future,
    ):
        assert kind[int].__origin__ is kind
    assert [len(batch) for batch in data.DataLoader[torch.Tensor]([1, 2, 3], batch_size=2)] == [2, 1]
    assert torch.nn.DataParallel[torch.nn.Linear](torch.nn.Linear(1, 2))(torch.ones(3, 1)).shape == (3, 2)
