"""What a process of a job does when it is told to end."""

from __future__ import annotations

import os
import signal
from collections.abc import Iterator

import pytest

from mindtorch_v2.distributed import DistBackendError, _process


@pytest.fixture
def told_to_end() -> Iterator[None]:
    """SIGTERM goes to the handler of a job's process during a test."""
    before = signal.signal(signal.SIGTERM, _process._terminate)
    yield
    signal.signal(signal.SIGTERM, before)


@pytest.mark.usefixtures("told_to_end")
def test_a_process_leaves_its_program_as_by_an_exception() -> None:
    with pytest.raises(SystemExit) as left:
        os.kill(os.getpid(), signal.SIGTERM)
    assert left.value.code == 128 + signal.SIGTERM


@pytest.mark.usefixtures("told_to_end")
@pytest.mark.parametrize("is_wrapped", [False, True])
def test_what_a_process_saves_after_a_failed_communication_is_not_interrupted(is_wrapped: bool) -> None:
    """The first of several processes that wait in vain ends the job while the others save what they recorded."""
    saved = []

    class Recording:
        def __enter__(self) -> None: ...

        def __exit__(self, *error: object) -> None:
            os.kill(os.getpid(), signal.SIGTERM)
            saved.append(error[0])

    with pytest.raises(ValueError if is_wrapped else DistBackendError), Recording():
        try:
            raise DistBackendError("rank 1 is gone")
        except DistBackendError:
            if is_wrapped:
                raise ValueError("no batch")  # noqa: B904  - as programs do
            raise
    assert saved == [ValueError if is_wrapped else DistBackendError]
