"""Signal processing: `torch.signal`."""

from . import windows as windows
