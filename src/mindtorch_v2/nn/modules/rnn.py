"""Recurrent layers.

Shapes: T steps, N batch, F input size, H hidden size, D directions, K layers. Input (T, N, F), or (N, T, F) with
`batch_first`, or (T, F); or a PackedSequence. Output (T, N, D H) and the last hidden states (K D, N, H).
"""

from __future__ import annotations

import math
from typing import Any

from ..._dispatch import aten
from ..._tensor import Parameter, Tensor
from .. import init
from ..utils.rnn import PackedSequence
from ._rnn_cells import GRUCell, LSTMCell, RNNCell, RNNCellBase
from ._rnn_options import check_options
from .module import Module

__all__ = ["GRU", "GRUCell", "LSTM", "LSTMCell", "RNN", "RNNBase", "RNNCell", "RNNCellBase"]

for _layer in (RNNCellBase, RNNCell, GRUCell, LSTMCell):
    _layer.__module__ = __name__  # where PyTorch has it, and pickles look for it

_GATES = {"LSTM": 4, "GRU": 3, "RNN_TANH": 1, "RNN_RELU": 1}


class RNNBase(Module):
    """Parameters, checks and reordering that all recurrent layers share."""

    def __init__(
        self,
        mode: str,
        input_size: int,
        hidden_size: int,
        num_layers: int = 1,
        bias: bool = True,
        batch_first: bool = False,
        dropout: float = 0.0,
        bidirectional: bool = False,
        proj_size: int = 0,
        device: Any = None,
        dtype: Any = None,
    ) -> None:
        super().__init__()
        check_options(input_size, hidden_size, num_layers, bias, batch_first, dropout, proj_size)
        if mode not in _GATES:
            raise ValueError("Unrecognized RNN mode: " + mode)
        self.mode = mode
        self.input_size = input_size
        self.hidden_size = hidden_size
        self.num_layers = num_layers
        self.bias = bias
        self.batch_first = batch_first
        self.dropout = float(dropout)
        self.bidirectional = bidirectional
        self.proj_size = proj_size
        self._flat_weights_names: list[str] = []
        self._all_weights: list[list[str]] = []
        for layer in range(num_layers):
            for direction in range(2 if bidirectional else 1):
                names = self._make_layer(layer, "_reverse" if direction else "", {"device": device, "dtype": dtype})
                self._all_weights.append(names)
                self._flat_weights_names.extend(names)
        self.reset_parameters()

    def _make_layer(self, layer: int, suffix: str, options: dict[str, Any]) -> list[str]:
        """Registers the parameters of one layer in one direction; returns their names."""
        directions = 2 if self.bidirectional else 1
        outer = self.proj_size or self.hidden_size
        rows = _GATES[self.mode] * self.hidden_size
        shapes: dict[str, tuple[int, ...]] = {
            "weight_ih": (rows, self.input_size if layer == 0 else outer * directions),
            "weight_hh": (rows, outer),
        }
        if self.bias:
            shapes["bias_ih"] = shapes["bias_hh"] = (rows,)
        if self.proj_size:
            shapes["weight_hr"] = (self.proj_size, self.hidden_size)
        names = []
        for name, shape in shapes.items():
            names.append(f"{name}_l{layer}{suffix}")
            setattr(self, names[-1], Parameter(aten.empty(shape, **options)))
        return names

    def __getstate__(self) -> dict[str, Any]:
        return {**self.__dict__, "_flat_weights": self._flat_weights}  # which PyTorch's modules keep

    def __setstate__(self, state: dict[str, Any]) -> None:
        super().__setstate__({name: value for name, value in state.items() if name != "_flat_weights"})

    @property
    def _flat_weights(self) -> list[Any]:
        return [getattr(self, name) for name in self._flat_weights_names]

    @property
    def all_weights(self) -> list[list[Any]]:
        """The parameters, by layer and direction."""
        return [[getattr(self, name) for name in names] for names in self._all_weights]

    def flatten_parameters(self) -> None:
        """Nothing to do here: parameters are used where they are."""

    def reset_parameters(self) -> None:
        """Draws new values, uniform on [-k, k] with k = 1 / sqrt(hidden_size)."""
        bound = 1.0 / math.sqrt(self.hidden_size)
        for weight in self.parameters():
            init.uniform_(weight, -bound, bound)

    # --- checks
    def check_input(self, input: Tensor, batch_sizes: Tensor | None) -> None:
        """RuntimeError or ValueError if the input does not fit."""
        first = getattr(self, self._flat_weights_names[0])
        if input.dtype is not first.dtype:
            raise ValueError(
                f"RNN input dtype ({input.dtype}) does not match weight dtype ({first.dtype}). Convert input: "
                f"input.to({first.dtype}), or convert model: model.to({input.dtype})"
            )
        wanted = 2 if batch_sizes is not None else 3
        if input.dim() != wanted:
            raise RuntimeError(f"input must have {wanted} dimensions, got {input.dim()}")
        if input.size(-1) != self.input_size:
            raise RuntimeError(
                f"input.size(-1) must be equal to input_size. Expected {self.input_size}, got {input.size(-1)}"
            )

    def _batch(self, input: Tensor, batch_sizes: Tensor | None) -> int:
        if batch_sizes is not None:
            return int(batch_sizes[0])
        return input.size(0) if self.batch_first else input.size(1)

    def _state_shape(self, batch: int, size: int) -> tuple[int, int, int]:
        return self.num_layers * (2 if self.bidirectional else 1), batch, size

    def get_expected_hidden_size(self, input: Tensor, batch_sizes: Tensor | None) -> tuple[int, int, int]:
        return self._state_shape(self._batch(input, batch_sizes), self.proj_size or self.hidden_size)

    def get_expected_cell_size(self, input: Tensor, batch_sizes: Tensor | None) -> tuple[int, int, int]:
        return self._state_shape(self._batch(input, batch_sizes), self.hidden_size)

    def check_hidden_size(
        self, hx: Tensor, expected_hidden_size: tuple[int, int, int], msg: str = "Expected hidden size {}, got {}"
    ) -> None:
        if tuple(hx.size()) != expected_hidden_size:
            raise RuntimeError(msg.format(expected_hidden_size, list(hx.size())))

    def check_forward_args(self, input: Tensor, hidden: Any, batch_sizes: Tensor | None) -> None:
        self.check_input(input, batch_sizes)
        self.check_hidden_size(hidden, self.get_expected_hidden_size(input, batch_sizes))

    def permute_hidden(self, hx: Any, permutation: Tensor | None) -> Any:
        return hx if permutation is None else aten.index_select(hx, 1, permutation)

    # --- the call
    def _name(self) -> str:
        return "RNN" if self.mode.startswith("RNN") else self.mode

    def _zeros(self, input: Tensor, batch: int) -> Any:
        shape = self._state_shape(batch, self.proj_size or self.hidden_size)
        return aten.zeros(shape, dtype=input.dtype, device=input.device)

    def _run(self, input: Tensor, hx: Any, batch_sizes: Tensor | None) -> tuple[Any, ...]:
        op = getattr(aten, self.mode.lower())
        options = (self._flat_weights, self.bias, self.num_layers, self.dropout, self.training, self.bidirectional)
        if batch_sizes is None:
            return op(input, hx, *options, self.batch_first)
        return op(input, batch_sizes, hx, *options)

    def _check_state_dims(self, hx: Any, batched: bool) -> None:
        n, word = (3, "batched 3-D") if batched else (2, "unbatched 2-D")
        if hx.dim() != n:
            raise RuntimeError(f"For {word} input, hx should also be {n}-D but got {hx.dim()}-D tensor")

    def _unsqueeze_state(self, hx: Any) -> Any:
        return hx.unsqueeze(1)

    def _squeeze_state(self, hx: Any) -> Any:
        return hx.squeeze(1)

    def _split(self, made: tuple[Any, ...]) -> tuple[Any, Any]:
        return made[0], made[1]

    def forward(self, input: Any, hx: Any = None) -> Any:
        if isinstance(input, PackedSequence):
            return self._forward_packed(input, hx)
        if input.dim() not in (2, 3):
            raise ValueError(
                f"{self._name()}: Expected input to be 2D or 3D, got {input.dim()}D "
                f"{'tensor ' if self._name() == 'RNN' else ''}instead"
            )
        batched = input.dim() == 3
        batch_dim = 0 if self.batch_first else 1
        if not batched:
            input = input.unsqueeze(batch_dim)
        if hx is None:
            hx = self._zeros(input, input.size(batch_dim))
        else:
            self._check_state_dims(hx, batched)
            hx = hx if batched else self._unsqueeze_state(hx)
        self.check_forward_args(input, hx, None)
        output, hidden = self._split(self._run(input, hx, None))
        return (output, hidden) if batched else (output.squeeze(batch_dim), self._squeeze_state(hidden))

    def _forward_packed(self, packed: PackedSequence, hx: Any) -> Any:
        data, batch_sizes, sorted_indices, unsorted_indices = packed
        hx = self._zeros(data, int(batch_sizes[0])) if hx is None else self.permute_hidden(hx, sorted_indices)
        self.check_forward_args(data, hx, batch_sizes)
        output, hidden = self._split(self._run(data, hx, batch_sizes))
        return PackedSequence(output, batch_sizes, sorted_indices, unsorted_indices), self.permute_hidden(
            hidden, unsorted_indices
        )

    def extra_repr(self) -> str:
        parts = [f"{self.input_size}, {self.hidden_size}"]
        if self.proj_size != 0:
            parts.append(f"proj_size={self.proj_size}")
        if self.num_layers != 1:
            parts.append(f"num_layers={self.num_layers}")
        if self.bias is not True:
            parts.append(f"bias={self.bias}")
        if self.batch_first is not False:
            parts.append(f"batch_first={self.batch_first}")
        if self.dropout != 0:
            parts.append(f"dropout={self.dropout}")
        if self.bidirectional is not False:
            parts.append(f"bidirectional={self.bidirectional}")
        return ", ".join(parts)


