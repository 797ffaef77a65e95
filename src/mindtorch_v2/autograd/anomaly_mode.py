"""Finding the operation whose gradient fails."""
from __future__ import annotations

import warnings

from .._dispatch import modes

__all__ = ["detect_anomaly", "set_detect_anomaly"]


class set_detect_anomaly:
    """Switches anomaly detection: nodes remember their forward traceback, and a NaN gradient is an error."""

    def __init__(self, mode: bool, check_nan: bool = True) -> None:
        self.prev = modes.state.anomaly, modes.state.check_nan
        self._set(mode, check_nan)

    def _set(self, mode: bool, check_nan: bool) -> None:
        if modes.state.anomaly != mode:
            modes.use_special(mode)
        modes.state.anomaly, modes.state.check_nan = mode, check_nan

    def __enter__(self) -> None:
        pass

    def __exit__(self, *exc: object) -> None:
        self._set(*self.prev)


class detect_anomaly(set_detect_anomaly):
    """Anomaly detection for a block. It slows the run and is meant for debugging."""

    def __init__(self, check_nan: bool = True) -> None:
        warnings.warn("Anomaly Detection has been enabled. This mode will increase the runtime and should only be enabled for debugging.",
                      stacklevel=2)
        self.prev = modes.state.anomaly, modes.state.check_nan
        self.check_nan = check_nan

    def __enter__(self) -> None:
        self._set(True, self.check_nan)
