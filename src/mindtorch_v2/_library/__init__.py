"""Operators that programs define: what `torch.library` and `torch.ops.<namespace>` are made of."""
