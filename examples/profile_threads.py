"""Threads and data loading: see what every thread did, and how long training waits for its batches."""

import threading

import mindtorch_v2 as torch
from mindtorch_v2.profiler import _ExperimentalConfig, profile, record_function
from mindtorch_v2.utils.data import DataLoader, Dataset


class Squares(Dataset[torch.Tensor]):
    def __len__(self) -> int:
        return 32

    def __getitem__(self, i: int) -> torch.Tensor:
        return torch.full((64,), float(i)) ** 2


def work(name: str) -> None:
    with record_function(name):
        torch.randn(100, 100) @ torch.randn(100, 100)


# A profile sees the thread that started it; this option adds all others.
with profile(experimental_config=_ExperimentalConfig(profile_all_threads=True)) as prof:
    threads = [threading.Thread(target=work, args=(f"worker {i}",), name=f"worker-{i}") for i in range(2)]
    for thread in threads:
        thread.start()
    for batch in DataLoader(Squares(), batch_size=8, num_workers=2):
        with record_function("train on a batch"):
            batch.sum()
    for thread in threads:
        thread.join()

for event in prof.events():
    if event.is_user_annotation:
        print(f"thread {event.thread}  {event.cpu_time_total:10.1f} us  {event.name}")
waiting = sum(row.cpu_time_total for row in prof.key_averages() if row.key.startswith("enumerate(DataLoader)"))
print(f"waited {waiting / 1e3:.1f} ms for batches")
