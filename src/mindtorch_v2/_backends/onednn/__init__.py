"""oneDNN before the CPU kernels, where it is installed (`pip install 'mindtorch_v2[fast]'`) and quicker.

Nothing needs it: a family's file here puts the library's kernels before those of `_backends/cpu`, and each of them
hands on what it declines, which is everything where there is no library. It is looked for when a kernel is first given
enough to do, see `library.py`. The C part (`_native/onednn`) keeps a plan for every combination of shapes: a
primitive of the library, and reorders between its layouts and the arrays'.
"""
