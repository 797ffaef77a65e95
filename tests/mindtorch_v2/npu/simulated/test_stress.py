"""Random programs over streams, events, views, frees and copies give what the CPU gives."""

from __future__ import annotations

import random

import pytest

import mindtorch_v2 as torch

npu = torch.npu
SHAPES = [(7,), (4, 5), (33, 3), (2, 3, 4)]


class Program:
    """The same random steps on the CPU and on a device with several streams."""

    def __init__(self, seed: int) -> None:
        self.random = random.Random(seed)
        self.streams = [npu.default_stream(), *(npu.Stream() for _ in range(3))]
        self.values: list = []  # (tensor here, tensor there, stream that wrote it)

    def run(self, steps: int) -> None:
        for _ in range(steps):
            step = self.random.choice(
                [
                    self.create,
                    self.create,
                    self.combine,
                    self.combine,
                    self.combine,
                    self.write,
                    self.view,
                    self.drop,
                    self.drop,
                    self.move,
                    self.compare,
                ]
            )
            stream = self.random.choice(self.streams)
            with npu.stream(stream):
                step(stream)

    def use(self, stream):
        """A random value, ordered and registered for use in a stream."""
        if not self.values:
            self.create(stream)
        here, there, writer = self.random.choice(self.values)
        if writer != stream:
            stream.wait_stream(writer)
            there.record_stream(stream)
        return here, there, writer

    def create(self, stream) -> None:
        here = torch.randn(self.random.choice(SHAPES))
        there = here.pin_memory().to("npu", non_blocking=True) if self.random.random() < 0.5 else here.to("npu")
        self.values.append((here, there, stream))

    def combine(self, stream) -> None:
        here, there, _ = self.use(stream)
        op = self.random.choice(
            [
                lambda t: t + t,
                lambda t: t * 0.5,
                lambda t: t.tanh(),
                lambda t: t.sum(0),
                lambda t: (t - 1).relu(),
                lambda t: t.unsqueeze(0) * t,
                lambda t: t.exp().clamp(max=3.0),
            ]
        )
        self.values.append((op(here), op(there), stream))

    def write(self, stream) -> None:
        here, there = self.use(stream)[:2]
        here, there = here.clone(), there.clone()  # the value itself may be read by another stream
        here.mul_(0.9).add_(0.1)
        there.mul_(0.9).add_(0.1)
        self.values.append((here, there, stream))

    def view(self, stream) -> None:
        here, there, writer = self.use(stream)
        if here.dim() > 1:
            self.values.append((here.transpose(0, 1)[1:], there.transpose(0, 1)[1:], writer))

    def drop(self, stream) -> None:
        if self.values:
            self.values.pop(self.random.randrange(len(self.values)))

    def move(self, stream) -> None:
        if self.random.random() < 0.2:
            npu.empty_cache()

    def compare(self, stream) -> None:
        here, there = self.use(stream)[:2]
        assert torch.allclose(here, there.cpu(), rtol=1e-4, atol=1e-4)

    def check(self) -> None:
        npu.synchronize()
        for here, there, _ in self.values:
            assert torch.allclose(here, there.cpu(), rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize("seed", range(12))
def test_random_programs(seed):
    program = Program(seed)
    program.run(150)
    program.check()


def test_a_program_with_slow_kernels(slow):
    for op in ("Add", "Muls", "Tanh"):
        slow(op, 2)
    program = Program(99)
    program.run(100)
    program.check()
