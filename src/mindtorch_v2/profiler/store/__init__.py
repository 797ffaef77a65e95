"""Stores: what is kept of a window as columns, how it is built from recorded rows, and its file format."""
