"""Algorithms on top of the collectives."""
