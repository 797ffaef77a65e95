"""Sequences of different lengths: padded, or packed without padding."""

from __future__ import annotations

from collections import namedtuple
from collections.abc import Iterable, Sequence
from typing import Any

from ..._dispatch import aten
from ..._dtype import int64
from ..._python.creation import tensor
from ..._tensor import Tensor

__all__ = [
    "PackedSequence",
    "invert_permutation",
    "pack_padded_sequence",
    "pack_sequence",
    "pad_packed_sequence",
    "pad_sequence",
    "unpack_sequence",
    "unpad_sequence",
]

_Fields = namedtuple("PackedSequence", ["data", "batch_sizes", "sorted_indices", "unsorted_indices"])  # type: ignore[name-match]


def invert_permutation(permutation: Tensor | None) -> Tensor | None:
    """The permutation that undoes another.

    >>> nn.utils.rnn.invert_permutation(torch.tensor([2, 0, 1]))
    tensor([1, 2, 0])
    """
    if permutation is None:
        return None
    out = aten.empty_like(permutation)
    return out.scatter_(0, permutation, aten.arange(0, permutation.numel(), device=permutation.device))


class PackedSequence(_Fields):
    """The elements of several sequences, time step by time step.

    data              (sum of lengths, *)
    batch_sizes       how many sequences have a first, second, ... element
    sorted_indices    the order (long to short) in which the sequences were packed; None if they were given in order
    unsorted_indices  the order that restores the original one

    >>> packed = nn.utils.rnn.pack_sequence([torch.tensor([1, 2, 3]), torch.tensor([4])])
    >>> packed.data, packed.batch_sizes
    (tensor([1, 4, 2, 3]), tensor([2, 1, 1]))
    """

    def __new__(
        cls, data: Any, batch_sizes: Any = None, sorted_indices: Any = None, unsorted_indices: Any = None
    ) -> PackedSequence:
        if unsorted_indices is None:
            unsorted_indices = invert_permutation(sorted_indices)
        if batch_sizes is None:
            if not isinstance(data, (list, tuple)) or len(data) != 2:
                raise AssertionError("Expected data to be a list or tuple of length 2")
            data, batch_sizes = data
        if batch_sizes.device.type != "cpu":
            raise ValueError(
                "batch_sizes should always be on CPU. Instances of PackedSequence should never be created manually. "
                "They should be instantiated by functions like pack_sequence and pack_padded_sequences in "
                "nn.utils.rnn. https://pytorch.org/docs/stable/nn.html#torch.nn.utils.rnn.pack_sequence"
            )
        return super().__new__(cls, data, batch_sizes, sorted_indices, unsorted_indices)

    def to(self, *args: Any, **kwargs: Any) -> PackedSequence:
        """Moves or casts the data (the indices move along to another device)."""
        data = self.data.to(*args, **kwargs)
        if data is self.data:
            return self
        moved = [None if i is None else i.to(data.device) for i in (self.sorted_indices, self.unsorted_indices)]
        return type(self)(data, self.batch_sizes, *moved)

    def cpu(self) -> PackedSequence:
        return self.to("cpu")

    def double(self) -> PackedSequence:
        return self._with(self.data.double())

    def float(self) -> PackedSequence:
        return self._with(self.data.float())

    def half(self) -> PackedSequence:
        return self._with(self.data.half())

    def long(self) -> PackedSequence:
        return self._with(self.data.long())

    def int(self) -> PackedSequence:
        return self._with(self.data.int())

    def _with(self, data: Any) -> PackedSequence:
        return type(self)(data, self.batch_sizes, self.sorted_indices, self.unsorted_indices)

    @property
    def is_cuda(self) -> bool:
        return False

    def is_pinned(self) -> bool:
        """Whether the data lies in host memory that an accelerator reaches directly."""
        return self.data.is_pinned()

    def pin_memory(self) -> PackedSequence:
        """The same sequence with its data in such memory."""
        return self._with(self.data.pin_memory())


def _as_lengths(lengths: Any) -> Tensor:
    if isinstance(lengths, Tensor):
        return lengths
    return tensor(lengths, dtype=int64, device="cpu")


