"""What a release is made of: metadata, the wheels' configuration, files that the package reads or that type checkers
need.
"""

from __future__ import annotations

import pathlib
import re

import pytest

ROOT = pathlib.Path(__file__).parents[1]


@pytest.fixture(scope="module")
def settings():
    tomllib = pytest.importorskip("tomllib", reason="Python 3.11 reads TOML")
    return tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))


def test_wheels_are_built_for_every_python_that_is_named(settings):
    named = re.findall(r"Python :: (3\.\d+)", "\n".join(settings["project"]["classifiers"]))
    built = [f"3.{text[3:-2]}" for text in settings["tool"]["cibuildwheel"]["build"]]
    assert built == named
    assert settings["project"]["requires-python"] == f">={named[0]}"


def test_a_built_wheel_is_tried(settings):
    script = settings["tool"]["cibuildwheel"]["test-command"].removeprefix("python {project}/")
    assert (ROOT / script).is_file()
    assert script in (ROOT / "Makefile").read_text(encoding="utf-8")


def test_the_licence_is_an_expression_and_a_file(settings):
    assert settings["project"]["license"] == "Apache-2.0"
    assert all((ROOT / name).is_file() for name in settings["project"]["license-files"])
    assert not any(text.startswith("License ::") for text in settings["project"]["classifiers"])


def test_data_files_of_the_package_are_in_the_wheel(settings):
    package = ROOT / "src" / "mindtorch_v2"
    patterns = settings["tool"]["setuptools"]["package-data"]["mindtorch_v2"]
    listed = {path for pattern in patterns for path in package.glob(pattern)}
    read = {package / "py.typed", *package.rglob("*.pyi"), *package.glob("_ops/docs/*.md")}
    assert sorted(str(path) for path in read - listed) == []
