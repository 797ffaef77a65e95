"""Where a script spends its time, from the command line: `python -m mindtorch_v2.utils.bottleneck script.py
[arguments]`.

The script runs twice, once under Python's own profiler and once under this package's, so it should end soon and by
itself.
"""
