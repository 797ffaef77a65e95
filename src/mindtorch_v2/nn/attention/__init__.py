"""Which ways of computing attention a program allows."""

from __future__ import annotations

import contextlib
import enum
from collections.abc import Iterator
from typing import Any

from ..._lazy_parts import lazy_parts as _lazy_parts
from ...backends import cuda as _cuda

__all__ = ["SDPBackend", "WARN_FOR_UNFUSED_KERNELS", "sdpa_kernel"]
WARN_FOR_UNFUSED_KERNELS = False


class SDPBackend(enum.IntEnum):
    """Ways of computing `scaled_dot_product_attention`.

    Here there is one, whatever is chosen; its results are those of MATH.
    """

    ERROR = -1
    MATH = 0
    FLASH_ATTENTION = 1
    EFFICIENT_ATTENTION = 2
    CUDNN_ATTENTION = 3
    OVERRIDEABLE = 4


_WORDS = {
    "math": SDPBackend.MATH,
    "flash": SDPBackend.FLASH_ATTENTION,
    "mem_efficient": SDPBackend.EFFICIENT_ATTENTION,
    "cudnn": SDPBackend.CUDNN_ATTENTION,
}


def _cur_sdpa_kernel_backends(with_priority: bool = False) -> list[SDPBackend]:
    """The ways that are allowed now."""
    return [backend for word, backend in _WORDS.items() if _cuda._sdp[word]]


@contextlib.contextmanager
def sdpa_kernel(backends: Any, set_priority: bool = False) -> Iterator[None]:
    """A block in which only these ways are allowed, a member of `SDPBackend` or a list of them.

    >>> with nn.attention.sdpa_kernel(nn.attention.SDPBackend.MATH):
    ...     F.scaled_dot_product_attention(torch.ones(1, 2, 4), torch.ones(1, 2, 4), torch.ones(1, 2, 4)).shape
    torch.Size([1, 2, 4])
    """
    if not isinstance(backends, (list, SDPBackend)):
        raise AssertionError("Backend must be an instance of SDPBackend or a list of SDPBackend instances")
    chosen = set(backends if isinstance(backends, list) else [backends])
    with _cuda._sdp_block(**{word: backend in chosen for word, backend in _WORDS.items()}):
        yield


__getattr__, __dir__ = _lazy_parts(__name__, ("bias", "flex_attention"))
