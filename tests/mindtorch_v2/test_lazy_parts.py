"""Modules that import parts of theirs when asked for: `dir` lists every part, and every part is there."""

from __future__ import annotations

import importlib
import re
from pathlib import Path

import pytest

import mindtorch_v2
from mindtorch_v2._lazy_parts import lazy_parts

ROOT = Path(mindtorch_v2.__file__).parent


def modules_with_lazy_parts() -> list[str]:
    """Names of the modules that say so in a line of their source."""
    found = []
    for path in sorted(ROOT.rglob("*.py")):
        if re.search(r"^__getattr__, __dir__ = _lazy_parts\(", path.read_text(encoding="utf-8"), re.MULTILINE):
            parts = path.relative_to(ROOT.parent).with_suffix("").parts
            found.append(".".join(parts[:-1] if parts[-1] == "__init__" else parts))
    return found


@pytest.mark.parametrize("name", modules_with_lazy_parts())
def test_every_listed_name_is_there(name: str) -> None:
    module = importlib.import_module(name)
    listed = dir(module)
    assert listed == sorted(set(listed))
    missing = [part for part in listed if not hasattr(module, part)]
    assert missing == []


def test_layers_without_sizes_are_listed() -> None:
    assert {"LazyLinear", "LazyConvTranspose3d", "DataParallel", "UninitializedBuffer"} <= set(dir(mindtorch_v2.nn))


def test_a_name_that_is_not_there_is_refused_in_the_words_of_torch() -> None:
    with pytest.raises(AttributeError, match=r"^module 'torch\.nn\.utils' has no attribute 'nothing'$"):
        mindtorch_v2.nn.utils.nothing  # noqa: B018


def test_a_part_may_have_another_name_where_it_is_defined() -> None:
    find, listed = lazy_parts("mindtorch_v2.types", names={"Renamed": "_errors:LinAlgError"})
    assert find("Renamed") is mindtorch_v2.linalg.LinAlgError
    assert "Renamed" in listed()
    del mindtorch_v2.types.Renamed
