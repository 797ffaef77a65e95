"""Sparse tensors: coordinates or compressed rows, and values that are ordinary tensors."""

from . import methods as methods  # puts the methods onto sparse tensors
