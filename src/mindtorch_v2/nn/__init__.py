"""Neural networks: layers, losses, their functions and initial values."""

# ruff: noqa: F403  - the names of nn are those of its modules
from .._lazy_parts import lazy_parts as _lazy_parts
from . import functional, init, modules, parameter, utils
from .modules import *
from .parameter import Buffer, Parameter

__all__ = ["Buffer", "Parameter", "functional", "init", "modules", "parameter", "utils", *modules.__all__]


# parts that few programs need are imported when asked for
__getattr__, __dir__ = _lazy_parts(
    __name__,
    ("attention", "common_types", "grad", "parallel", "quantized"),
    {
        **{name: "nn.modules" for name in dir(modules) if name.startswith("Lazy")},
        **dict.fromkeys(("UninitializedBuffer", "UninitializedParameter"), "nn.parameter"),
        "DataParallel": "nn.parallel",
    },
)


def factory_kwargs(kwargs: "dict[str, object] | None") -> "dict[str, object]":
    """The arguments of a layer that say where and of what type its parameters are made.

    Keys inside "factory_kwargs" and beside it are merged; a key in both, or any other key, is a TypeError.

    >>> nn.factory_kwargs({"dtype": torch.float64})
    {'dtype': torch.float64}
    """
    if kwargs is None:
        return {}
    simple = {"device", "dtype", "memory_format"}
    expected = simple | {"factory_kwargs"}
    if not kwargs.keys() <= expected:
        raise TypeError(f"unexpected kwargs {kwargs.keys() - expected}")
    made = dict(kwargs.get("factory_kwargs", {}))  # type: ignore[call-overload]
    for key in simple & kwargs.keys():
        if key in made:
            raise TypeError(f"{key} specified twice, in **kwargs and in factory_kwargs")
        made[key] = kwargs[key]
    return made
