"""What the package says it has is there: `dir`, `hasattr`, `inspect` and `help` agree, in every public module."""

from __future__ import annotations

import importlib
import importlib.util
import inspect
import pkgutil
import pydoc
import subprocess
import sys

import pytest

import mindtorch_v2 as torch

# modules that say what to install where the package that they are made for is missing
OPTIONAL = {"mindtorch_v2.utils.tensorboard": "tensorboard"}
PUBLIC = [
    torch.__name__,
    *(
        found.name
        for found in pkgutil.walk_packages(torch.__path__, torch.__name__ + ".")
        if not any(part.startswith("_") for part in found.name.split(".")[1:])
        and (found.name not in OPTIONAL or importlib.util.find_spec(OPTIONAL[found.name]) is not None)
    ),
]


@pytest.mark.parametrize("name", PUBLIC)
def test_every_name_that_a_module_lists_can_be_had(name):
    module = importlib.import_module(name)
    missing = [word for word in dir(module) if not hasattr(module, word)]
    assert not missing
    assert len(inspect.getmembers(module)) >= len(set(dir(module)))


@pytest.mark.parametrize("name", PUBLIC)
def test_every_module_can_be_asked_for_help(name):
    assert name in pydoc.render_doc(importlib.import_module(name), renderer=pydoc.plaintext)


# where any namespace may be defined later
@pytest.mark.parametrize("name", [n for n in PUBLIC if n not in ("mindtorch_v2.classes", "mindtorch_v2.ops")])
def test_names_that_do_not_exist_are_absent(name):
    module = importlib.import_module(name)
    assert not hasattr(module, "no_such_name")
    with pytest.raises(AttributeError, match="no_such_name"):
        _ = module.no_such_name


def test_submodules_are_found_without_being_imported_first():
    for word in torch._submodules():
        assert inspect.ismodule(getattr(torch, word)), word
    for word in ("amp", "fft", "jit", "testing", "return_types"):
        assert hasattr(torch, word) == (word in torch._submodules())


@pytest.mark.parametrize(
    "path", ["autograd.function", "autograd.forward_ad", "fx.passes.shape_prop", "fx.experimental.proxy_tensor"]
)
def test_modules_inside_modules_are_found_without_being_imported_first(path):
    code = f"import mindtorch_v2 as torch; assert torch.{path}.__name__ == 'mindtorch_v2.{path}'"
    subprocess.run([sys.executable, "-c", code], check=True)
