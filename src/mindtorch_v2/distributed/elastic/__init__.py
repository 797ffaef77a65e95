"""`torch.distributed.elastic`: what programs that `torchrun` starts use of it."""
