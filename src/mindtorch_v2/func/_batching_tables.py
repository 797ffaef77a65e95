"""Rules of operators on batched tensors that a table declares: each row names operators that are batched in one way.

`register` at the end makes rules of the rows (see _batching.py). A rule that returns NotImplemented leaves the
arguments it got to the general ways, of which the last is a loop.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from .._dispatch import aten
from .._ops.table import Op, find
from .._tensor import Tensor
from ._batched import is_at
from ._batching import RULES, Rule, align_ranks, call, in_batch, pad_rank, size_of

# Elements of broadcast arguments: the ranks of the samples are aligned.
ELEMENTS = ("complex", "polar", "frexp.Tensor", "div.Tensor_mode")
# Losses of elements, summed as `reduction` says.
LOSSES = ("mse_loss", "binary_cross_entropy", "huber_loss", "smooth_l1_loss")
# Matrices in the last two dimensions: every tensor has the batch, and as many dimensions as the largest.
MATRICES = (
    "cholesky_solve",
    "cholesky_inverse",
    "linalg_solve_triangular",
    "linalg_ldl_factor_ex",
    "geqrf",
    "_cdist_forward",
)
# Matrices as well, whose further arguments have other ranks: batched where the dimensions before the matrix are equal.
FACTORS = {"lu_unpack": (2, 1), "linalg_lu_solve": (2, 1, 2), "linalg_ldl_solve": (2, 1, 2)}
# All elements at once: the same operator along the one dimension of a row.
ROWS = {
    "prod": "prod.dim_int",
    "median": "median.dim",
    "nanmedian": "nanmedian.dim",
    "count_nonzero": "count_nonzero.dim_IntList",
    "aminmax": "aminmax",
}
# Images (and sequences, volumes): the batch joins the dimension of examples. The rank of one example without it;
# all tensors are such.
IMAGES: dict[str, int] = {
    **{f"{kind}_pad{n}d": n + 1 for kind in ("reflection", "replication") for n in (1, 2, 3)},
    "im2col": 3,
    "col2im": 2,
    "grid_sampler_2d": 3,
    "grid_sampler_3d": 4,
    "native_channel_shuffle": 2,
    "upsample_bicubic2d": 3,
    "upsample_nearest3d": 4,
    "upsample_trilinear3d": 4,
}
# Values written at indices along a dimension: index and source have the batch too.
SCATTERS = (
    "scatter.src",
    "scatter.value",
    "scatter.reduce",
    "scatter.value_reduce",
    "scatter_reduce.two",
    "scatter_add",
)


def _parts(made: Any, change: Callable[[Tensor], Tensor]) -> Any:
    """Results with each tensor changed."""
    return change(made) if isinstance(made, Tensor) else tuple(change(m) for m in made)


def _elements(op: Op) -> Rule:
    return lambda level, *args: call(op, align_ranks(args, level))


def reduce_loss(loss: Any, reduction: int) -> Any:
    """Losses of samples: none, the mean or the sum over everything but the batch."""
    dims = list(range(1, loss.dim()))
    return loss if not reduction or not dims else loss.mean(dims) if reduction == 1 else loss.sum(dims)


def _loss(op: Op) -> Rule:
    where = [p.name for p in op.schema.params].index("reduction")

    def rule(level: int, *args: Any) -> Any:
        a, b, *rest = align_ranks(args, level)
        if op.name != "binary_cross_entropy":  # it refuses sizes that differ, as it does for one sample
            a, b = aten.broadcast_tensors([a, b])
        elif a.dim() != b.dim() or args[0].shape != args[1].shape:
            return NotImplemented
        else:
            a, b = in_batch(args[0], level), in_batch(args[1], level)
        aligned = [a, b, *rest]
        aligned[where] = 0
        return reduce_loss(call(op, tuple(aligned)), args[where])

    return rule


def _matrices(op: Op) -> Rule:
    def rule(level: int, *args: Any) -> Any:
        rank = max(x.dim() for x in args if isinstance(x, Tensor))
        return call(op, tuple(pad_rank(x, level, rank) for x in args))

    return rule


def _factors(op: Op, ranks: tuple[int, ...]) -> Rule:
    def rule(level: int, *args: Any) -> Any:
        tensors = args[: len(ranks)]
        before = [tuple(x.shape)[: x.dim() - n] for x, n in zip(tensors, ranks)]
        if any(b != before[0] for b in before):
            return NotImplemented
        return call(op, (*(in_batch(x, level) for x in tensors), *args[len(ranks) :]))

    return rule


def _rows(op: Op, along: Op) -> Rule:
    def rule(level: int, self: Any, *rest: Any) -> Any:
        named = {p.name: x for p, x in zip(op.schema.params[1:], rest)}
        if named.pop("dim", None) is not None or named.get("keepdim"):
            return NotImplemented
        row = self._value.reshape([size_of(level), self.numel()])
        axis = along.schema.params[1]
        made = aten.overload(along.name)(row, **{axis.name: [1] if axis.is_list else 1}, **named)
        return made if len(op.schema.returns) > 1 or isinstance(made, Tensor) else made[0]

    return rule


def _images(op: Op, rank: int) -> Rule:
    count = sum(p.is_tensor for p in op.schema.params)

    def rule(level: int, *args: Any) -> Any:
        images = args[:count]
        if any(x.dim() not in (rank, rank + 1) for x in images) and op.name != "native_channel_shuffle":
            return NotImplemented
        examples = images[0].dim() > rank
        size = size_of(level)
        values = [in_batch(x, level) for x in images]
        if examples:
            values = [v.reshape([size * v.shape[1], *v.shape[2:]]) for v in values]
        made = call(op, (*values, *args[count:]))
        return _parts(made, lambda m: m.reshape([size, images[0].shape[0], *m.shape[1:]]) if examples else m)

    return rule


def _scatters(op: Op) -> Rule:
    def rule(level: int, self: Any, dim: int, *rest: Any) -> Any:
        value, *others = (in_batch(x, level) if isinstance(x, Tensor) else x for x in (self, *rest))
        if self.dim():
            return call(op, (value, _behind(dim, self.dim()), *others))
        columns = [x.reshape([x.shape[0], 1]) if isinstance(x, Tensor) else x for x in (value, *others)]
        return call(op, (columns[0], 1, *columns[1:])).reshape([size_of(level)])

    return rule


def _behind(dim: int, rank: int) -> int:
    """A dimension of one sample as a dimension of the value."""
    if not -rank <= dim < rank:
        raise IndexError(f"Dimension out of range (expected to be in range of [{-rank}, {rank - 1}], but got {dim})")
    return dim % rank + 1


def _index_rule(op: Op, spread: str) -> Rule:
    """`index_add` and `index_copy`; with indices that differ by sample, the scatter that does the same."""

    def rule(level: int, self: Any, dim: int, index: Any, source: Any, *rest: Any) -> Any:
        if not self.dim() or source.dim() != self.dim():
            return NotImplemented
        value, axis, added = in_batch(self, level), _behind(dim, self.dim()), in_batch(source, level)
        if not is_at(index, level):
            return call(op, (value, axis, index, added, *rest))
        lined = [1] * added.dim()
        lined[0], lined[axis] = index._value.shape[0], index.numel()
        where = index._value.reshape(lined).expand(list(added.shape))
        added = added * rest[0] if rest and rest[0] != 1 else added
        return aten.overload(spread)(value, axis, where, added)

    return rule


def register() -> None:
    """Makes the rules of all rows."""
    for names, make in ((ELEMENTS, _elements), (LOSSES, _loss), (MATRICES, _matrices), (SCATTERS, _scatters)):
        RULES.update({name: make(find(name)) for name in names})
    RULES.update({name: _factors(find(name), ranks) for name, ranks in FACTORS.items()})
    RULES.update({name: _rows(find(name), find(along)) for name, along in ROWS.items()})
    RULES.update({name: _images(find(name), rank) for name, rank in IMAGES.items()})
    for name, spread in (("index_add", "scatter_add"), ("index_copy", "scatter.src")):
        RULES[name] = _index_rule(find(name), spread)


register()
