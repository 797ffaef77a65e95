"""PyTorch's zip checkpoint format: the archive, the pickler that writes it and the restricted one that reads it."""
