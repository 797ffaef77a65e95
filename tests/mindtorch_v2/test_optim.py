"""Optimizers: PyTorch's numbers over several steps, groups, state dicts, hooks, misuse."""
from __future__ import annotations

import json

import pytest

import mindtorch_v2 as torch

from .optim import trajectories

WANT = json.loads(trajectories.DATA.read_text())
GOT = trajectories.observe("mindtorch_v2")


# Runs that magnify the rounding of their first steps.
WIDER = {
    "SGD {'momentum': 0.9, 'nesterov': True}": 2e-5,            # diverges: the parameters pass 1e16 and every step multiplies them
    "LBFGS {'line_search_fn': 'strong_wolfe'}": 2e-5,           # divides differences of nearly equal losses
}


@pytest.mark.parametrize("name", WANT)
def test_parameters_follow_pytorchs(name):
    assert GOT[name] == pytest.approx(WANT[name], rel=WIDER.get(name, 2e-6), abs=1e-6)


def params(*values: float):
    made = [torch.tensor([v], requires_grad=True) for v in values]
    for p in made:
        p.grad = torch.ones(1)
    return made


def test_groups_have_options_of_their_own():
    a, b = params(1.0, 1.0)
    opt = torch.optim.SGD([{"params": [a]}, {"params": [b], "lr": 0.5}], lr=0.1)
    opt.step()
    assert (a.item(), b.item()) == (pytest.approx(0.9), 0.5)
    (c,) = params(1.0)
    opt.add_param_group({"params": c, "lr": 1.0})
    opt.step()
    assert c.item() == 0.0


def test_parameters_without_gradient_are_left_alone():
    a, b = params(1.0, 1.0)
    b.grad = None
    opt = torch.optim.Adam([a, b])
    opt.step()
    assert b.item() == 1.0 and b not in opt.state


def test_zero_grad():
    (a,) = params(1.0)
    opt = torch.optim.SGD([a], lr=0.1)
    opt.zero_grad(set_to_none=False)
    assert a.grad.tolist() == [0.0]
    opt.zero_grad()
    assert a.grad is None


@pytest.mark.parametrize("name", ["SGD", "Adam", "AdamW", "Adamax", "NAdam", "RAdam", "RMSprop", "Adagrad", "Adadelta"])
def test_state_dict_resumes_the_run(name):
    options = {"momentum": 0.9} if name == "SGD" else {}

    def run(opt, p, n):
        for _ in range(n):
            p.grad = p.detach() * 2
            opt.step()

    (a,) = params(1.0)
    first = getattr(torch.optim, name)([a], lr=0.1, **options)
    run(first, a, 3)
    b = a.detach().clone().requires_grad_()
    second = getattr(torch.optim, name)([b], lr=0.7, **options)
    second.load_state_dict(first.state_dict())
    run(first, a, 3)
    run(second, b, 3)
    assert a.item() == b.item()


def test_state_dict_of_another_shape_is_refused():
    opt = torch.optim.SGD(params(1.0), lr=0.1)
    other = torch.optim.SGD(params(1.0, 2.0), lr=0.1)
    with pytest.raises(ValueError, match="contains a parameter group that doesn't match the size of optimizer's group"):
        opt.load_state_dict(other.state_dict())


def test_hooks_see_every_step():
    seen = []
    opt = torch.optim.SGD(params(1.0), lr=0.1)
    opt.register_step_pre_hook(lambda o, args, kwargs: seen.append("pre"))
    handle = opt.register_step_post_hook(lambda o, args, kwargs: seen.append("post"))
    opt.step()
    handle.remove()
    opt.step()
    assert seen == ["pre", "post", "pre"]


def test_closure_is_evaluated_with_gradients():
    (a,) = params(3.0)
    opt = torch.optim.SGD([a], lr=0.1)

    def closure():
        opt.zero_grad()
        loss = (a * a).sum()
        loss.backward()
        return loss

    assert opt.step(closure).item() == 9.0 and a.item() == pytest.approx(2.4)


def test_repr_lists_the_options():
    assert repr(torch.optim.SGD(params(1.0), lr=0.1)) == (
        "SGD (\nParameter Group 0\n    dampening: 0\n    differentiable: False\n    foreach: None\n    fused: None\n    lr: 0.1\n"
        "    maximize: False\n    momentum: 0\n    nesterov: False\n    weight_decay: 0\n)")


@pytest.mark.parametrize("make, error, text", [
    (lambda: torch.optim.SGD([], lr=0.1), ValueError, "optimizer got an empty parameter list"),
    (lambda: torch.optim.SGD(torch.ones(1), lr=0.1), TypeError, "should be an iterable of Tensors or dicts"),
    (lambda: torch.optim.SGD([3], lr=0.1), TypeError, "optimizer can only optimize Tensors, but one of the params is int"),
    (lambda: torch.optim.SGD(params(1.0), lr=-1), ValueError, "Invalid learning rate: -1"),
    (lambda: torch.optim.Adam(params(1.0), betas=(2.0, 0.9)), ValueError, "Invalid beta parameter at index 0: 2.0"),
    (lambda: torch.optim.SGD(params(1.0), nesterov=True), ValueError, "Nesterov momentum requires a momentum and zero dampening"),
    (lambda: torch.optim.SGD([torch.ones(1, requires_grad=True) * 2]), ValueError, "can't optimize a non-leaf Tensor"),
])
def test_misuse(make, error, text):
    with pytest.raises(error, match=text):
        make()


