"""`help()` has something to say about every public function, class and method."""

from __future__ import annotations

import inspect
import pydoc

import pytest

import mindtorch_v2 as torch

MODULES = [
    "",
    "fft",
    "linalg",
    "special",
    "nn",
    "nn.functional",
    "nn.init",
    "nn.utils",
    "optim",
    "optim.lr_scheduler",
    "autograd",
    "autograd.functional",
    "autograd.profiler",
    "profiler",
    "utils.data",
    "random",
    "serialization",
    "overrides",
    "npu",
]


def module(path: str) -> object:
    found = torch
    for word in filter(None, path.split(".")):
        found = getattr(found, word)
    return found


def summary(value: object) -> str:
    """The first paragraph of a docstring; of a class its own one, not an inherited one."""
    text = vars(value).get("__doc__") if isinstance(value, type) else value.__doc__
    return inspect.cleandoc(text or "").partition("\n\n")[0]


def own(value: object) -> bool:
    return str(getattr(value, "__module__", "")).startswith("mindtorch_v2")


@pytest.mark.parametrize("path", MODULES)
def test_public_functions_and_classes_have_a_summary(path):
    found = module(path)
    public = {name: getattr(found, name) for name in dir(found) if not name.startswith("_")}
    missing = [
        name
        for name, value in public.items()
        if callable(value) and own(value) and not summary(value).endswith((".", ":", "`"))
    ]
    assert missing == []


def test_methods_and_properties_of_tensors_have_a_summary():
    missing = []
    for name in dir(torch.Tensor):
        value = inspect.getattr_static(torch.Tensor, name)
        if name.startswith("_") or not (callable(getattr(torch.Tensor, name)) or isinstance(value, property)):
            continue
        shown = value if isinstance(value, property) else getattr(torch.Tensor, name)
        if not inspect.cleandoc(shown.__doc__ or "").partition("\n\n")[0].endswith("."):
            missing.append(name)
    assert missing == []


@pytest.mark.parametrize("path", ["add", "max", "Tensor.add", "Tensor.max", "nn.functional.relu", "linalg.svd"])
def test_help_prints_the_docstring(path):
    """Of functions in C as well, whose class has no docstring of its own."""
    text = pydoc.render_doc(module(path), renderer=pydoc.plaintext)
    assert all(line.strip() in text for line in inspect.cleandoc(module(path).__doc__).splitlines())
