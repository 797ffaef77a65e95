"""What hooks on `step` are given, and what parameters are refused."""

import pytest

import mindtorch_v2 as torch


def test_hooks_get_the_optimizer_among_the_arguments_and_may_replace_them():
    parameter = torch.nn.Parameter(torch.ones(1))
    optimizer = torch.optim.SGD([parameter], lr=0.5)
    seen = []

    def closure():
        seen.append("closure")
        return torch.ones(())

    def before(opt, args, kwargs):
        seen.append((args[0] is opt, args[1:], kwargs))
        return (args[0], closure), kwargs

    optimizer.register_step_pre_hook(before)
    optimizer.register_step_post_hook(lambda opt, args, kwargs: seen.append((args[0] is opt, len(args))))
    optimizer.step()
    assert seen == [(True, (), {}), "closure", (True, 2)]


@pytest.mark.parametrize(
    "wrong, said",
    [
        (torch.eye(2).to_sparse(), r"Sparse params at indices \[\[1, 0\]\]: SparseAdam requires dense"),
        (torch.ones(2, dtype=torch.complex64), r"Complex params at indices \[\[1, 0\]\]: SparseAdam does not support"),
    ],
    ids=["sparse", "complex"],
)
def test_parameters_that_sparse_adam_refuses(wrong: torch.Tensor, said: str) -> None:
    with pytest.raises(ValueError, match=said):
        torch.optim.SparseAdam([{"params": [torch.ones(1)]}, {"params": [wrong]}])
