"""Versions compare by their parts, with strings and tuples."""

from __future__ import annotations

import pytest

from mindtorch_v2.torch_version import TorchVersion

version = TorchVersion("2.13.0+mindtorch0.3.0")


@pytest.mark.parametrize(
    "lower", ["2.2", "2.13", "2.13.0", (2, 2), (1, 8, 0), [2, 12], "2.13.0rc1", "2.13.0.dev20260101", "1.10"]
)
def test_lower_versions(lower: object) -> None:
    assert version > lower and version >= lower and version != lower
    assert not version < lower and not version <= lower


@pytest.mark.parametrize("higher", ["2.14", (3,), "2.13.1", "2.13.0.post1", "2.100"])
def test_higher_versions(higher: object) -> None:
    assert version < higher and version <= higher and not version > higher


def test_equal_versions_and_what_is_none() -> None:
    assert TorchVersion("2.0") == "2.0.0" == TorchVersion("2") and TorchVersion("2.0") == (2, 0)
    assert hash(version) == hash(str(version)) and version.startswith("2.13")
    assert version != "parrot" and version < "parrot"  # as strings
