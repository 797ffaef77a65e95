"""`mindprof`: profiles from the command line, one module per command."""
