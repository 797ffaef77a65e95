"""A complete device in one folder: numpy with a delay and a stream. `import toy_device`, then `x.to("toy")`."""

from mindtorch_v2.utils.backend_toolkit import register_backend

from .backend import ToyBackend

BACKEND = register_backend(ToyBackend())
