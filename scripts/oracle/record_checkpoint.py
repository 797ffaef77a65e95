"""Saves a checkpoint with PyTorch, for the tests that read it. Needs torch==2.13.0."""

from __future__ import annotations

import pathlib
from collections import OrderedDict

import torch

PATH = pathlib.Path(__file__).resolve().parents[2] / "tests" / "mindtorch_v2" / "data" / "from_pytorch.pt"


def main() -> None:
    torch.manual_seed(0)
    a = torch.arange(12.0).reshape(3, 4)
    model = torch.nn.Sequential(torch.nn.Linear(3, 2), torch.nn.BatchNorm1d(2))
    optimizer = torch.optim.Adam(model.parameters())
    model(torch.ones(2, 3)).sum().backward()
    optimizer.step()
    torch.save(
        {
            "a": a,
            "view": a[1:],
            "t": a.t(),
            "p": torch.nn.Parameter(torch.ones(2, 2)),
            "i": torch.arange(3),
            "b": torch.tensor([True]),
            "size": a.shape,
            "dtype": torch.float16,
            "device": torch.device("cpu"),
            "plain": [1, 2.5, "x", None, b"by", (1,)],
            "od": OrderedDict(k=1),
            "c": torch.tensor([1j]),
            "empty": torch.empty(0),
            "zero": torch.tensor(3.0),
            "half": torch.ones(2).half(),
            "model": model.state_dict(),
            "optimizer": optimizer.state_dict(),
        },
        PATH,
    )


if __name__ == "__main__":
    main()
