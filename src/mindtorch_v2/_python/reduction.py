"""Python conventions of reductions and indexing that no schema expresses: norms by name, which outputs of unique a
caller sees, `nonzero(as_tuple=True)`. Importing this module puts them in front of the ops of the same names.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from .._dispatch import aten
from .._dispatch.namespace import fronts
from .._dispatch.out_form import deliver
from .._tensor import Tensor


def norm(
    input: Tensor,
    p: Any = "fro",
    dim: int | Sequence[int] | None = None,
    keepdim: bool = False,
    out: Tensor | None = None,
    dtype: Any = None,
) -> Tensor:
    """The p-norm of all elements, or along `dim`; "fro" is the 2-norm of the elements, "nuc" the nuclear norm of
    matrices.

    >>> torch.norm(torch.tensor([3., 4.]))
    tensor(5.)
    """
    dims = None if dim is None else (dim,) if isinstance(dim, int) else tuple(dim)
    if p == "nuc":
        result = aten.linalg_matrix_norm(input, p, (-2, -1) if dims is None else dims, keepdim, dtype=dtype)
    elif isinstance(p, str) and p != "fro":
        raise RuntimeError(f"only valid string values are 'fro' and 'nuc', found {p}")
    elif p == "fro" and dims is not None and len(dims) > 2:
        raise ValueError(f"Expected dim to have at most two elements, but got {len(dims)}")
    else:
        result = aten.linalg_vector_norm(input, 2 if p in ("fro", None) else p, dims, keepdim, dtype=dtype)
    return deliver("linalg_matrix_norm" if p == "nuc" else "linalg_vector_norm", result, out, input)


def _requested_results(found: Sequence[Tensor], return_inverse: bool, return_counts: bool) -> Any:
    values, inverse, counts = found
    if not (return_inverse or return_counts):
        return values
    return (values, *([inverse] if return_inverse else []), *([counts] if return_counts else []))


def unique(
    input: Tensor,
    sorted: bool = True,
    return_inverse: bool = False,
    return_counts: bool = False,
    dim: int | None = None,
) -> Any:
    """The distinct values in order, or the distinct slices along `dim`; on request where each element went, and how
    often each value occurs.

    >>> torch.unique(torch.tensor([3, 1, 3]))
    tensor([1, 3])
    """
    if dim is None:
        found = aten._unique2(input, sorted, return_inverse, return_counts)
    else:
        found = aten.unique_dim(input, dim, sorted, return_inverse, return_counts)
    return _requested_results(found, return_inverse, return_counts)


def unique_consecutive(
    input: Tensor, return_inverse: bool = False, return_counts: bool = False, dim: int | None = None
) -> Any:
    """The values without immediate repetitions.

    >>> torch.unique_consecutive(torch.tensor([1, 1, 2, 1]))
    tensor([1, 2, 1])
    """
    found = aten.overload("unique_consecutive")(input, return_inverse, return_counts, dim)
    return _requested_results(found, return_inverse, return_counts)


def nonzero(input: Tensor, *, out: Tensor | None = None, as_tuple: bool = False) -> Any:
    """The coordinates of the elements that are not zero: one row each, or one tensor per dimension.

    >>> torch.nonzero(torch.tensor([0, 3, 0, 5]))
    tensor([[1],
            [3]])
    """
    if as_tuple:
        return tuple(aten.nonzero_numpy(input))
    return deliver("nonzero", aten.overload("nonzero")(input), out, input)


FUNCTIONS: dict[str, Any] = {f.__name__: f for f in (norm, unique, unique_consecutive, nonzero)}
METHODS: dict[str, Any] = FUNCTIONS
fronts.update({name: function for name, function in FUNCTIONS.items() if name != "unique"})  # no op is called unique
for _name, _function in METHODS.items():
    setattr(Tensor, _name, _function)
