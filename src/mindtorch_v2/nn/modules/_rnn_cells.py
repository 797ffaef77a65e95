"""One step of recurrent networks as layers: `RNNCell`, `GRUCell`, `LSTMCell`."""

from __future__ import annotations

import math
from typing import Any

from ..._dispatch import aten
from ..._tensor import Parameter, Tensor
from .. import init
from .module import Module


# --- cells
class RNNCellBase(Module):
    """The parameters of a single step.

    >>> nn.GRUCell(3, 5).weight_hh.shape
    torch.Size([15, 5])
    """

    weight_ih: Tensor
    weight_hh: Tensor
    bias_ih: Tensor | None
    bias_hh: Tensor | None

    def __init__(
        self, input_size: int, hidden_size: int, bias: bool, num_chunks: int, device: Any = None, dtype: Any = None
    ) -> None:
        super().__init__()
        self.input_size = input_size
        self.hidden_size = hidden_size
        self.bias = bias
        rows = num_chunks * hidden_size
        options = {"device": device, "dtype": dtype}
        self.weight_ih = Parameter(aten.empty((rows, input_size), **options))
        self.weight_hh = Parameter(aten.empty((rows, hidden_size), **options))
        for name in ("bias_ih", "bias_hh"):
            self.register_parameter(name, Parameter(aten.empty((rows,), **options)) if bias else None)
        self.reset_parameters()

    def reset_parameters(self) -> None:
        """Draws new values, uniform on [-k, k] with k = 1 / sqrt(hidden_size)."""
        bound = 1.0 / math.sqrt(self.hidden_size) if self.hidden_size > 0 else 0
        for weight in self.parameters():
            init.uniform_(weight, -bound, bound)

    def extra_repr(self) -> str:
        parts = [f"{self.input_size}, {self.hidden_size}"]
        if self.bias is not True:
            parts.append(f"bias={self.bias}")
        nonlinearity = self.__dict__.get("nonlinearity", "tanh")
        if nonlinearity != "tanh":
            parts.append(f"nonlinearity={nonlinearity}")
        return ", ".join(parts)

    def _check(self, input: Tensor, hx: Any) -> None:
        name = type(self).__name__
        if input.dim() not in (1, 2):
            raise ValueError(f"{name}: Expected input to be 1D or 2D, got {input.dim()}D instead")
        if isinstance(hx, tuple):
            for i, x in enumerate(hx):
                if x.dim() not in (1, 2):
                    raise ValueError(f"{name}: Expected hx[{i}] to be 1D or 2D, got {x.dim()}D instead")
        elif hx is not None and hx.dim() not in (1, 2):
            raise ValueError(f"{name}: Expected hidden to be 1D or 2D, got {hx.dim()}D instead")

    def _check_sizes(self, input: Tensor, *hidden: Tensor) -> None:
        """RuntimeError unless batch, input and hidden sizes fit."""
        if input.size(1) != self.input_size:
            raise RuntimeError(f"input has inconsistent input_size: got {input.size(1)} expected {self.input_size}")
        for i, h in enumerate(hidden):
            if h.size(0) != input.size(0):
                raise RuntimeError(f"Input batch size {input.size(0)} doesn't match hidden{i} batch size {h.size(0)}")
            if h.size(1) != self.hidden_size:
                raise RuntimeError(
                    f"hidden{i} has inconsistent hidden_size: got {h.size(1)}, expected {self.hidden_size}"
                )

    def _zeros(self, input: Tensor) -> Tensor:
        return aten.zeros((input.size(0), self.hidden_size), dtype=input.dtype, device=input.device)

    def _step(self, op: Any, input: Tensor, hx: Tensor | None) -> Tensor:
        self._check(input, hx)
        batched = input.dim() == 2
        if not batched:
            input = input.unsqueeze(0)
        if hx is None:
            hx = self._zeros(input)
        elif not batched:
            hx = hx.unsqueeze(0)
        self._check_sizes(input, hx)
        made = op(input, hx, self.weight_ih, self.weight_hh, self.bias_ih, self.bias_hh)
        return made if batched else made.squeeze(0)


class RNNCell(RNNCellBase):
    """h' = tanh(W_ih x + b_ih + W_hh h + b_hh), or with relu.

    >>> nn.RNNCell(3, 5)(torch.ones(2, 3)).shape
    torch.Size([2, 5])
    """

    def __init__(
        self,
        input_size: int,
        hidden_size: int,
        bias: bool = True,
        nonlinearity: str = "tanh",
        device: Any = None,
        dtype: Any = None,
    ) -> None:
        super().__init__(input_size, hidden_size, bias, 1, device, dtype)
        self.nonlinearity = nonlinearity

    def forward(self, input: Tensor, hx: Tensor | None = None) -> Tensor:
        if self.nonlinearity not in ("tanh", "relu"):
            raise RuntimeError(f"Unknown nonlinearity: {self.nonlinearity}")
        return self._step(aten.rnn_tanh_cell if self.nonlinearity == "tanh" else aten.rnn_relu_cell, input, hx)


class GRUCell(RNNCellBase):
    """One step of a GRU.

    >>> nn.GRUCell(3, 5)(torch.ones(2, 3)).shape
    torch.Size([2, 5])
    """

    def __init__(
        self, input_size: int, hidden_size: int, bias: bool = True, device: Any = None, dtype: Any = None
    ) -> None:
        super().__init__(input_size, hidden_size, bias, 3, device, dtype)

    def forward(self, input: Tensor, hx: Tensor | None = None) -> Tensor:
        return self._step(aten.gru_cell, input, hx)


class LSTMCell(RNNCellBase):
    """One step of an LSTM: (h', c') from x and (h, c).

    >>> h, c = nn.LSTMCell(3, 5)(torch.ones(2, 3))
    >>> h.shape, c.shape
    (torch.Size([2, 5]), torch.Size([2, 5]))
    """

    def __init__(
        self, input_size: int, hidden_size: int, bias: bool = True, device: Any = None, dtype: Any = None
    ) -> None:
        super().__init__(input_size, hidden_size, bias, 4, device, dtype)

    def forward(self, input: Tensor, hx: tuple[Tensor, Tensor] | None = None) -> tuple[Tensor, Tensor]:
        self._check(input, hx)
        batched = input.dim() == 2
        if not batched:
            input = input.unsqueeze(0)
        if hx is None:
            zeros = self._zeros(input)
            state = (zeros, zeros)
        else:
            state = hx if batched else (hx[0].unsqueeze(0), hx[1].unsqueeze(0))
        self._check_sizes(input, *state)
        h, c = aten.lstm_cell(input, state, self.weight_ih, self.weight_hh, self.bias_ih, self.bias_hh)
        return (h, c) if batched else (h.squeeze(0), c.squeeze(0))
