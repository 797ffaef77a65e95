"""What memory was for, by the flow of tensors. All expected values are PyTorch's answers to the same programs."""

from __future__ import annotations

import pytest

import mindtorch_v2 as torch
import mindtorch_v2.nn as nn
from mindtorch_v2.profiler import profile
from mindtorch_v2.profiler._memory_profiler import Category, CategoryDict, TensorKey

_SMALL = 100  # bytes: below are single numbers, of which there are more or fewer by implementation


def recording():
    return profile(record_shapes=True, profile_memory=True, with_stack=True)


def by_size(prof):
    """The categories of all versions of blocks by their bytes, which tell the tensors of a program apart; "-" for
    none.
    """
    memory, found = prof._memory_profile(), {}
    for _, _, (key, version), nbytes in memory.timeline:
        if nbytes >= _SMALL and isinstance(key, TensorKey) and key.id >= 0:
            category = memory.categories.get(key, version)
            found.setdefault(nbytes, set()).add(category.name if category else "-")
    return {nbytes: " ".join(sorted(names)) for nbytes, names in sorted(found.items())}


def small_model():
    return nn.Sequential(nn.Linear(8, 32), nn.ReLU(), nn.Linear(32, 5))


def test_without_parameters_and_gradients_nothing_is_known():
    w = torch.ones(64, requires_grad=True)
    with recording() as prof:
        z = (torch.ones(50, 64) * w).sum(1)
        z + z
    assert by_size(prof) == {200: "-", 256: "-", 12800: "-"}


def test_without_a_module_all_of_the_forward_pass_is_input_to_the_gradients():
    w = torch.ones(64, requires_grad=True)
    with recording() as prof:
        (torch.ones(50, 64) * w).sin().sum(1).sum().backward()
    assert by_size(prof) == {200: "INPUT", 256: "GRADIENT INPUT", 12800: "AUTOGRAD_DETAIL INPUT TEMPORARY"}


def test_forward_pass_of_a_module():
    model = small_model()
    with recording() as prof:
        x = torch.ones(20, 9)[:, :8].exp()  # both are input: what was computed from x met a parameter
        model(x).sum(1)
        torch.ones(77).sin()  # met none
    assert by_size(prof) == {
        128: "PARAMETER",
        308: "-",
        400: "ACTIVATION",
        640: "INPUT PARAMETER",
        720: "INPUT",
        1024: "PARAMETER",
        2560: "ACTIVATION",
    }


@pytest.mark.parametrize(
    ("optimizer", "further"), [("SGD", ""), ("Adam", "OPTIMIZER_STATE ")], ids=["without state", "with state"]
)
def test_training_step(optimizer, further):
    model, x = small_model(), torch.ones(20, 8)
    updates = getattr(torch.optim, optimizer)(model.parameters())
    with recording() as prof:
        model(x).exp().sum().backward()
        updates.step()
        updates.zero_grad()
    unknown = "- " if further else ""  # what an update computes on the way belongs to nothing
    assert by_size(prof) == {
        128: f"{unknown}GRADIENT {further}PARAMETER",
        400: "ACTIVATION AUTOGRAD_DETAIL",
        640: f"{unknown}GRADIENT INPUT {further}PARAMETER",
        1024: f"{unknown}GRADIENT {further}PARAMETER",
        2560: "ACTIVATION AUTOGRAD_DETAIL",
    }


def test_versions_may_have_categories_of_their_own():
    first, second = TensorKey(torch.device("cpu"), 0, None), TensorKey(torch.device("cpu"), 1, None)
    categories = CategoryDict()
    categories.set_by_key(first, Category.INPUT)
    categories.set_by_version(first, 1, Category.ACTIVATION)
    categories.set_by_version(first, 2, None)
    assert [categories.get(first, version) for version in range(4)] == [
        Category.INPUT,
        Category.ACTIVATION,
        None,
        Category.INPUT,
    ]
    assert categories[first] is Category.INPUT and categories[first, 1] is Category.ACTIVATION
    assert categories.get(second, 0) is None and list(categories) == [first]
