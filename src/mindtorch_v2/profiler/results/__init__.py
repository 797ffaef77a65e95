"""What users hold: profiles and loaded files, events, lists and averages of them, the event tree, PyTorch's
low-level names.
"""
