"""The layers of `torch.nn`."""

# ruff: noqa: F403  - the public names of each file are its __all__
from ..._lazy_parts import lazy_parts as _lazy_parts
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


# layers that take their sizes from the first input are made when first asked for
_LAZY_LAYERS = (
    "Linear",
    *(f"{kind}{n}d" for kind in ("BatchNorm", "Conv", "ConvTranspose", "InstanceNorm") for n in (1, 2, 3)),
)
__getattr__, __dir__ = _lazy_parts(
    __name__, ("lazy",), {f"Lazy{layer}": "nn.modules._lazy_layers" for layer in _LAZY_LAYERS}
)
