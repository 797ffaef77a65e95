"""Sparse tensors: coordinates or compressed rows, and values that are ordinary tensors."""

from . import functions as functions  # puts the methods onto sparse tensors
