"""Where a tensor lives."""

from __future__ import annotations

import threading
from typing import Any

from . import _accelerators

BUILT_IN = ("cpu", "meta")
# The types of devices that PyTorch names, in the order in which its messages list them.
NAMED_BY_PYTORCH = (
    "cpu",
    "cuda",
    "ipu",
    "xpu",
    "mkldnn",
    "opengl",
    "opencl",
    "ideep",
    "hip",
    "ve",
    "fpga",
    "maia",
    "xla",
    "lazy",
    "vulkan",
    "mps",
    "meta",
    "hpu",
    "mtia",
    "privateuseone",
)
# Those that are not here: they can be named and compared; using one is refused in PyTorch's words.
FOREIGN = tuple(name for name in NAMED_BY_PYTORCH if name not in BUILT_IN)


class device:
    """`device("cpu")`, `device("name", 1)`, `device("name:1")`: a type and an optional index.

    A bare index means an accelerator.

    >>> torch.device("cpu", 0)
    device(type='cpu', index=0)
    >>> torch.device("meta").type
    'meta'
    """

    __slots__ = ("type", "index")
    type: str
    index: int | None

    def __init__(self, type: Any = None, index: int | None = None) -> None:
        if isinstance(type, device):
            type, index = type.type, type.index if index is None else index
        elif isinstance(type, int) and not isinstance(type, bool):
            type, index = _accelerators.default_name(), type
        elif not isinstance(type, str):
            raise TypeError(
                f"device() received an invalid combination of arguments - got ({type.__class__.__name__}), but "
                "expected one of:\n * (torch.device device)\n * (str type, int index = -1)"
            )
        if index is not None and not isinstance(index, int):
            raise TypeError(f"device(): argument 'index' (position 2) must be int, not {index.__class__.__name__}")
        if ":" in type:
            if index is not None:
                raise RuntimeError(
                    f"type (string) must not include an index because index was passed explicitly: {type}"
                )
            type, _, digits = type.partition(":")
            if not digits.isdigit():
                raise RuntimeError(f"Invalid device string: '{type}:{digits}'")
            index = int(digits)
        if type not in BUILT_IN and type not in FOREIGN and not _accelerators.knows(type):
            if not type.replace("_", "").isalpha():
                raise RuntimeError(f"Invalid device string: '{type}'")
            raise RuntimeError(f"Expected one of {', '.join(types())} device type at start of device string: {type}")
        object.__setattr__(self, "type", type)
        object.__setattr__(self, "index", index)

    def __setattr__(self, name: str, value: Any) -> None:
        raise AttributeError(f"attribute '{name}' of 'torch.device' objects is not writable")

    def __eq__(self, other: object) -> bool:
        return isinstance(other, device) and self.type == other.type and self.index == other.index

    def __hash__(self) -> int:
        return hash((self.type, self.index))

    def __repr__(self) -> str:
        return (
            f"device(type='{self.type}')" if self.index is None else f"device(type='{self.type}', index={self.index})"
        )

    def __str__(self) -> str:
        return self.type if self.index is None else f"{self.type}:{self.index}"

    def __reduce__(self) -> tuple[Any, ...]:
        return device, (self.type, self.index)

    def __enter__(self) -> device:
        _stack().append(self)
        return self

    def __exit__(self, *exc: object) -> None:
        _stack().pop()


CPU = device("cpu")
META = device("meta")
_local = threading.local()


def _stack() -> list[device]:
    try:
        return _local.stack
    except AttributeError:
        _local.stack = []
        return _local.stack


_default: device = CPU


def get_default() -> device:
    """The device of factories that name none: the innermost `with device(...)`, else the default.

    >>> torch.get_default_device()
    device(type='cpu')
    """
    stack = _stack()
    return stack[-1] if stack else _default


def set_default(d: Any) -> None:
    """Sets the device on which tensors are made without one; None means the CPU.

    >>> torch.set_default_device("meta")
    >>> torch.ones(1).device
    device(type='meta')
    >>> torch.set_default_device(None)
    """
    global _default
    _default = CPU if d is None else device(d)


def types() -> tuple[str, ...]:
    """The device types that can be here."""
    return (*BUILT_IN, *_accelerators.names())


def refusal(type: str) -> Exception:
    """The error for using a device that is not here, as in PyTorch built without it."""
    if type in ("cuda", "xpu"):
        return AssertionError(f"Torch not compiled with {type.upper()} enabled")
    if type == "mtia":
        return AssertionError(
            "Torch not compiled with MTIA enabled. Ensure you have `import "
            "mtia.host_runtime.torch_mtia.dynamic_library` "
            "in your python src file and include `//mtia/host_runtime/torch_mtia:torch_mtia` as your target dependency!"
        )
    if type in ("hpu", "privateuseone"):
        return ModuleNotFoundError(f"No module named 'torch.{type}'")
    return RuntimeError(f"PyTorch is not linked with support for {type} devices")


def resolve(d: Any) -> device:
    """A device from None, a string, an index or a device. An accelerator without an index is the calling thread's."""
    found = get_default() if d is None else d if d.__class__ is device else device(d)
    if found.type in FOREIGN and not _accelerators.knows(found.type):
        raise refusal(found.type)
    if found.index is None and found.type not in BUILT_IN:
        return device(found.type, _accelerators.current_index(found.type))
    return found