def pack_padded_sequence(
    input: Tensor, lengths: Any, batch_first: bool = False, enforce_sorted: bool = True
) -> PackedSequence:
    """Packs a padded batch (T, N, *). With `enforce_sorted` the lengths must fall; otherwise the batch is sorted.

    >>> nn.utils.rnn.pack_padded_sequence(torch.tensor([[1, 2], [3, 0]]), [2, 1], batch_first=True).data
    tensor([1, 3, 2])
    """
    lengths = _as_lengths(lengths)
    if enforce_sorted:
        sorted_indices = None
    else:
        lengths, sorted_indices = aten.sort(lengths, descending=True)
        sorted_indices = sorted_indices.to(input.device)
        input = aten.index_select(input, 0 if batch_first else 1, sorted_indices)
    data, batch_sizes = aten._pack_padded_sequence(input, lengths, batch_first)
    return PackedSequence(data, batch_sizes, sorted_indices, None)


def pad_packed_sequence(
    sequence: PackedSequence, batch_first: bool = False, padding_value: float = 0.0, total_length: int | None = None
) -> tuple[Tensor, Tensor]:
    """The padded batch and the lengths.

    >>> packed = nn.utils.rnn.pack_sequence([torch.tensor([1, 2]), torch.tensor([4])])
    >>> nn.utils.rnn.pad_packed_sequence(packed, batch_first=True)
    (tensor([[1, 2],
            [4, 0]]), tensor([2, 1]))
    """
    steps = sequence.batch_sizes.size(0)
    if total_length is not None:
        if total_length < steps:
            raise ValueError(
                "Expected total_length to be at least the length of the longest sequence in input, but got "
                f"total_length={total_length} and max sequence length being {steps}"
            )
        steps = total_length
    padded, lengths = aten._pad_packed_sequence(sequence.data, sequence.batch_sizes, batch_first, padding_value, steps)
    order = sequence.unsorted_indices
    if order is not None:
        return aten.index_select(padded, 0 if batch_first else 1, order), lengths[order.cpu()]
    return padded, lengths


def pad_sequence(
    sequences: Any, batch_first: bool = False, padding_value: float = 0.0, padding_side: str = "right"
) -> Tensor:
    """Stacks sequences of (L, *) with padding: (longest, N, *) or (N, longest, *).

    >>> nn.utils.rnn.pad_sequence([torch.tensor([1, 2]), torch.tensor([4])], batch_first=True)
    tensor([[1, 2],
            [4, 0]])
    """
    if not isinstance(sequences, Iterable):
        raise RuntimeError(
            "pad_sequence: Expected iterable for input sequences, but got arg of type: " + str(type(sequences))
        )
    if isinstance(sequences, Tensor):
        sequences = aten.unbind(sequences, 0)
    return aten.pad_sequence(list(sequences), batch_first, padding_value, padding_side)


def unpad_sequence(padded_sequences: Tensor, lengths: Tensor, batch_first: bool = False) -> list[Tensor]:
    """The sequences of a padded batch, cut to their lengths (copies).

    >>> nn.utils.rnn.unpad_sequence(torch.tensor([[1, 2], [4, 0]]), torch.tensor([2, 1]), batch_first=True)
    [tensor([1, 2]), tensor([4])]
    """
    if not batch_first:
        padded_sequences = padded_sequences.transpose(0, 1)
    positions = aten.arange(padded_sequences.shape[1], device=lengths.device)
    return [
        sequence[positions < length]
        for sequence, length in zip(aten.unbind(padded_sequences, 0), aten.unbind(lengths, 0))
    ]


def pack_sequence(sequences: Sequence[Tensor], enforce_sorted: bool = True) -> PackedSequence:
    """Packs a list of sequences of (L, *).

    >>> nn.utils.rnn.pack_sequence([torch.tensor([1, 2, 3]), torch.tensor([4])]).batch_sizes
    tensor([2, 1, 1])
    """
    lengths = _as_lengths([s.size(0) for s in sequences])
    return pack_padded_sequence(pad_sequence(sequences), lengths, enforce_sorted=enforce_sorted)


def unpack_sequence(packed_sequences: PackedSequence) -> list[Tensor]:
    """The list of sequences of a packed batch.

    >>> nn.utils.rnn.unpack_sequence(nn.utils.rnn.pack_sequence([torch.tensor([1, 2]), torch.tensor([4])]))
    [tensor([1, 2]), tensor([4])]
    """
    padded, lengths = pad_packed_sequence(packed_sequences, batch_first=True)
    return unpad_sequence(padded, lengths, batch_first=True)
