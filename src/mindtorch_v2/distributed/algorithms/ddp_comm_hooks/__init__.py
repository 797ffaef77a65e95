"""How DistributedDataParallel averages gradients: hooks for `register_comm_hook`."""
