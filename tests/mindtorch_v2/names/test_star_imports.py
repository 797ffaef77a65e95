"""`from torch import *` and the questions that tensors answer."""

from __future__ import annotations

import types

import pytest

import mindtorch_v2 as torch


@pytest.mark.parametrize(
    "module, has",
    [
        ("", {"ones", "Tensor", "float32", "sum", "no_grad", "load", "compile", "cond"}),
        (".linalg", {"svd", "LinAlgError", "norm"}),
        (".fft", {"rfft", "fftshift"}),
        (".special", {"erf", "xlogy"}),
    ],
)
def test_a_star_brings_functions_and_no_modules(module, has):
    names: dict[str, object] = {}
    exec(f"from mindtorch_v2{module} import *", names)
    del names["__builtins__"]
    assert has <= names.keys() and "annotations" not in names and "Any" not in names
    assert not [name for name, value in names.items() if isinstance(value, types.ModuleType)]


def test_questions_about_tensors():
    x = torch.ones(2, 3)
    assert torch.is_signed(x) and not torch.is_signed(x.to(torch.uint8))
    assert not (torch.is_conj(x) or x.is_neg() or x.is_distributed() or torch.is_inference(x))
    assert (torch.get_device(x), x.sparse_dim(), x.dense_dim()) == (-1, 0, 2)
    assert x.is_set_to(x[:]) and not x.is_set_to(x[0]) and not x.is_set_to(x.clone())
    assert x.T.dim_order() == (1, 0) and torch.ones(2, 1, 3).dim_order() == (0, 1, 2)
    assert torch.ones(2, 3, 4, 5).contiguous(memory_format=torch.channels_last).dim_order() == (0, 2, 3, 1)
    with pytest.raises(RuntimeError, match="does not have unique dim order"):
        torch.ones(2, 1, 3).dim_order(ambiguity_check=True)
    with pytest.raises(RuntimeError, match="coalesce expected sparse coordinate tensor layout but got Strided"):
        x.coalesce()
    with pytest.raises(RuntimeError, match="col_indices expected sparse row compressed tensor layout"):
        x.col_indices()
    with pytest.warns(UserWarning, match="Anomaly Detection"), torch.autograd.detect_anomaly(check_nan=False):
        assert torch.is_anomaly_enabled() and not torch.is_anomaly_check_nan_enabled()
    assert not torch.is_anomaly_enabled() and torch.is_anomaly_check_nan_enabled()


def test_calls_of_modules_have_pytorchs_inner_names():
    layer = torch.nn.Linear(2, 2)
    layer.register_forward_hook(lambda module, args, output: output * 0)
    assert layer._call_impl(torch.ones(2)).tolist() == layer._wrapped_call_impl(torch.ones(2)).tolist() == [0.0, 0.0]
    assert torch.nn.functional.has_torch_function_unary(layer) is False


def test_private_names_that_transformers_imports_at_its_start():
    from mindtorch_v2.nn.attention.flex_attention import _DEFAULT_SPARSE_BLOCK_SIZE, BlockMask

    assert _DEFAULT_SPARSE_BLOCK_SIZE == 128 and callable(BlockMask)
