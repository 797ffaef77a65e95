"""Recording: what observes a program, the buffers it writes to, and the sessions that open windows onto them."""
