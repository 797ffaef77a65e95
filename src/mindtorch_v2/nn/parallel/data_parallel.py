"""A module whose batches are divided among the devices of this process."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import chain
from typing import Any, Generic, TypeVar

from ..._device import device as make_device
from ..modules.module import Module
from .parallel_apply import parallel_apply
from .replicate import replicate
from .scatter_gather import gather, scatter_kwargs

__all__ = ["DataParallel", "data_parallel"]


def _devices() -> list[int]:
    from ... import accelerator

    return list(range(accelerator.device_count()))


T = TypeVar("T", bound=Module)


class DataParallel(Module, Generic[T]):
    """Runs copies of a module on parts of a batch, one per device, and puts the results together on the first.

    Without an accelerator it is the module itself, called through this one, whose parameters are named `module.weight`.

    >>> model = nn.DataParallel(nn.Linear(3, 2))
    >>> model(torch.ones(4, 3)).shape, [name for name, _ in model.named_parameters()]
    (torch.Size([4, 2]), ['module.weight', 'module.bias'])
    """

    def __init__(
        self, module: T, device_ids: Sequence[Any] | None = None, output_device: Any = None, dim: int = 0
    ) -> None:
        super().__init__()
        from ... import accelerator

        self.module, self.dim = module, dim
        if not accelerator.is_available():
            self.device_ids: list[Any] = []
            self.output_device = None
            self.src_device_obj = None
            return
        kind = accelerator.current_accelerator()
        ids = _devices() if device_ids is None else list(device_ids)
        if not ids:
            raise RuntimeError("no available devices were found")
        self.device_ids = [d if isinstance(d, int) else make_device(d).index for d in ids]
        self.output_device = self.device_ids[0] if output_device is None else output_device
        self.src_device_obj = make_device(kind.type if kind else "cpu", self.device_ids[0])
        if len(self.device_ids) == 1:
            self.module.to(self.src_device_obj)

    def forward(self, *inputs: Any, **kwargs: Any) -> Any:
        if not self.device_ids:
            return self.module(*inputs, **kwargs)
        for t in chain(self.module.parameters(), self.module.buffers()):
            if t.device != self.src_device_obj:
                raise RuntimeError(
                    f"module must have its parameters and buffers on device {self.src_device_obj} (device_ids[0]) but "
                    f"found one of them on device: {t.device}"
                )
        parts, keywords = scatter_kwargs(inputs, kwargs, self.device_ids, self.dim)
        if not parts and not keywords:
            parts, keywords = ((),), ({},)
        if len(self.device_ids) == 1:
            return self.module(*parts[0], **keywords[0])
        copies = replicate(self.module, self.device_ids[: len(parts)])
        return gather(
            parallel_apply(copies, parts, keywords, self.device_ids[: len(copies)]), self.output_device, self.dim
        )


def data_parallel(
    module: Module,
    inputs: Any,
    device_ids: Sequence[Any] | None = None,
    output_device: Any = None,
    dim: int = 0,
    module_kwargs: dict[str, Any] | None = None,
) -> Any:
    """What `DataParallel(module, ...)(*inputs, **module_kwargs)` gives."""
    given = inputs if isinstance(inputs, tuple) else () if inputs is None else (inputs,)
    return DataParallel(module, device_ids, output_device, dim)(*given, **(module_kwargs or {}))
