"""Finding the operation whose gradient fails."""

from __future__ import annotations

import warnings

from .._dispatch import modes

__all__ = ["detect_anomaly", "set_detect_anomaly"]


class set_detect_anomaly(modes.Switch):
    """Switches anomaly detection: nodes remember their forward traceback, and a NaN gradient is an error.

    >>> with torch.autograd.set_detect_anomaly(False):
    ...     torch.ones(1, requires_grad=True).sum().backward()
    """

    _special = False

    def __init__(self, mode: bool, check_nan: bool = True) -> None:
        self._changes = {"anomaly": mode, "check_nan": check_nan}
        super().__enter__()

    def __enter__(self) -> None:
        pass


class detect_anomaly(modes.Switch):
    """Anomaly detection for a block. It slows the run and is meant for debugging.

    >>> with torch.autograd.detect_anomaly():
    ...     torch.ones(1, requires_grad=True).sum().backward()
    """

    _special = False

    def __init__(self, check_nan: bool = True) -> None:
        warnings.warn(
            "Anomaly Detection has been enabled. This mode will increase the runtime and should only be enabled for "
            "debugging.",
            stacklevel=2,
        )
        self._changes = {"anomaly": True, "check_nan": check_nan}


def is_anomaly_enabled() -> bool:
    """Whether anomaly detection is on in this thread.

    >>> torch.is_anomaly_enabled()
    False
    """
    return modes.state.anomaly


def is_anomaly_check_nan_enabled() -> bool:
    """Whether anomaly detection would refuse gradients that are NaN.

    >>> torch.is_anomaly_check_nan_enabled()
    True
    """
    return modes.state.check_nan
