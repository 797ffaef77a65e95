"""The modules in which PyTorch has classes that lie elsewhere here, and bytes of storages."""

import pytest

import mindtorch_v2 as torch


@pytest.mark.parametrize(
    "name", ["Adadelta", "Adagrad", "Adamax", "AdamW", "ASGD", "NAdam", "RAdam", "RMSprop", "Rprop"]
)
def test_optimizers_are_in_modules_of_their_own(name):
    import importlib

    assert getattr(importlib.import_module(f"mindtorch_v2.optim.{name.lower()}"), name) is getattr(torch.optim, name)


def test_other_paths():
    from mindtorch_v2.autograd.variable import Variable
    from mindtorch_v2.nn.common_types import _size_2_t
    from mindtorch_v2.nn.modules.activation import MultiheadAttention
    from mindtorch_v2.nn.modules.transformer import _get_activation_fn
    from mindtorch_v2.optim.optimizer import ParamsT

    assert Variable is torch.autograd.Variable and MultiheadAttention is torch.nn.MultiheadAttention
    assert _get_activation_fn("relu") is torch.nn.functional.relu
    assert "tuple[int, int]" in str(_size_2_t) and "dict" in str(ParamsT)


def test_bytes_of_a_storage():
    x = torch.tensor([1, 2], dtype=torch.uint8)
    storage = x.untyped_storage()
    assert storage.element_size() == 1 and storage.resizable() is False
    storage.fill_(7)
    assert x.tolist() == [7, 7]
    storage.copy_(torch.tensor([3, 4], dtype=torch.uint8).untyped_storage())
    assert x.tolist() == [3, 4] and storage.resize_(2) is storage
    with pytest.raises(RuntimeError, match="Trying to resize storage that is not resizable"):
        storage.resize_(0)
    with pytest.raises(RuntimeError, match="size does not match, self was 2 bytes but src was 1 bytes"):
        storage.copy_(torch.tensor([3], dtype=torch.uint8).untyped_storage())
