"""Something to do before a signal ends the process, of which the program in it sees nothing."""

from __future__ import annotations

import os
import signal
from collections.abc import Callable
from types import FrameType
from typing import Any

# Those that end a process and let Python do something before; of those that tell of a fault in C, none does.
_ENDING = ("SIGTERM", "SIGHUP", "SIGQUIT", "SIGUSR1", "SIGUSR2", "SIGALRM", "SIGVTALRM", "SIGPROF", "SIGXCPU")


def before_ending(act: Callable[[], None]) -> Callable[[], None]:
    """Calls `act` when a signal is about to end this process, which then ends by it; gives a function that calls it
    for another reason. It is called once; a signal that comes meanwhile waits until it is done.

    `signal.signal` and `signal.getsignal` answer as if nothing were installed, so that a program which asks for the
    default, sets a handler of its own or takes it back gets what it would get alone. Processes that this one forks
    do not call `act`.
    """
    install, ask, owner = signal.signal, signal.getsignal, os.getpid()
    signals = [getattr(signal, name) for name in _ENDING if hasattr(signal, name)]  # Windows has SIGTERM only
    is_begun = is_done = False
    waiting: list[int] = []

    def act_once() -> None:
        nonlocal is_begun, is_done
        if is_begun or os.getpid() != owner:
            return
        is_begun = True
        try:
            act()
        finally:  # whatever happens, as where the terminal is gone
            is_done = True
            if waiting:
                end_by(waiting[0])

    def handle(signum: int, frame: FrameType | None) -> None:
        if is_begun and not is_done and os.getpid() == owner:
            waiting.append(signum)
            return
        try:
            act_once()
        finally:
            end_by(signum)

    def end_by(signum: int) -> None:
        install(signum, signal.SIG_DFL)
        os.kill(os.getpid(), signum)

    def without_ours(handler: Any) -> Any:
        return signal.SIG_DFL if handler is handle else handler

    def install_hiding_ours(signalnum: Any, handler: Any) -> Any:
        is_default = handler == signal.SIG_DFL and signalnum in signals and os.getpid() == owner
        return without_ours(install(signalnum, handle if is_default else handler))

    def ask_hiding_ours(signalnum: Any) -> Any:
        return without_ours(ask(signalnum))

    for signum in signals:
        if ask(signum) is signal.SIG_DFL:
            install(signum, handle)
    signal.signal, signal.getsignal = install_hiding_ours, ask_hiding_ours
    return act_once
