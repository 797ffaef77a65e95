"""Which classes and functions a pickle names, for every protocol: each repeats names in its own way."""

import decimal
import fractions
import pickle

import pytest

from mindtorch_v2._serialization.globals_of_files import unsafe_globals


class _Box:
    """A class that the restricted loader does not know."""


@pytest.mark.parametrize("protocol", range(pickle.HIGHEST_PROTOCOL + 1))
def test_names_in_pickles_of_every_protocol(protocol: int) -> None:
    # containers before the first text move the memo's indices away from those of texts
    value = [{}, [], "__main__", _Box, {"posixpath": 1}, decimal.Context, [_Box], fractions.Fraction]
    assert unsafe_globals(pickle.dumps(value, protocol)) == [
        "decimal.Context",
        "fractions.Fraction",
        f"{__name__}._Box",
    ]
