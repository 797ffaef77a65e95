"""One process raises, exits, dies, or calls another collective than the others."""

import os
import signal
import sys
from datetime import timedelta

import torch
import torch.distributed as dist

kind = sys.argv[1]
# only a call that nobody answers needs the timeout; on a busy machine the first barrier may take seconds
dist.init_process_group("gloo", timeout=timedelta(seconds=6 if kind == "absent" else 120))
rank = dist.get_rank()
dist.barrier()
if rank == 1 and kind == "raise":
    raise ValueError("a fault in rank 1")
if rank == 1 and kind == "exit":
    sys.exit(7)
if rank == 0 and kind == "desert":
    os._exit(0)
if rank == 1 and kind == "kill":
    os.kill(os.getpid(), signal.SIGKILL)
if rank == 1 and kind == "other":
    dist.all_gather([torch.ones(2), torch.ones(2)], torch.ones(2))
if rank == 1 and kind == "absent":
    dist.recv(torch.ones(1), src=0)  # nobody sends
dist.all_reduce(torch.ones(3))
dist.barrier()
