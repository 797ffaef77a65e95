"""AdaptiveLogSoftmaxWithLoss: a softmax over many classes, of which frequent ones are cheap."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

from ..._dispatch.namespace import public
from ..._tensor import Tensor
from .container import ModuleList, Sequential
from .linear import Linear
from .module import Module

__all__ = ["AdaptiveLogSoftmaxWithLoss"]


class _ASMoutput(NamedTuple):
    output: Tensor
    loss: Tensor


class AdaptiveLogSoftmaxWithLoss(Module):
    """Classes, sorted by frequency, in a head and clusters of rarer ones (Grave and others, 2017).

    The head tells the first `cutoffs[0]` classes and every cluster apart; cluster i projects its input to
    in_features / div_value^(i + 1) features. Shapes: input [N, in_features], target [N]; output [N]
    (log-probabilities of the targets), loss [].

    >>> loss = nn.AdaptiveLogSoftmaxWithLoss(8, 20, cutoffs=[5, 10])
    >>> loss(torch.randn(3, 8), torch.tensor([0, 7, 19])).output.shape
    torch.Size([3])
    """

    def __init__(
        self,
        in_features: int,
        n_classes: int,
        cutoffs: Sequence[int],
        div_value: float = 4.0,
        head_bias: bool = False,
        device: Any = None,
        dtype: Any = None,
    ) -> None:
        super().__init__()
        cutoffs = list(cutoffs)
        if not cutoffs:
            raise ValueError("cutoffs should be a sequence of length larger than 0")
        if (
            cutoffs != sorted(cutoffs)
            or min(cutoffs) <= 0
            or max(cutoffs) > n_classes - 1
            or len(set(cutoffs)) != len(cutoffs)
            or any(int(c) != c for c in cutoffs)
        ):
            raise ValueError(
                "cutoffs should be a sequence of unique, positive integers sorted in an increasing order, where each "
                "value is between 1 and n_classes-1"
            )
        self.in_features, self.n_classes = in_features, n_classes
        self.cutoffs = [*cutoffs, n_classes]
        self.div_value, self.head_bias = div_value, head_bias
        self.shortlist_size = self.cutoffs[0]
        self.n_clusters = len(self.cutoffs) - 1
        self.head_size = self.shortlist_size + self.n_clusters
        self.head = Linear(in_features, self.head_size, bias=head_bias, device=device, dtype=dtype)
        self.tail: Any = ModuleList()
        for i in range(self.n_clusters):
            hidden = int(in_features // div_value ** (i + 1))
            size = self.cutoffs[i + 1] - self.cutoffs[i]
            self.tail.append(
                Sequential(
                    Linear(in_features, hidden, bias=False, device=device, dtype=dtype),
                    Linear(hidden, size, bias=False, device=device, dtype=dtype),
                )
            )

    def reset_parameters(self) -> None:
        self.head.reset_parameters()
        for first, second in self.tail:
            first.reset_parameters()
            second.reset_parameters()

    def forward(self, input: Tensor, target: Tensor) -> _ASMoutput:
        """(log-probabilities of the targets, their negative mean)."""
        single = target.dim() == 0
        if target.dim() > 1:
            raise RuntimeError("0D or 1D target tensor expected, multi-target not supported")
        if single and input.dim() != 1 or not single and input.dim() != 2:
            raise RuntimeError(
                "1D target tensor expects 2D input tensors, but found inputs with size"
                if not single
                else "0D target tensor expects 1D input tensors, but found inputs with size",
                tuple(input.shape),
            )
        rows, wanted = (input.unsqueeze(0), target.unsqueeze(0)) if single else (input, target)
        if not single and rows.shape[0] != wanted.shape[0]:
            raise RuntimeError("Input and target should have the same size in the batch dimension.")
        if wanted.numel() and (int(wanted.min()) < 0 or int(wanted.max()) >= self.n_classes):
            raise RuntimeError(
                f"Target values should be in [0, {self.n_classes - 1}], but values in range [{int(wanted.min())}, "
                f"{int(wanted.max())}] were found. "
            )
        output = rows.new_zeros(wanted.shape[0])
        columns = public.zeros_like(wanted)
        borders = [0, *self.cutoffs]
        for i in range(len(borders) - 1):
            chosen = ((wanted >= borders[i]) & (wanted < borders[i + 1])).nonzero().squeeze(1)
            if chosen.numel() == 0:
                continue
            if i == 0:
                columns = columns.index_copy(0, chosen, wanted[chosen])
                continue
            scores = public.log_softmax(self.tail[i - 1](rows.index_select(0, chosen)), 1)
            inside = (wanted[chosen] - borders[i]).unsqueeze(1)
            output = output.index_copy(0, chosen, scores.gather(1, inside).squeeze(1))
            columns = columns.index_fill(0, chosen, self.shortlist_size + i - 1)
        head = public.log_softmax(self.head(rows), 1)
        output = output + head.gather(1, columns.unsqueeze(1)).squeeze(1)
        loss = (-output).mean()
        return _ASMoutput(output.squeeze(0) if single else output, loss)

    def log_prob(self, input: Tensor) -> Tensor:
        """The log-probabilities of all classes: [N, n_classes]."""
        head = public.log_softmax(self.head(input), 1)
        parts = [head[:, : self.shortlist_size]]
        for i, cluster in enumerate(self.tail):
            parts.append(public.log_softmax(cluster(input), 1) + head[:, self.shortlist_size + i].unsqueeze(1))
        return public.cat(parts, 1)

    def predict(self, input: Tensor) -> Tensor:
        """The most probable class of every row: [N]."""
        return self.log_prob(input).argmax(1)
