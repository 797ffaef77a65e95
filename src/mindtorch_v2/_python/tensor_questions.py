"""Questions about tensors: those that PyTorch has as functions too (`torch.is_signed(x)`, `x.is_signed()`), and those
that ask for a layout which strided tensors do not have.
"""

from __future__ import annotations

from typing import Any, NoReturn

from .._tensor import Tensor


def get_device(input: Tensor) -> int:  # noqa: A002 - PyTorch's name
    """The number of the device that `input` is on, -1 for the CPU.

    >>> torch.get_device(torch.ones(1))
    -1
    """
    return input.get_device()


def is_conj(input: Tensor) -> bool:  # noqa: A002 - PyTorch's name
    """False: there are no conjugate views, conj() computes at once.

    >>> torch.is_conj(torch.tensor([1j]).conj())
    False
    """
    return False


def is_distributed(input: Tensor) -> bool:  # noqa: A002 - PyTorch's name
    """False: a tensor lies in one process. PyTorch says so of every tensor, too.

    >>> torch.is_distributed(torch.ones(1))
    False
    """
    return False


def is_inference(input: Tensor) -> bool:  # noqa: A002 - PyTorch's name
    """Whether `input` was made in inference mode.

    >>> torch.is_inference(torch.ones(1))
    False
    """
    return input.is_inference()


def is_neg(input: Tensor) -> bool:  # noqa: A002 - PyTorch's name
    """False: there are no negated views, negation computes at once.

    >>> torch.is_neg(-torch.ones(1))
    False
    """
    return False


def is_signed(input: Tensor) -> bool:  # noqa: A002 - PyTorch's name
    """Whether the type of `input` has negative numbers.

    >>> torch.is_signed(torch.tensor([1], dtype=torch.uint8))
    False
    """
    return input.is_signed()


def _is_set_to(self: Tensor, tensor: Tensor) -> bool:
    """Whether both tensors are the same elements of the same memory, in the same order.

    >>> x = torch.ones(2)
    >>> x.is_set_to(x[:]), x.is_set_to(x.clone())
    (True, False)
    """
    return (
        self.device == tensor.device
        and self.dtype is tensor.dtype
        and self.data_ptr() == tensor.data_ptr()
        and self.shape == tensor.shape
        and self.stride() == tensor.stride()
    )


def _dim_order(self: Tensor, *, ambiguity_check: bool = False) -> tuple[int, ...]:
    """The dimensions from the one with the largest stride to the one with the smallest.

    >>> torch.ones(2, 3).T.dim_order()
    (1, 0)
    """
    strides = self.stride()
    order = tuple(sorted(range(self.dim()), key=lambda dim: -strides[dim]))
    if ambiguity_check and any(strides[a] == strides[b] for a, b in zip(order, order[1:])):
        raise RuntimeError(
            "The tensor does not have unique dim order, or cannot map to exact one of the given memory formats."
        )
    return order


def _sparse_dim(self: Tensor) -> int:
    """The number of sparse dimensions: none, in a strided tensor."""
    return 0


def _dense_dim(self: Tensor) -> int:
    """The number of dense dimensions: all, in a strided tensor."""
    return self.dim()


_EXPECTED_LAYOUTS = {
    "coalesce": "sparse coordinate",
    "is_coalesced": "sparse coordinate",
    "indices": "sparse coordinate",
    "values": "sparse",
    "crow_indices": "sparse row compressed",
    "col_indices": "sparse row compressed",
    "ccol_indices": "sparse column compressed",
    "row_indices": "sparse column compressed",
}


def _refusal(name: str, layout: str) -> Any:
    def refuse(self: Tensor) -> NoReturn:
        raise RuntimeError(f"{name} expected {layout} tensor layout but got Strided")

    refuse.__name__, refuse.__qualname__ = name, f"Tensor.{name}"
    refuse.__doc__ = f"Of tensors with {layout} layout; a strided one raises RuntimeError."
    return refuse


def install() -> None:
    """Puts the methods into Tensor. Sparse and nested tensors have their own."""
    for function in (is_conj, is_distributed, is_neg):
        setattr(Tensor, function.__name__, function)
    for name, layout in _EXPECTED_LAYOUTS.items():
        setattr(Tensor, name, _refusal(name, layout))
    for name, method in {
        "is_set_to": _is_set_to,
        "dim_order": _dim_order,
        "sparse_dim": _sparse_dim,
        "dense_dim": _dense_dim,
    }.items():
        setattr(Tensor, name, method)
