"""All parameters as one vector."""

from __future__ import annotations

from collections.abc import Iterable

from ..._dispatch import aten
from ..._tensor import Tensor

__all__ = ["parameters_to_vector", "vector_to_parameters"]


def parameters_to_vector(parameters: Iterable[Tensor]) -> Tensor:
    """The elements of all parameters, one after the other.

    >>> nn.utils.parameters_to_vector([torch.ones(2), torch.zeros(1, 2)])
    tensor([1., 1., 0., 0.])
    """
    return aten.cat([p.view(-1) for p in parameters])


def vector_to_parameters(vec: Tensor, parameters: Iterable[Tensor]) -> None:
    """Makes the parameters views of consecutive parts of a vector.

    >>> w = nn.Parameter(torch.zeros(2))
    >>> nn.utils.vector_to_parameters(torch.tensor([1., 2.]), [w])
    >>> w.data
    tensor([1., 2.])
    """
    if not isinstance(vec, Tensor):
        raise TypeError(f"expected torch.Tensor, but got: {type(vec).__module__}.{type(vec).__qualname__}")
    start = 0
    for param in parameters:
        count = param.numel()
        param.data = vec[start : start + count].view_as(param).data
        start += count
