"""`help()` has something to say about every public function, class and method."""

from __future__ import annotations

import inspect
import pydoc

import pytest

import mindtorch_v2 as torch
from mindtorch_v2._ops import table

from .ops.test_documentation import failures

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


# Modules whose every public function and class has an example; examples of operators are in `_ops/docs`.
WITH_EXAMPLES = [
    *[path for path in MODULES if path not in ("autograd.profiler", "serialization", "overrides", "npu")],
    "distributions",
    "func",
    "futures",
    "nested",
    "nn.utils.parametrizations",
    "nn.utils.rnn",
    "signal.windows",
    "testing",
]
# What programs do not call: types of results and settings, names that are refused, what changes the process for good.
WITHOUT_EXAMPLES = {
    "DeviceType",
    "Graph",
    "KinetoStepTracker",
    "LinearCrossEntropyOptions",
    "LoadedProfile",
    "Node",
    "PyTorchFileReader",
    "RNNBase",
    "ScriptFunction",
    "ScriptModule",
    "ScriptObject",
    "SymBool",
    "SymFloat",
    "SymInt",
    "TensorType",
    "Value",
    "WorkerInfo",
    "install_as_torch",
    "register_kl",
    "sym_fresh_size",
}


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


def public_members(path: str) -> dict[str, object]:
    found = module(path)
    members = {name: getattr(found, name) for name in dir(found) if not name.startswith("_")}
    return {name: value for name, value in members.items() if callable(value) and own(value)}


def needs_example(name: str, value: object) -> bool:
    return name not in WITHOUT_EXAMPLES and not (isinstance(value, type) and issubclass(value, BaseException))


def docstring_of(value: object) -> str:
    return inspect.cleandoc((vars(value).get("__doc__") if isinstance(value, type) else value.__doc__) or "")


@pytest.mark.parametrize("path", WITH_EXAMPLES)
def test_public_functions_and_classes_have_an_example(path):
    missing = [
        n for n, value in public_members(path).items() if needs_example(n, value) if ">>>" not in docstring_of(value)
    ]
    assert missing == []


@pytest.mark.filterwarnings("ignore::UserWarning", "ignore::FutureWarning", "ignore::DeprecationWarning")
@pytest.mark.parametrize("path", WITH_EXAMPLES)
def test_examples_give_what_they_say(path):
    """Those of operators are tested with their sections (`ops/test_documentation.py`)."""
    values = {id(value): (name, value) for name, value in public_members(path).items() if name not in table.OVERLOADS}
    said = [line for name, value in values.values() for line in failures(name, docstring_of(value))]
    assert said == [], "".join(said)


def test_examples_of_methods_give_what_they_say():
    said = []
    for name in dir(torch.Tensor):
        value = inspect.getattr_static(torch.Tensor, name)
        if not name.startswith("_") and name not in table.OVERLOADS:
            text = value.__doc__ if isinstance(value, property) else getattr(torch.Tensor, name).__doc__
            said += failures(name, inspect.cleandoc(text or ""))
    assert said == [], "".join(said)


def test_methods_and_properties_of_tensors_have_a_summary():
    missing = []
    for name in dir(torch.Tensor):
        value = inspect.getattr_static(torch.Tensor, name)
        if name.startswith("_") or not (callable(getattr(torch.Tensor, name)) or isinstance(value, property)):
            continue
        member = value if isinstance(value, property) else getattr(torch.Tensor, name)
        if not inspect.cleandoc(member.__doc__ or "").partition("\n\n")[0].endswith("."):
            missing.append(name)
    assert missing == []


@pytest.mark.parametrize("path", ["add", "max", "Tensor.add", "Tensor.max", "nn.functional.relu", "linalg.svd"])
def test_help_prints_the_docstring(path):
    """Of functions in C as well, whose class has no docstring of its own."""
    text = pydoc.render_doc(module(path), renderer=pydoc.plaintext)
    assert all(line.strip() in text for line in inspect.cleandoc(module(path).__doc__).splitlines())
