"""Tests of recording that nobody has to start in time."""
