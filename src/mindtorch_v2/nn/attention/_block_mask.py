"""Masks of attention by blocks: which blocks of (queries, keys) hold a position that the mask lets through.

A mask lists, for every row of blocks, the columns that are partly let through (`kv_num_blocks` of them, first in
`kv_indices`) and those that are let through whole (`full_kv_...`), and the same for columns (`q_...`).
"""

from __future__ import annotations

import inspect
import math
from collections.abc import Callable
from typing import Any

from ... import _dtype
from ..._device import resolve
from ..._dispatch import aten
from ..._tensor import Tensor

_DEFAULT_SPARSE_BLOCK_SIZE = 128
_NAMES = ("kv_num_blocks", "kv_indices", "full_kv_num_blocks", "full_kv_indices")
# the order in which a device's backward pass shall write: of no use here
_ORDERS = ("dq_write_order", "dq_write_order_full", "dq_kv_order", "dq_kv_order_spt")
_TRANSPOSED = ("q_num_blocks", "q_indices", "full_q_num_blocks", "full_q_indices")


def noop_mask(batch: Any, head: Any, token_q: Any, token_kv: Any) -> Any:
    """A mask that lets everything through."""
    return aten.ones_like(batch, dtype=_dtype.bool_)


def _of_a_slice(b: Any, h: Any, q_idx: Any, kv_idx: Any) -> Any:
    raise RuntimeError(
        "Cannot use mask_mod from a sliced BlockMask: the function was written for positions in the whole mask. Give "
        "the BlockMask a mask_mod for the slice before it is used in flex_attention."
    )


def _positions(b: int, h: int, q: int, kv: int, device: Any) -> tuple[Any, ...]:
    """Tensors of positions along each of four dimensions; together they broadcast to all of them."""
    shapes = ((b, 1, 1, 1), (1, h, 1, 1), (1, 1, q, 1), (1, 1, 1, kv))
    return tuple(aten.arange(math.prod(shape), device=device).view(shape) for shape in shapes)


def _argument_count(mod_fn: Any) -> int:
    if not callable(mod_fn):
        raise TypeError(f"{mod_fn} is not a callable object")
    kinds = (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)
    given = [p for p in inspect.signature(mod_fn).parameters.values() if p.kind in kinds]
    return len([p for p in given if p.default is inspect.Parameter.empty])


def create_mask(
    mod_fn: Callable[..., Any], B: int | None, H: int | None, Q_LEN: int, KV_LEN: int, device: Any = "cpu"
) -> Any:
    """The mask as a tensor of bools, (B, H, Q_LEN, KV_LEN); 1 for dimensions that are None. A function of five
    arguments is one of scores: it lets through what it does not make minus infinity.
    """
    shape, count = (B or 1, H or 1, Q_LEN, KV_LEN), _argument_count(mod_fn)
    found = _positions(*shape, resolve(device))
    if count == 5:
        scores = mod_fn(aten.zeros(list(shape), device=resolve(device)), *found)
        return aten.expand(scores != -math.inf, shape).clone()
    assert count == 4, f"Expected 4 or 5 positional args, got {count}"
    return aten.expand(mod_fn(*found), shape).clone()


def _listed(dense: Any) -> tuple[Any, Any]:
    """(count, columns) for every row of a dense mask of blocks; the columns that are set stand first."""
    order = aten.argsort(dense, stable=True, dim=-1, descending=True)
    return dense.sum(-1).to(_dtype.int32), order.to(_dtype.int32)


def _dense(count: Any, columns: Any) -> Any:
    """The dense mask of blocks, in int32, of such a list."""
    n = columns.shape[-1]
    kept = aten.arange(n, device=columns.device) < count.unsqueeze(-1)
    made = aten.zeros([*columns.shape[:-1], n + 1], dtype=_dtype.int32, device=columns.device)
    index = aten.where(kept, columns, n).to(_dtype.int64)
    return made.scatter(-1, index, 1).narrow(-1, 0, n)


