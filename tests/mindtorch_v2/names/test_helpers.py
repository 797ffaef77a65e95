"""Helpers that libraries import: DistributedSampler, swap_tensors, weak dictionaries, decorators, nn.parallel."""

from __future__ import annotations

import gc

import pytest

import mindtorch_v2 as torch
from mindtorch_v2.utils._contextlib import _DecoratorContextManager
from mindtorch_v2.utils.data import DistributedSampler
from mindtorch_v2.utils.weak import TensorWeakRef, WeakTensorKeyDictionary

# PyTorch 2.13's indices for 10 samples and 3 processes.
SAMPLES = {
    (): [[4, 5, 0, 2], [1, 3, 8, 4], [7, 9, 6, 1]],
    (("shuffle", False),): [[0, 3, 6, 9], [1, 4, 7, 0], [2, 5, 8, 1]],
    (("seed", 3),): [[6, 7, 1, 4], [0, 8, 9, 6], [3, 5, 2, 0]],
    (("drop_last", True),): [[4, 5, 0], [1, 3, 8], [7, 9, 6]],
}


@pytest.mark.parametrize("options", SAMPLES)
def test_distributed_sampler(options):
    parts = [DistributedSampler(range(10), 3, rank, **dict(options)) for rank in range(3)]
    assert [list(p) for p in parts] == SAMPLES[options]
    assert {len(p) for p in parts} == {len(SAMPLES[options][0])}


def test_distributed_sampler_epochs_and_errors():
    sampler = DistributedSampler(range(10), 3, 0)
    sampler.set_epoch(2)
    assert list(sampler) == [8, 5, 0, 3]
    assert list(DistributedSampler([7], 4, 3)) == [0]
    with pytest.raises(ValueError, match=r"Invalid rank 2, rank should be in the interval \[0, 1\]"):
        DistributedSampler(range(10), 2, 2)


def test_swap_tensors():
    layer, other = torch.nn.Linear(2, 2), torch.nn.Parameter(torch.zeros(1))
    weight, other.mark = layer.weight, "kept"
    torch.utils.swap_tensors(weight, other)
    assert layer.weight is weight and weight.shape == (1,) and weight.mark == "kept"
    (other.sum() * 2).backward()
    assert other.grad.tolist() == [[2.0, 2.0], [2.0, 2.0]] and weight.grad is None


def test_weak_references():
    t = torch.ones(2)
    table, reference = WeakTensorKeyDictionary({t: 1}), TensorWeakRef(t)
    assert table[t] == 1 and torch.ones(2) not in table and reference() is t
    del t
    gc.collect()
    assert len(table) == 0 and reference() is None


class _Doubled(_DecoratorContextManager):
    depth = 0

    def __enter__(self):
        _Doubled.depth += 1

    def __exit__(self, *exc):
        _Doubled.depth -= 1


def test_context_managers_as_decorators():
    @_Doubled()
    def inside():
        return _Doubled.depth

    @_Doubled()
    def steps():
        yield _Doubled.depth
        yield _Doubled.depth

    assert inside() == 1 and _Doubled.depth == 0
    assert [(value, _Doubled.depth) for value in steps()] == [(1, 0), (1, 0)]


def test_data_parallel_without_devices_is_the_module():
    layer = torch.nn.Linear(3, 2)
    wrapped = torch.nn.parallel.DataParallel(layer)
    x = torch.randn(4, 3)
    assert torch.equal(wrapped(x), layer(x)) and list(wrapped.state_dict()) == ["module.weight", "module.bias"]
    out = torch.nn.parallel.parallel_apply([layer, layer], [x, (x,)])
    assert torch.equal(out[0], out[1])
    with pytest.raises(RuntimeError, match="Caught RuntimeError in replica 1"):
        torch.nn.parallel.parallel_apply([layer, layer], [x, torch.ones(5, 5)])


def test_sdpa_kernel_keeps_what_is_allowed():
    from mindtorch_v2.nn.attention import SDPBackend, sdpa_kernel

    with sdpa_kernel([SDPBackend.MATH, SDPBackend.FLASH_ATTENTION]):
        assert torch.backends.cuda.math_sdp_enabled() and not torch.backends.cuda.mem_efficient_sdp_enabled()
    assert torch.backends.cuda.mem_efficient_sdp_enabled()
    with pytest.raises(AssertionError, match="Backend must be an instance of SDPBackend"), sdpa_kernel("math"):
        pass


def test_flex_attention_is_attention():
    from mindtorch_v2.nn.attention.flex_attention import create_block_mask, flex_attention

    q, k, v = (torch.randn(2, 4, 5, 8, dtype=torch.float64) for _ in range(3))
    assert torch.allclose(flex_attention(q, k, v), torch.nn.functional.scaled_dot_product_attention(q, k, v))
    mask = create_block_mask(lambda b, h, i, j: i >= j, None, None, 5, 5)
    causal = torch.nn.functional.scaled_dot_product_attention(q, k, v, is_causal=True)
    assert torch.allclose(flex_attention(q, k, v, block_mask=mask), causal)
    slopes = torch.arange(4, dtype=torch.float64)
    made, lse = flex_attention(q, k, v, score_mod=lambda s, b, h, i, j: s + slopes[h] * (j - i), return_lse=True)
    bias = slopes.view(4, 1, 1) * (torch.arange(5) - torch.arange(5).view(5, 1))
    assert torch.allclose(
        made, torch.nn.functional.scaled_dot_product_attention(q, k, v, attn_mask=bias.expand(2, 4, 5, 5))
    )
    assert torch.allclose(lse, torch.logsumexp(q @ k.transpose(-2, -1) / 8**0.5 + bias, -1))
    few = flex_attention(q, k[:, :2], v[:, :2], enable_gqa=True)
    assert torch.allclose(few[:, 1], flex_attention(q[:, 1:2], k[:, :1], v[:, :1])[:, 0])
    hidden = flex_attention(
        q, k, v, block_mask=create_block_mask(lambda b, h, i, j: (i > 0) & (j >= 0), None, None, 5, 5)
    )
    assert hidden[:, :, 0].abs().sum() == 0, "a row without scores gives zeros"


def test_typed_storages_share_the_tensors_memory():
    t = torch.arange(6.0).reshape(2, 3)
    storage = t[1:].storage()
    assert (storage.size(), storage[4], storage.dtype, len(t.untyped_storage())) == (6, 4.0, torch.float32, 24)
    storage[0] = 9.0
    assert (
        t[0, 0].item() == 9.0 and isinstance(storage, torch.storage.TypedStorage) and torch.FloatStorage(3).size() == 3
    )