class RNN(RNNBase):
    """h_t = tanh(W_ih x_t + b_ih + W_hh h_(t-1) + b_hh), or with relu.

    >>> out, last = nn.RNN(10, 20, 2)(torch.randn(5, 3, 10))
    >>> out.shape, last.shape
    (torch.Size([5, 3, 20]), torch.Size([2, 3, 20]))
    """

    def __init__(
        self,
        input_size: int,
        hidden_size: int,
        num_layers: int = 1,
        nonlinearity: str = "tanh",
        bias: bool = True,
        batch_first: bool = False,
        dropout: float = 0.0,
        bidirectional: bool = False,
        device: Any = None,
        dtype: Any = None,
        **kwargs: Any,
    ) -> None:
        if "proj_size" in kwargs:
            raise ValueError("proj_size argument is only supported for LSTM, not RNN or GRU")
        if nonlinearity not in ("tanh", "relu"):
            raise ValueError(f"Unknown nonlinearity '{nonlinearity}'. Select from 'tanh' or 'relu'.")
        self.__dict__["nonlinearity"] = nonlinearity
        super().__init__(
            f"RNN_{nonlinearity.upper()}",
            input_size,
            hidden_size,
            num_layers,
            bias,
            batch_first,
            dropout,
            bidirectional,
            device=device,
            dtype=dtype,
        )


