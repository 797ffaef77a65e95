"""The event of a step: `ProfilerStep#N`, seen only by the profile whose step it is."""

from __future__ import annotations

from ..record_function import record_function
from .recorder import Handle, recorder
from .session import Session


class StepScope(record_function):
    """Names a step of a profiled loop."""

    def __init__(self, session: Session, step: int) -> None:
        super().__init__(f"ProfilerStep#{step}")
        self._session, self._step = session, step
        self._handle: Handle | None = None

    def __enter__(self) -> StepScope:
        self._handle = self._session.open_step(self._step)
        return self

    def __exit__(self, *exc: object) -> None:
        recorder.close(self._handle)
