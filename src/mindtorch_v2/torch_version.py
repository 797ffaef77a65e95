"""`torch.torch_version`: a version that is a string and is compared by its parts."""

from __future__ import annotations

import re
from typing import Any

__all__ = ["TorchVersion"]

_PARTS = re.compile(r"v?(\d+(?:\.\d+)*)(?:[._-]?(dev|a|alpha|b|beta|c|rc|post)[._-]?(\d*))?(?:\+([a-z0-9._-]+))?", re.I)
_STAGES = {"dev": -4, "a": -3, "alpha": -3, "b": -2, "beta": -2, "c": -1, "rc": -1, "": 0, "post": 1}


def _parts(version: Any) -> tuple[Any, ...] | None:
    """What versions are ordered by: release numbers, stage, build; None for what is not a version."""
    text = ".".join(map(str, version)) if isinstance(version, (tuple, list)) else str(version)
    found = _PARTS.fullmatch(text.strip())
    if found is None:
        return None
    release, stage, count, build = found.groups()
    numbers = [int(n) for n in release.split(".")]
    while numbers and not numbers[-1]:  # 2.0 is 2
        numbers.pop()
    return tuple(numbers), _STAGES[(stage or "").lower()], int(count or 0), build or ""


class TorchVersion(str):
    """A version that can be compared with strings, tuples and other versions: "2.13.0" is above "2.2" and (1, 8).

    What is not a version is compared as a string.

    >>> torch.torch_version.TorchVersion("2.13.0") >= "2.2", torch.torch_version.TorchVersion("2.13.0") > (2, 13)
    (True, False)
    """

    def _both(self, other: Any) -> tuple[Any, Any]:
        mine, others = _parts(str(self)), _parts(other)
        return (str(self), str(other)) if mine is None or others is None else (mine, others)

    def __lt__(self, other: Any) -> bool:
        mine, others = self._both(other)
        return mine < others

    def __le__(self, other: Any) -> bool:
        mine, others = self._both(other)
        return mine <= others

    def __gt__(self, other: Any) -> bool:
        mine, others = self._both(other)
        return mine > others

    def __ge__(self, other: Any) -> bool:
        mine, others = self._both(other)
        return mine >= others

    def __eq__(self, other: object) -> bool:
        mine, others = self._both(other)
        return mine == others

    def __ne__(self, other: object) -> bool:
        return not self == other

    __hash__ = str.__hash__
