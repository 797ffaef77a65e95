"""What exists: the declarations of all operators, by family."""
from . import (  # noqa: F401  - importing a family declares its ops
    activation,
    convolution,
    creation,
    elementwise,
    foreach,
    indexing,
    linalg,
    loss,
    movement,
    normalization,
    pooling,
    random,
    reduction,
    resampling,
    rnn,
    sorting,
)
