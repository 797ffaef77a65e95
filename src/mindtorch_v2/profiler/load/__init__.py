"""Loading traces that PyTorch or this profiler wrote, as stores."""
