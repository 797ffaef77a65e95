"""What PyTorch computes in float8 types, and that nothing else is."""

import pytest

import mindtorch_v2 as torch


@pytest.mark.parametrize("dtype", [torch.float8_e4m3fn, torch.float8_e5m2])
def test_equality_size_and_products(dtype):
    x = torch.tensor([1.0, -2.0, float("nan")]).to(dtype)
    assert (x == x).tolist() == [True, True, False] and (x != x).tolist() == [False, False, True]
    assert x.abs()[:2].float().tolist() == [1.0, 2.0] and x.isnan().tolist() == [False, False, True]
    assert (x * x)[:2].float().tolist() == [1.0, 4.0] and (x * x).dtype is dtype
    x[torch.tensor([0])] = torch.tensor([4.0]).to(dtype)
    assert x[:2].float().tolist() == [4.0, -2.0]
    with pytest.raises(NotImplementedError, match="not implemented for 'Float8"):
        x + x
