"""The functions of `nn.functional`, by family."""
