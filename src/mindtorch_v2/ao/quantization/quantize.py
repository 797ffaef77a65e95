"""Dynamic quantisation: weights of 8 or 16 bits, inputs quantised when they come."""

from __future__ import annotations

import copy
from typing import Any, NoReturn

from ..._python.quantized_types import qint8
from ...nn.modules.linear import Linear
from ...nn.modules.rnn import GRU, LSTM, GRUCell, LSTMCell, RNNCell
from ...nn.modules.sparse import Embedding, EmbeddingBag
from ..nn.quantized import dynamic
from .qconfig import QConfig, default_dynamic_qconfig, float16_dynamic_qconfig

__all__ = ["convert", "prepare", "prepare_qat", "quantize_dynamic"]
_RECURRENT = (LSTM, GRU, LSTMCell, GRUCell, RNNCell)
_STATIC = (
    "static quantisation computes on quantised tensors, which are not here. torch.ao.quantization.quantize_dynamic "
    "makes linear layers of 8-bit weights"
)


def _config_of(name: str, module: Any, spec: dict[Any, Any]) -> Any:
    """How a module is quantised: by its path before its type; None for not at all."""
    return spec[name] if name in spec else spec.get(type(module))


def _spec(qconfig_spec: Any, dtype: Any) -> dict[Any, Any]:
    by_type = {"torch.qint8": default_dynamic_qconfig, "torch.float16": float16_dynamic_qconfig}
    if isinstance(qconfig_spec, dict):
        return qconfig_spec
    if str(dtype) not in by_type:
        raise ValueError(f"Don't know how to quantize with default settings for {dtype}. Provide full qconfig please")
    chosen = by_type[str(dtype)]
    return dict.fromkeys((Linear, *_RECURRENT) if qconfig_spec is None else qconfig_spec, chosen)


def quantize_dynamic(
    model: Any, qconfig_spec: Any = None, dtype: Any = qint8, mapping: Any = None, inplace: bool = False
) -> Any:
    """A model whose linear layers have weights of 8-bit integers (`dtype=torch.float16`: of half precision) and
    quantise their inputs as they come; the numbers are those of PyTorch's x86 engines. Other layers that PyTorch
    quantises dynamically (LSTM, GRU and their cells, embeddings) raise NotImplementedError: leave them out by
    `qconfig_spec={torch.nn.Linear}`.

    >>> model = torch.nn.Sequential(torch.nn.Linear(4, 2), torch.nn.ReLU())
    >>> torch.ao.quantization.quantize_dynamic(model, {torch.nn.Linear})
    Sequential(
      (0): DynamicQuantizedLinear(in_features=4, out_features=2, dtype=torch.qint8)
      (1): ReLU()
    )
    """
    if mapping is not None:
        raise NotImplementedError("quantize_dynamic(mapping=...): own tables of layers are not read here")
    spec = _spec(qconfig_spec, dtype)
    model = model if inplace else copy.deepcopy(model)
    return _converted("", model, spec)


def _converted(name: str, module: Any, spec: dict[Any, Any]) -> Any:
    config = _config_of(name, module, spec)
    if config is not None and type(module) is Linear:
        if not isinstance(config, QConfig):
            raise ValueError(f"expected a QConfig for {name or type(module).__name__}, got {config!r}")
        module.qconfig = config
        return dynamic.Linear.from_float(module)
    if config is not None and isinstance(module, (*_RECURRENT, Embedding, EmbeddingBag)):
        raise NotImplementedError(
            f"quantize_dynamic: {type(module).__name__} is not quantised here; give qconfig_spec={{torch.nn.Linear}} "
            "to quantise linear layers and leave it as it is"
        )
    for key, child in list(module.named_children()):
        made = _converted(f"{name}.{key}" if name else key, child, spec)
        if made is not child:
            module._modules[key] = made
    return module


def prepare(*args: Any, **kwargs: Any) -> NoReturn:
    """Refused: it prepares a model for static quantisation."""
    raise NotImplementedError(f"torch.ao.quantization.prepare: {_STATIC}")


def prepare_qat(*args: Any, **kwargs: Any) -> NoReturn:
    """Refused: it prepares a model for training towards static quantisation."""
    raise NotImplementedError(f"torch.ao.quantization.prepare_qat: {_STATIC}")


def convert(*args: Any, **kwargs: Any) -> NoReturn:
    """Refused: it makes layers that compute on quantised tensors."""
    raise NotImplementedError(f"torch.ao.quantization.convert: {_STATIC}")
