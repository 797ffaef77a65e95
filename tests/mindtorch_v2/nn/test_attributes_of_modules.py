"""Children of modules are found as attributes: those of classes come first, and whoever defines __getattr__ is asked."""

from __future__ import annotations

from typing import Any

import pytest

from mindtorch_v2 import nn


class Plain(nn.Module):
    both: Any = "class"

    def __init__(self) -> None:
        super().__init__()
        self.layer = nn.Linear(1, 1)
        self.weight = nn.Parameter(nn.Linear(1, 1).weight.detach())
        self.register_buffer("mean", None)

    @property
    def broken(self) -> Any:
        return self.missing


class Asking(Plain):
    def __getattr__(self, name: str) -> Any:
        try:
            return super().__getattr__(name)
        except AttributeError:
            if not name.startswith("other"):
                raise
            return f"made {name}"


def test_children_fields_and_what_is_missing() -> None:
    made = Plain()
    assert made.layer is made._modules["layer"]
    assert made.weight is made._parameters["weight"]
    assert made.mean is None
    assert made.training is True
    with pytest.raises(AttributeError, match="'Plain' object has no attribute 'missing'"):
        made.missing  # noqa: B018
    with pytest.raises(AttributeError, match="'Plain' object has no attribute 'broken'"):
        made.broken  # noqa: B018


def test_the_class_comes_before_the_tables_and_the_instance_too() -> None:
    made = Plain()
    made._parameters["both"] = made.weight
    assert made.both == "class"
    made.__dict__["layer"] = "instance"
    assert made.layer == "instance"


def test_a_class_with_its_own_way() -> None:
    made = Asking()
    assert made.layer is made._modules["layer"]
    assert made.other == "made other"

    class Below(Asking):
        pass

    assert Below().other == "made other"

    class Everything(Plain):
        def __getattribute__(self, name: str) -> Any:
            return "all" if name == "anything" else super().__getattribute__(name)

    assert Everything().anything == "all"
    assert isinstance(Everything().layer, nn.Linear)


def test_a_class_that_gets_its_own_way_later() -> None:
    class Later(Plain):
        pass

    class Below(Later):
        pass

    made, below = Later(), Below()
    assert isinstance(below.layer, nn.Linear)
    Later.__getattr__ = lambda self, name: f"later {name}"  # type: ignore[method-assign,assignment]
    assert (made.layer, below.layer) == ("later layer", "later layer")
    del Later.__getattr__
    assert isinstance(made.layer, nn.Linear) and isinstance(below.layer, nn.Linear)


def test_before_the_constructor_ran() -> None:
    made = Plain.__new__(Plain)
    with pytest.raises(AttributeError, match="'Plain' object has no attribute 'layer'"):
        made.layer  # noqa: B018


def test_tables_of_another_type() -> None:
    class Table(dict):  # type: ignore[type-arg]
        def __getitem__(self, name: str) -> Any:
            return f"item {name}"

    made = Plain()
    made._modules = Table(made._modules)
    assert made.layer == "item layer"
