"""Writing a store to files. Nothing here computes what `analysis` can be asked for."""
