"""Which overload a call goes to, remembered in C by the classes of its arguments."""

from __future__ import annotations

import gc
import sys
from typing import Any

import pytest

from mindtorch_v2 import _native
from mindtorch_v2._storage import native

pytestmark = pytest.mark.skipif(not _native.available(), reason="no native core")


def _made() -> Any:
    made = native.Overloads(lambda *args, **kwargs: "asked")
    made.remember((float, (tuple, int)), lambda *args: "sizes")
    made.remember((float, (list, None)), lambda *args: "empty")
    made.remember((float, float), lambda *args: "numbers")
    return made


def test_a_sequence_is_known_by_its_class_and_that_of_what_it_begins_with() -> None:
    made = _made()
    assert made(1.0, (3, 4)) == "sizes" and made(1.0, (3, "x")) == "sizes"
    assert made(1.0, []) == "empty"
    assert made(1.0, 2.0) == "numbers"
    for other in ([3, 4], (3.0, 4), (True,), (), [3]):
        assert made(1.0, other) == "asked"
    assert made(1.0, (3, 4), 5) == "asked" and made(1.0, other=(3, 4)) == "asked"


def test_only_classes_are_remembered() -> None:
    made = _made()
    for wrong in ((3,), ((list, 3),), ((list, int, int),)):
        with pytest.raises(TypeError, match="expected classes"):
            made.remember(wrong, len)


def test_classes_are_released() -> None:
    class Element:
        pass

    counts = [sys.getrefcount(Element)]
    made = _made()
    made.remember(((tuple, Element),), len)
    length = made((Element(),))
    counts.append(sys.getrefcount(Element))
    del made
    gc.collect()
    counts.append(sys.getrefcount(Element))
    assert length == 1 and [n - counts[0] for n in counts] == [0, 1, 0]
