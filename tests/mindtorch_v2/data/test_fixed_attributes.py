"""Attributes of a DataLoader that its samplers were made of."""

import pytest

import mindtorch_v2 as torch
from mindtorch_v2.utils.data import DataLoader


@pytest.mark.parametrize(
    "name", ["batch_size", "batch_sampler", "sampler", "drop_last", "dataset", "persistent_workers"]
)
def test_cannot_be_set_later(name):
    loader = DataLoader(range(4), 2)
    with pytest.raises(ValueError, match=f"{name} attribute should not be set after DataLoader is initialized"):
        setattr(loader, name, 3)
    loader.collate_fn = torch.tensor
    assert [b.tolist() for b in loader] == [[0, 1], [2, 3]]
