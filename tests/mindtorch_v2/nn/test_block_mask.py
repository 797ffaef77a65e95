"""Masks of attention by blocks; the answers are PyTorch 2.13's."""

import pytest

import mindtorch_v2 as torch
from mindtorch_v2.nn.attention.flex_attention import BlockMask, create_block_mask, create_mask, flex_attention


def _causal(b, h, q, kv):
    return q >= kv


def test_lists_of_blocks():
    mask = create_block_mask(_causal, None, None, 300, 200, BLOCK_SIZE=(128, 64))
    assert mask.shape == (1, 1, 300, 200) and mask.BLOCK_SIZE == (128, 64) and mask.mask_mod is _causal
    assert mask.kv_num_blocks.tolist() == [[[2, 2, 4]]]
    assert mask.kv_indices.tolist() == [[[[0, 1, 2, 3], [2, 3, 0, 1], [0, 1, 2, 3]]]]
    assert mask.full_kv_num_blocks.tolist() == [[[0, 2, 0]]]
    assert mask.q_num_blocks.tolist() == [[[2, 2, 2, 2]]]
    assert mask.q_indices.tolist() == [[[[0, 2, 1], [0, 2, 1], [1, 2, 0], [1, 2, 0]]]]
    assert mask.full_q_indices.tolist() == [[[[1, 0, 2], [1, 0, 2], [0, 1, 2], [0, 1, 2]]]]
    assert mask.kv_indices.dtype is torch.int32 and len(mask.as_tuple()) == 17
    assert mask.sparsity() == pytest.approx(-36.5333333)
    assert mask.to_dense().tolist() == [[[[1, 1, 0, 0], [1, 1, 1, 1], [1, 1, 1, 1]]]]


def test_cropped_and_sliced():
    mask = create_block_mask(_causal, 2, 3, 300, 200, BLOCK_SIZE=(128, 64))
    cut = mask._adjust(250, 130)
    assert cut.shape == (2, 3, 250, 130) and cut.kv_num_blocks[0, 0].tolist() == [2, 1]
    assert cut.kv_indices[0, 0].tolist() == [[0, 1, 2], [2, 0, 1]]
    assert [mask[0].shape, mask[1, 2].shape, mask[:, [0, 1]].shape] == [
        (1, 3, 300, 200),
        (1, 1, 300, 200),
        (2, 2, 300, 200),
    ]
    with pytest.raises(RuntimeError, match="sliced BlockMask"):
        mask[0].mask_mod(0, 0, 0, 0)


def test_from_lists():
    counts = torch.tensor([[[1, 2]]], dtype=torch.int32)
    mask = BlockMask.from_kv_blocks(counts, torch.tensor([[[[0, 1], [0, 1]]]], dtype=torch.int32))
    assert mask.shape == (1, 1, 256, 256) and mask.sparsity() == 25.0
    assert mask.q_num_blocks.tolist() == [[[2, 1]]] and mask.q_indices.tolist() == [[[[0, 1], [1, 0]]]]
    assert str(mask) == "BlockMask(shape=(1, 1, 256, 256), sparsity=25.00%, \n(0, 0)\n██  \n████\n)"


def test_pictures():
    mask = create_block_mask(_causal, 6, None, 2600, 4200)
    rows = ["░░    ", "░░░░  ", "██░░  "]
    picture = mask.to_string(grid_size=3, limit=1)
    assert picture.splitlines()[:4] == ["(0, 0)", *rows] and "limit=N" in picture


def test_a_function_of_scores_as_a_mask():
    mask = create_mask(lambda s, b, h, q, kv: torch.where(q >= kv, s, -float("inf")), 1, 1, 2, 2)
    assert mask.tolist() == [[[[True, False], [True, True]]]]


def test_lengths_and_heads_must_fit():
    ones = torch.ones(1, 1, 5, 2)
    with pytest.raises(ValueError, match=r"block_mask was created for block_mask.shape=\(1, 1, 6, 5\) but got q_len=5"):
        flex_attention(ones, ones, ones, block_mask=create_block_mask(_causal, 1, 1, 6, 5))
    with pytest.raises(ValueError, match="same embedding dimension but got E=2 and E=3"):
        flex_attention(ones, torch.ones(1, 1, 5, 3), ones)
    with pytest.raises(AssertionError, match="Expected 4 or 5 positional args, got 1"):
        create_block_mask(lambda a: a, 1, 1, 5, 5)
