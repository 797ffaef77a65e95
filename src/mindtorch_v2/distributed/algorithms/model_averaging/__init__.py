"""Averages of the parameters of all processes, now and then, instead of averages of gradients in every step."""
