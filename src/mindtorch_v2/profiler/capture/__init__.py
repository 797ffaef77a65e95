"""Capture that is there when it matters: the flight recorder, control from outside, child processes."""
