"""Learning-rate schedules, against PyTorch's numbers."""

from __future__ import annotations

import json

import pytest

import mindtorch_v2 as torch

from . import schedules

WANT = json.loads(schedules.DATA.read_text())
GOT = schedules.observe("mindtorch_v2")


@pytest.mark.parametrize("name", WANT)
def test_rates_are_pytorchs(name):
    assert GOT[name] == WANT[name]


def _sgd(**options):
    return torch.optim.SGD([torch.ones(1, requires_grad=True)], lr=0.1, **options)


def test_state_dict_resumes_the_schedule():
    s = torch.optim.lr_scheduler
    first = _sgd()
    a = s.CosineAnnealingLR(first, 10)
    for _ in range(4):
        first.step()
        a.step()
    second = _sgd()
    b = s.CosineAnnealingLR(second, 10)
    b.load_state_dict(a.state_dict())
    second.load_state_dict(first.state_dict())
    first.step(), a.step(), second.step(), b.step()
    assert a.get_last_lr() == b.get_last_lr()


def test_scheduler_before_optimizer_warns():
    opt = _sgd()
    scheduler = torch.optim.lr_scheduler.StepLR(opt, 1)
    with pytest.warns(UserWarning, match=r"Detected call of `lr_scheduler.step\(\)` before `optimizer.step\(\)`"):
        scheduler.step()


def test_too_many_steps_of_one_cycle():
    opt = _sgd(momentum=0.9)
    scheduler = torch.optim.lr_scheduler.OneCycleLR(opt, 0.1, total_steps=2)
    with pytest.raises(ValueError, match="Tried to step 3 times. The total number of steps is 2"):
        for _ in range(3):
            opt.step()
            scheduler.step()


def test_wrong_arguments():
    s = torch.optim.lr_scheduler
    with pytest.raises(TypeError, match="int is not an Optimizer"):
        s.StepLR(3, 1)
    with pytest.raises(ValueError, match="Expected 1 lr_lambdas, but got 2"):
        s.LambdaLR(_sgd(), [lambda e: 1, lambda e: 1])
    with pytest.raises(ValueError, match="between 0 and 1"):
        s.ConstantLR(_sgd(), factor=2.0)
    with pytest.raises(KeyError, match="initial_lr"):
        s.StepLR(_sgd(), 1, last_epoch=3)
