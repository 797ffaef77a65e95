"""Intel's library for matrices: numpy's own BLAS multiplies here."""

from __future__ import annotations

VERBOSE_OFF, VERBOSE_ON = 0, 1


def is_available() -> bool:
    """Whether numpy was built with it."""
    import numpy as np

    return "mkl" in np.show_config(mode="dicts")["Build Dependencies"]["blas"]["name"].lower()


class verbose:
    """A block in which that library would tell what it does; it cannot be asked to here, so nothing is told."""

    def __init__(self, enable: int) -> None:
        self.enable = enable

    def __enter__(self) -> verbose:
        return self

    def __exit__(self, *exc: object) -> None:
        return None
