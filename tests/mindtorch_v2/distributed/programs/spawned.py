"""Processes that no launcher started form groups: through a file, an address, and the environment."""

import json
import os
import socket
import sys
from datetime import timedelta

import torch
import torch.distributed as dist
import torch.multiprocessing as mp
from torch import nn

SIZE = 3


def train(rank: int, folder: str) -> None:
    dist.init_process_group("gloo", init_method=f"file://{folder}/store", rank=rank, world_size=SIZE)
    torch.manual_seed(rank)
    model = nn.parallel.DistributedDataParallel(nn.Linear(3, 2))
    model(torch.full((2, 3), float(rank))).sum().backward()
    gradient = model.module.weight.grad
    parts = [torch.zeros_like(gradient) for _ in range(SIZE)]
    dist.all_gather(parts, gradient)
    made = {"gradients": [part.tolist() for part in parts], "rank": dist.get_rank(), "group": dist.get_world_size()}
    dist.destroy_process_group()
    dist.init_process_group("gloo", init_method=f"file://{folder}/again", rank=rank, world_size=SIZE)
    value = torch.tensor(rank)
    dist.all_reduce(value)
    made["again"] = int(value)
    with open(f"{folder}/rank{rank}.json", "w") as out:
        json.dump(made, out)


def fail(rank: int, port: int) -> None:
    os.environ.update(MASTER_ADDR="127.0.0.1", MASTER_PORT=str(port), RANK=str(rank), WORLD_SIZE="2")
    dist.init_process_group("gloo")
    if rank == 1:
        raise ValueError("a fault in rank 1")
    dist.barrier()


def leave(rank: int, folder: str) -> None:
    """Rank 1 ends without a word while rank 0 waits for it."""
    dist.init_process_group("gloo", init_method=f"file://{folder}/leaving", rank=rank, world_size=2)
    if rank == 1:
        os._exit(0)
    try:
        dist.barrier()
    except RuntimeError as error:
        with open(f"{folder}/left.txt", "w") as out:
            out.write(str(error))


def left(folder: str) -> str:
    """What rank 0 is told, in processes that nobody ends."""
    processes = [mp.Process(target=leave, args=(rank, folder)) for rank in range(2)]
    for process in processes:
        process.start()
    for process in processes:
        process.join()
    with open(f"{folder}/left.txt") as file:
        return file.read()


def alone(folder: str) -> str:
    try:
        dist.init_process_group(
            "gloo", init_method=f"file://{folder}/alone", rank=0, world_size=3, timeout=timedelta(seconds=0.2)
        )
    except RuntimeError as error:
        return str(error)
    return ""


def main() -> None:
    folder = sys.argv[1]
    mp.set_start_method("spawn")
    mp.spawn(train, args=(folder,), nprocs=SIZE)
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    told = ""
    try:
        mp.spawn(fail, args=(port,), nprocs=2)
    except mp.ProcessRaisedException as error:
        told = str(error)
    with open(f"{folder}/parent.json", "w") as out:
        json.dump({"told": told, "left": left(folder), "alone": alone(folder)}, out)


if __name__ == "__main__":
    main()