class GRU(RNNBase):
    """r, z = sigmoid(gates), n = tanh(x_n + r * h_n), h_t = (1 - z) * n + z * h_(t-1).

    >>> output, h = nn.GRU(3, 5, batch_first=True)(torch.ones(2, 4, 3))
    >>> output.shape, h.shape
    (torch.Size([2, 4, 5]), torch.Size([1, 2, 5]))
    """

    def __init__(
        self,
        input_size: int,
        hidden_size: int,
        num_layers: int = 1,
        bias: bool = True,
        batch_first: bool = False,
        dropout: float = 0.0,
        bidirectional: bool = False,
        device: Any = None,
        dtype: Any = None,
        **kwargs: Any,
    ) -> None:
        if "proj_size" in kwargs:
            raise ValueError("proj_size argument is only supported for LSTM, not RNN or GRU")
        super().__init__(
            "GRU",
            input_size,
            hidden_size,
            num_layers,
            bias,
            batch_first,
            dropout,
            bidirectional,
            device=device,
            dtype=dtype,
        )


class LSTM(RNNBase):
    """i, f, o = sigmoid(gates), g = tanh(gate), c_t = f * c_(t-1) + i * g, h_t = o * tanh(c_t).

    The state is a pair (h, c). With `proj_size`, h_t is multiplied by a matrix (proj_size, hidden_size).

        >>> out, (h, c) = nn.LSTM(10, 20, 2)(torch.randn(5, 3, 10))
        >>> out.shape, h.shape
        (torch.Size([5, 3, 20]), torch.Size([2, 3, 20]))
    """

    def __init__(
        self,
        input_size: int,
        hidden_size: int,
        num_layers: int = 1,
        bias: bool = True,
        batch_first: bool = False,
        dropout: float = 0.0,
        bidirectional: bool = False,
        proj_size: int = 0,
        device: Any = None,
        dtype: Any = None,
    ) -> None:
        super().__init__(
            "LSTM",
            input_size,
            hidden_size,
            num_layers,
            bias,
            batch_first,
            dropout,
            bidirectional,
            proj_size,
            device,
            dtype,
        )

    def _zeros(self, input: Tensor, batch: int) -> Any:
        sizes = (self.proj_size or self.hidden_size, self.hidden_size)
        return tuple(aten.zeros(self._state_shape(batch, n), dtype=input.dtype, device=input.device) for n in sizes)

    def check_forward_args(self, input: Tensor, hidden: Any, batch_sizes: Tensor | None) -> None:
        self.check_input(input, batch_sizes)
        self.check_hidden_size(
            hidden[0], self.get_expected_hidden_size(input, batch_sizes), "Expected hidden[0] size {}, got {}"
        )
        self.check_hidden_size(
            hidden[1], self.get_expected_cell_size(input, batch_sizes), "Expected hidden[1] size {}, got {}"
        )

    def permute_hidden(self, hx: Any, permutation: Tensor | None) -> Any:
        return hx if permutation is None else tuple(aten.index_select(x, 1, permutation) for x in hx)

    def _check_state_dims(self, hx: Any, batched: bool) -> None:
        n, word = (3, "batched 3-D") if batched else (2, "unbatched 2-D")
        if hx[0].dim() != n or hx[1].dim() != n:
            raise RuntimeError(
                f"For {word} input, hx and cx should also be {n}-D but got ({hx[0].dim()}-D, {hx[1].dim()}-D) tensors"
            )

    def _unsqueeze_state(self, hx: Any) -> Any:
        return tuple(x.unsqueeze(1) for x in hx)

    def _squeeze_state(self, hx: Any) -> Any:
        return tuple(x.squeeze(1) for x in hx)

    def _split(self, made: tuple[Any, ...]) -> tuple[Any, Any]:
        return made[0], (made[1], made[2])
