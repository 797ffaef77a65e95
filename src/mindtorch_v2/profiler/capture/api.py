"""`torch.profiler.flight_recorder` and `torch.profiler.listen`."""

from __future__ import annotations

import os
import warnings

from . import flight, listener
from .flight import FlightRecorder
from .listener import Listener
from .settings import FlightSettings
from .sockets import ControlError


def flight_recorder(
    seconds: float = 30,
    *,
    directory: str | os.PathLike[str] | None = None,
    max_events: int = 1_000_000,
    overhead: float = 0.01,
    slow_step: float = 5.0,
    watchdog: float = 300.0,
    max_dumps: int = 5,
    record_shapes: bool = False,
    profile_memory: bool = False,
    with_stack: bool = False,
    with_modules: bool = False,
) -> FlightRecorder:
    """Records from now on, always, and keeps the last seconds; `dump()` writes them to a file, `stop()` ends it.

    They are also written when an exception is not caught (out of memory among them), on SIGUSR2 and SIGTERM, when a
    step is slow, and when nothing moves. Each such file is named on stderr. A process that is killed leaves the folder
    `flight-PID.segments`, which opens like a profile. There is one recorder per process: while one is on, it is what
    you get.

    seconds         how long what was recorded is kept
    directory       where files go; the environment variable MINDPROF_DIR, or the current folder, where it is not given
    max_events      how many events are kept at most (48 bytes each), whatever the program does
    overhead        the share of the program's time that recording may take. A program that makes more events than that
                    pays for is recorded in bursts; each file says which share of the time it was (`recorded_share`)
    slow_step       a step that takes so many times the median is dumped; 0 for never
    watchdog        so many seconds without any event or step are dumped; 0 for never
    max_dumps       how many files slow steps may make, and how many the watchdog
    record_shapes, profile_memory, with_stack, with_modules   as in `profile`; all cost more than the events themselves

    >>> import tempfile
    >>> import mindtorch_v2 as torch
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     with torch.profiler.flight_recorder(seconds=5, directory=folder) as flight:
    ...         y = torch.ones(2, 2) @ torch.ones(2, 2)
    ...         profile = torch.profiler.load(flight.dump())
    >>> "aten::mm" in {event.name for event in profile.events()}
    True
    """
    where = os.path.abspath(os.fspath(directory) if directory is not None else os.environ.get("MINDPROF_DIR") or ".")
    settings = FlightSettings(
        float(seconds), where, int(max_events), float(overhead), float(slow_step), float(watchdog), int(max_dumps),
        bool(record_shapes), bool(profile_memory), bool(with_stack), bool(with_modules),
    )  # fmt: skip
    before = flight.current()
    try:
        made = flight.start(settings)
        if made.settings != settings:
            text = f"a flight recorder is on already and stays as it is ({made.settings})"
            warnings.warn(f"{text}; stop() it first to have another", stacklevel=2)
        return made
    except BaseException:  # an interrupt that comes when it has begun: nobody has it yet, so that nobody could stop it
        begun = flight.current()
        if before is None and begun is not None:
            begun.stop()
        raise


def listen(
    path: str | os.PathLike[str] | None = None, *, http: int | bool | None = None, token: str | None = None
) -> Listener:
    """Lets `mindprof ctl PID start|stop|dump|status` control this process from outside, from now on.

    Only this user and root can: the socket lies in a folder that nobody else can look into, and whoever connects is
    asked for by the system's knowledge of them. There is one listener per process; `close()` ends it.

    path    the socket; by default in `$XDG_RUNTIME_DIR/mindprof`, or in `mindprof-UID` of the folder for temporary
    files http    a port of 127.0.0.1 for control over HTTP as well (True or 0 for any that is free): `GET /status`,
            `POST /start`, `/stop`, `/dump`, with the header `Authorization: Bearer TOKEN`. The result has `url` and
            `token`
    token   that token; a random one where it is not given

    RuntimeError where it cannot listen there.

    >>> import mindtorch_v2 as torch
    >>> with torch.profiler.listen(http=True) as listener:
    ...     print(listener.url.startswith("http://127.0.0.1:"), len(listener.token) > 40)
    True True
    """
    if http is False:
        http = None
    if token is not None and (len(token) < 16 or not token.isascii() or not token.isprintable()):
        raise ValueError("listen: expected a token of 16 or more printable ASCII characters")
    try:
        return listener.start(None if path is None else os.fspath(path), 0 if http is True else http, token)
    except ControlError as error:
        raise RuntimeError(f"listen: {error}") from error
