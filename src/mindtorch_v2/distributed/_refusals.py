"""Parts of torch.distributed that are not here: they can be imported and named, and refuse to work."""

from __future__ import annotations

from typing import Any, NoReturn


def message(name: str) -> str:
    return (
        f"torch.distributed.{name} is not here; torch.distributed has groups of processes, collectives and "
        "DistributedDataParallel"
    )


def function(name: str) -> Any:
    """A function that raises NotImplementedError."""

    def refuse(*args: Any, **kwargs: Any) -> NoReturn:
        raise NotImplementedError(message(name))

    refuse.__name__ = name.rpartition(".")[2]
    refuse.__doc__ = f"Refused: {message(name)}"
    return refuse


def kind(name: str) -> type:
    """A class without instances, for `isinstance` and annotations."""

    def __new__(cls: type, *args: Any, **kwargs: Any) -> NoReturn:
        raise NotImplementedError(message(name))

    return type(name.rpartition(".")[2], (), {"__new__": __new__, "__doc__": f"Has no instances: {message(name)}"})
