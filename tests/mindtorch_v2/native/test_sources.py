"""A build that is older than the C files beside it is noticed, named and not used."""

from __future__ import annotations

import os
import pathlib
import subprocess
import sys

import pytest

import mindtorch_v2
from mindtorch_v2 import _native
from mindtorch_v2._native import native_module, sources

NAMES = ["core/a.c", "core/a.h"]
PACKAGE = pathlib.Path(mindtorch_v2.__file__).parent
needs_native = pytest.mark.skipif(not _native.available(), reason="not built, or switched off")


@pytest.fixture
def checkout(tmp_path: pathlib.Path) -> pathlib.Path:
    """Two C files and the module that was built of them, a second later."""
    (tmp_path / "core").mkdir()
    for name in NAMES:
        (tmp_path / name).write_text(f"int {name[-1]};\n")
        os.utime(tmp_path / name, (1000, 1000))
    (tmp_path / "module.so").write_bytes(b"")
    os.utime(tmp_path / "module.so", (1001, 1001))
    return tmp_path


def stale(checkout: pathlib.Path, described: str | None) -> bool:
    sources._change_time.cache_clear()
    return sources.is_stale(str(checkout / "module.so"), described, str(checkout))


def test_a_module_and_its_files(checkout: pathlib.Path) -> None:
    described = sources.description(NAMES, str(checkout))
    assert not stale(checkout, described)
    os.utime(checkout / NAMES[0], (2000, 2000))  # as a change of branches and back leaves it
    assert not stale(checkout, described)
    (checkout / NAMES[1]).write_text("int b;\n")
    assert stale(checkout, described)
    assert not stale(checkout, sources.description(NAMES, str(checkout)))


def test_a_file_that_is_gone(checkout: pathlib.Path) -> None:
    described = sources.description(NAMES, str(checkout))
    (checkout / NAMES[0]).unlink()
    assert stale(checkout, described)


def test_an_installed_module_has_no_files_beside_it(checkout: pathlib.Path) -> None:
    described = sources.description(NAMES, str(checkout))
    for name in NAMES:
        (checkout / name).unlink()
    assert not stale(checkout, described)


def test_a_module_from_before_there_was_a_description(checkout: pathlib.Path) -> None:
    assert stale(checkout, None)


def test_contents_do_not_run_into_each_other(checkout: pathlib.Path) -> None:
    described = sources.description(NAMES, str(checkout))
    (checkout / NAMES[0]).write_text("int c;\nint h;\n")
    (checkout / NAMES[1]).write_text("")
    assert sources.description(NAMES, str(checkout)) != described


@needs_native
@pytest.mark.parametrize("name", sorted(path.name.partition(".")[0] for path in (PACKAGE / "_native").glob("_*.so")))
def test_every_module_says_what_it_is_built_of(name: str) -> None:
    names = native_module(name).SOURCES.split("\n")[1:]
    assert any(path.endswith(".c") for path in names) and "common/sources.h" in names
    assert {path.partition(".")[2] for path in names} <= {"c", "h", "inc"}


def stale_package(tmp_path: pathlib.Path, name: str) -> pathlib.Path:
    """The package by links, but for one C file, which is newer and other."""
    package = tmp_path / "mindtorch_v2"
    (package / "_native" / name).parent.mkdir(parents=True)
    for source, target in (
        (PACKAGE, package),
        (PACKAGE / "_native", package / "_native"),
        ((PACKAGE / "_native" / name).parent, (package / "_native" / name).parent),
    ):
        for entry in source.iterdir():
            if not (target / entry.name).exists() and entry.name not in ("__pycache__", name.rpartition("/")[2]):
                (target / entry.name).symlink_to(entry)
    (package / "_native" / name).write_bytes((PACKAGE / "_native" / name).read_bytes() + b"\n")
    return tmp_path


@needs_native
@pytest.mark.skipif(not (PACKAGE / "_native" / "core").exists(), reason="an installed package has no C files")
@pytest.mark.parametrize(
    "name, left",
    [("core/call.c", "False True True"), ("trace/writer.c", "True False True"), ("core/call.h", "False True True")],
)
def test_a_stale_build_is_replaced_by_python(tmp_path: pathlib.Path, name: str, left: str) -> None:
    """What the package is left with: native kernels, no native core, no native writer of traces. One warning says why
    and what to do.
    """
    code = """
import warnings
with warnings.catch_warnings(record=True) as said:
    warnings.simplefilter("always")
    import mindtorch_v2 as torch
    from mindtorch_v2 import _native, _storage
    from mindtorch_v2.profiler.export import rows
x = torch.ones(2, requires_grad=True)
(x * x).sum().backward()
assert x.grad.tolist() == [2, 2]
print(_native.available(), _storage.native is None, not rows.is_native())
for message in said:
    print(message.message)
"""
    root = stale_package(tmp_path, name)
    environment = {**os.environ, "PYTHONPATH": str(root), "MINDTORCH_NATIVE": "1", "PYTHONDONTWRITEBYTECODE": "1"}
    done = subprocess.run(
        [sys.executable, "-c", code], env=environment, cwd=root, capture_output=True, text=True, timeout=120, check=True
    )
    answers, *said = done.stdout.splitlines()
    assert answers == left
    stale_names = [
        line for line in said if "built from other C files" in line and "rebuild it with `pip install -e .`" in line
    ]
    assert stale_names and str(root) in stale_names[0]