class BlockMask:
    """A mask by its blocks, with the function of positions that it was made of."""

    seq_lengths: tuple[int, int]
    kv_num_blocks: Any
    kv_indices: Any
    full_kv_num_blocks: Any
    full_kv_indices: Any
    q_num_blocks: Any
    q_indices: Any
    full_q_num_blocks: Any
    full_q_indices: Any
    BLOCK_SIZE: tuple[int, int]
    mask_mod: Any
    dq_write_order = dq_write_order_full = dq_kv_order = dq_kv_order_spt = None

    def __init__(
        self, seq_lengths: tuple[int, int], lists: dict[str, Any], BLOCK_SIZE: tuple[int, int], mask_mod: Any
    ) -> None:
        self.seq_lengths = seq_lengths
        for name in (*_NAMES, *_TRANSPOSED):
            setattr(self, name, lists.get(name))
        self.BLOCK_SIZE, self.mask_mod = BLOCK_SIZE, mask_mod

    @classmethod
    def from_kv_blocks(
        cls,
        kv_num_blocks: Tensor,
        kv_indices: Tensor,
        full_kv_num_blocks: Tensor | None = None,
        full_kv_indices: Tensor | None = None,
        BLOCK_SIZE: int | tuple[int, int] = _DEFAULT_SPARSE_BLOCK_SIZE,
        mask_mod: Callable[..., Any] | None = None,
        seq_lengths: tuple[int, int] | None = None,
        compute_q_blocks: bool = True,
    ) -> BlockMask:
        """The mask of the given lists of blocks; `mask_mod` says which positions in them are let through."""
        if kv_indices.dim() < 2:
            raise RuntimeError("BlockMask must have at least 2 dimensions")
        if (full_kv_num_blocks is None) != (full_kv_indices is None):
            raise AssertionError("full_kv_num_blocks and full_kv_indices must be both provided or omitted")
        size = (BLOCK_SIZE, BLOCK_SIZE) if isinstance(BLOCK_SIZE, int) else BLOCK_SIZE
        lists: dict[str, Any] = dict(
            zip(_NAMES, (kv_num_blocks, kv_indices, full_kv_num_blocks, full_kv_indices), strict=True)
        )
        if compute_q_blocks:
            for i in (0, 2):
                if lists[_NAMES[i]] is not None:
                    turned = _dense(lists[_NAMES[i]], lists[_NAMES[i + 1]]).transpose(-2, -1)
                    lists[_TRANSPOSED[i]], lists[_TRANSPOSED[i + 1]] = _listed(turned)
        rows, columns = kv_indices.shape[-2:]
        lengths = (rows * size[0], columns * size[1]) if seq_lengths is None else seq_lengths
        return cls(lengths, lists, size, noop_mask if mask_mod is None else mask_mod)

    @property
    def shape(self) -> tuple[int, ...]:
        return (*self.kv_indices.shape[:-2], *self.seq_lengths)

    def as_tuple(self, flatten: bool = True) -> tuple[Any, ...]:
        """Everything that describes the mask; with `flatten` lengths and block sizes stand for themselves."""
        lists = [getattr(self, name) for name in (*_NAMES, *_TRANSPOSED, *_ORDERS)]
        if flatten:
            return (*self.seq_lengths, *lists, *self.BLOCK_SIZE, self.mask_mod)
        return (self.seq_lengths, *lists, self.BLOCK_SIZE, self.mask_mod)

    def _with(self, change: Callable[[Any], Any], mask_mod: Any) -> BlockMask:
        lists = {name: getattr(self, name) for name in (*_NAMES, *_TRANSPOSED)}
        changed = {name: None if t is None else change(t) for name, t in lists.items()}
        return BlockMask(self.seq_lengths, changed, self.BLOCK_SIZE, mask_mod)

    def to(self, device: Any) -> BlockMask:
        """The same on another device."""
        return self._with(lambda t: t.to(device), self.mask_mod)

    def __getitem__(self, index: Any) -> BlockMask:
        """The mask of chosen batches or heads, whose dimensions stay. It has no function of positions."""
        index = index if isinstance(index, tuple) else (index,)
        index = tuple(slice(i, i + 1 or None) if isinstance(i, int) else i for i in index)
        return self._with(lambda t: t[index], _of_a_slice)

    def _adjust(self, new_q_len: int, new_kv_len: int) -> BlockMask:
        """The mask of the first queries and keys."""
        rows, columns = math.ceil(new_q_len / self.BLOCK_SIZE[0]), math.ceil(new_kv_len / self.BLOCK_SIZE[1])
        lists: dict[str, Any] = {}
        for i in (0, 2):
            count, indices = getattr(self, _NAMES[i]), getattr(self, _NAMES[i + 1])
            cut = None if count is None else _dense(count, indices)[..., :rows, :columns]
            if cut is not None:
                lists[_NAMES[i]], lists[_NAMES[i + 1]] = _listed(cut)
        return BlockMask.from_kv_blocks(
            **lists, BLOCK_SIZE=self.BLOCK_SIZE, mask_mod=self.mask_mod, seq_lengths=(new_q_len, new_kv_len)
        )

    def numel(self) -> int:
        return math.prod(self.shape)

    def sparsity(self) -> float:
        """The share of scores, in percent, that need not be computed; negative where blocks reach beyond the ends."""
        blocks = self.kv_num_blocks.sum().item()
        if self.full_kv_num_blocks is not None:
            blocks += self.full_kv_num_blocks.sum().item()
        return float(100 * (1 - blocks * self.BLOCK_SIZE[0] * self.BLOCK_SIZE[1] / self.numel()))

    def to_dense(self) -> Any:
        """Which blocks hold a position that is let through, as a tensor of int32, (B, H, blocks of queries, blocks
        of keys).
        """
        made = _dense(self.kv_num_blocks, self.kv_indices)
        if self.full_kv_num_blocks is not None:
            made = made | _dense(self.full_kv_num_blocks, self.full_kv_indices)
        return made

    def to_string(self, grid_size: Any = (20, 20), limit: int = 4) -> str:
        """A picture of the blocks, for at most `limit` batches and heads; `grid_size` cells at most, -1 for all."""
        dense = self.to_dense()
        *batch, rows, columns = dense.shape
        grid = (grid_size, grid_size) if isinstance(grid_size, int) else grid_size
        down, across = [1 if g == -1 else max(1, math.ceil(n / g)) for n, g in zip((rows, columns), grid)]
        flat, pictures = dense.reshape([-1, rows, columns]), []
        for k in range(min(limit, flat.shape[0])):
            position: list[int] = []
            rest = k
            for n in reversed(batch):
                position.insert(0, rest % n)
                rest //= n
            pictures.append(f"{tuple(position)}\n{_picture(flat[k], down, across)}")
        if flat.shape[0] > limit:
            pictures.append(
                "...\nTo print out more, set BlockMask.to_string(limit=N)\nYou can also index (BlockMask[batch, head]) "
                "to choose a specific batch or head"
            )
        return "\n".join(pictures)

    def __str__(self) -> str:
        return f"BlockMask(shape={self.shape}, sparsity={self.sparsity():.2f}%, \n{self.to_string().strip()}\n)"

    def __repr__(self) -> str:
        lists = {name: getattr(self, name) for name in (*_NAMES, *_TRANSPOSED)}
        lines = [f"    {name}={None if t is None else t.shape}," for name, t in lists.items()]
        return "\n".join(
            [
                "BlockMask(",
                *lines,
                f"    BLOCK_SIZE={self.BLOCK_SIZE},",
                f"    shape={self.shape},",
                f"    sparsity={self.sparsity():.2f}%,",
                f"    mask_mod={getattr(self.mask_mod, '__name__', self.mask_mod)}",
                ")",
            ]
        )


