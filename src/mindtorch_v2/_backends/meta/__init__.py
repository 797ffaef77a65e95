"""The meta device: tensors without memory, whose shapes and types are computed only."""
