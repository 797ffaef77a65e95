"""Makes the kernels' pool of threads work hard: long loops from several Python threads, numbers of threads that
change, forks.

Run under ThreadSanitizer by `make sanitize`; by itself it checks that results are the same every time.
"""

from __future__ import annotations

import os
import sys
import threading

import mindtorch_v2 as torch


def much(x: torch.Tensor) -> list[float]:
    nn = torch.nn.functional
    return [t.sum().item() for t in (nn.gelu(x), x.softmax(-1), x.sum(0), nn.layer_norm(x, [x.shape[1]]))]


def main() -> int:
    torch.manual_seed(0)
    x = torch.randn(400, 500)
    torch.set_num_threads(1)
    want = much(x)
    wrong: list[list[float]] = []

    def work() -> None:
        for _ in range(6):
            got = much(x)
            if got != want:
                wrong.append(got)

    for count in (2, 4, 3):
        torch.set_num_threads(count)
        threads = [threading.Thread(target=work) for _ in range(3)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        child = os.fork()
        if child == 0:
            os._exit(0 if much(x) == want else 1)
        if os.waitpid(child, 0)[1] != 0:
            wrong.append([])
    print("the same every time" if not wrong else f"{len(wrong)} results differ")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