def _picture(dense: Any, down: int, across: int) -> str:
    cells = dense.tolist()
    lines = []
    for r in range(0, len(cells), down):
        line = ""
        for c in range(0, len(cells[0]), across):
            inside = [v for row in cells[r : r + down] for v in row[c : c + across]]
            line += "██" if all(inside) else "░░" if any(inside) else "  "
        lines.append(line + "\n")
    return "".join(lines)


def create_block_mask(
    mask_mod: Callable[..., Any],
    B: int | None,
    H: int | None,
    Q_LEN: int,
    KV_LEN: int,
    device: Any = "cpu",
    BLOCK_SIZE: int | tuple[int, int] = _DEFAULT_SPARSE_BLOCK_SIZE,
    _compile: bool = False,
) -> BlockMask:
    """The mask of a function of positions, for `flex_attention`."""
    if (count := _argument_count(mask_mod)) != 4:
        raise AssertionError(f"Expected 4 or 5 positional args, got {count}")
    size = (BLOCK_SIZE, BLOCK_SIZE) if isinstance(BLOCK_SIZE, int) else BLOCK_SIZE
    mask = create_mask(mask_mod, B, H, Q_LEN, KV_LEN, device)
    down, across = math.ceil(Q_LEN / size[0]), math.ceil(KV_LEN / size[1])
    padded = aten.constant_pad_nd(mask, (0, across * size[1] - KV_LEN, 0, down * size[0] - Q_LEN), False)
    cells = padded.view(mask.shape[0], mask.shape[1], down, size[0], across, size[1])
    full, some = cells.all(5).all(3), cells.any(5).any(3)
    lists = (*_listed(some & ~full), *_listed(full))
    return BlockMask.from_kv_blocks(*lists, BLOCK_SIZE=size, mask_mod=mask_mod, seq_lengths=(Q_LEN, KV_LEN))
