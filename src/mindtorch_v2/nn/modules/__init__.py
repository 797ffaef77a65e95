"""The layers of `torch.nn`."""

# ruff: noqa: F403  - the public names of each file are its __all__
from . import (
    activation,
    adaptive,
    attention,
    batchnorm,
    channelshuffle,
    container,
    conv,
    distance,
    dropout,
    flatten,
    fold,
    instancenorm,
    linear,
    linear_cross_entropy_options,
    loss,
    normalization,
    padding,
    parameter_containers,
    pixelshuffle,
    pooling,
    rnn,
    sparse,
    transformer,
    upsampling,
)
from .activation import *
from .adaptive import *
from .attention import *
from .batchnorm import *
from .channelshuffle import *
from .container import *
from .conv import *
from .distance import *
from .dropout import *
from .flatten import *
from .fold import *
from .instancenorm import *
from .linear import *
from .linear_cross_entropy_options import *
from .loss import *
from .module import Module
from .normalization import *
from .padding import *
from .parameter_containers import *
from .pixelshuffle import *
from .pooling import *
from .rnn import *
from .sparse import *
from .transformer import *
from .upsampling import *

_FILES = (
    activation,
    adaptive,
    attention,
    batchnorm,
    channelshuffle,
    container,
    conv,
    distance,
    dropout,
    flatten,
    fold,
    instancenorm,
    linear,
    linear_cross_entropy_options,
    loss,
    normalization,
    padding,
    parameter_containers,
    pixelshuffle,
    pooling,
    rnn,
    sparse,
    transformer,
    upsampling,
)
__all__ = ["Module", *(name for file in _FILES for name in file.__all__ if name != "NonDynamicallyQuantizableLinear")]


def __getattr__(name: str) -> object:
    """Layers that take their sizes from the first input are made when first asked for."""
    if name.startswith("Lazy"):
        from . import _lazy_layers

        return getattr(_lazy_layers, name)
    if name == "lazy":
        from importlib import import_module

        return import_module(f"{__name__}.lazy")
    raise AttributeError(f"module 'torch.nn.modules' has no attribute '{name}'")
