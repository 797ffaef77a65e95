"""Helpers around training: checkpointing and hooks."""
