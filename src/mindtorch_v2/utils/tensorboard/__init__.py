"""Writing what TensorBoard shows. It needs the package tensorboard: `pip install tensorboard`."""

from __future__ import annotations

try:
    import tensorboard as _tensorboard  # noqa: F401
except ModuleNotFoundError as error:
    if error.name != "tensorboard":
        raise
    raise ModuleNotFoundError(
        "torch.utils.tensorboard writes with the package tensorboard, which is not installed: pip install tensorboard",
        name="tensorboard",
    ) from None

from .writer import FileWriter, SummaryWriter

__all__ = ["FileWriter", "SummaryWriter"]
