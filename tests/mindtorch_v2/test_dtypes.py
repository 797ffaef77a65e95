"""Element types: promotion, limits, casts and names as PyTorch has them; what types beyond numpy's can do."""

from __future__ import annotations

import io
import subprocess
import sys
import warnings
from typing import Any

import numpy as np
import pytest

import mindtorch_v2 as torch

from .oracle import dtype_cases, harness

WANT = harness.load("dtypes")


@pytest.fixture(scope="module")
def got() -> dict[str, Any]:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return dtype_cases.answers(torch)


@pytest.mark.parametrize("topic", sorted(WANT))
def test_answers_as_pytorch(topic: str, got: dict[str, Any]) -> None:
    want, have = WANT[topic], got[topic]
    wrong = {key: (have[key], want[key]) for key in want if repr(have[key]) != repr(want[key])}
    assert not wrong, f"{len(wrong)} of {len(want)}; the first: {list(wrong.items())[:3]}"


def test_types_beyond_numpy_are_loaded_when_first_used() -> None:
    code = (
        "import sys, mindtorch_v2 as torch; x = torch.ones(2) + 1; torch.bfloat16, torch.float8_e5m2; "
        "assert 'ml_dtypes' not in sys.modules; x.to(torch.bfloat16); assert 'ml_dtypes' in sys.modules"
    )
    subprocess.run([sys.executable, "-c", code], check=True)


def test_a_missing_library_is_named() -> None:
    code = (
        "import sys; sys.modules['ml_dtypes'] = None; import mindtorch_v2 as torch\n"
        "assert torch.ones(2, dtype=torch.float16).sum().item() == 2\n"
        "try: torch.ones(2, dtype=torch.bfloat16)\n"
        "except ImportError as error: assert 'pip install ml_dtypes' in str(error), error\n"
        "else: raise SystemExit('no error')"
    )
    subprocess.run([sys.executable, "-c", code], check=True)


def test_results_are_rounded_once() -> None:
    x = torch.full((1024,), 1.0, dtype=torch.bfloat16)
    assert (x * (1 + 2**-8) + 0).unique().tolist() == [1.0]  # a tie goes to even
    # summed in single precision: in bfloat16 it would stop at 256
    assert x.sum().item() == 1024
    assert torch.nn.functional.gelu(x).dtype is torch.bfloat16
    third = torch.tensor(1 / 3, dtype=torch.bfloat16)
    assert (third * 3).item() == 1.0 and third.item() == 0.333984375
    assert (x[:3] + torch.tensor(2**-9)).tolist() == [1.0, 1.0, 1.0]


def test_writes_go_to_the_memory_that_was_given() -> None:
    x = torch.zeros(4, dtype=torch.bfloat16)
    view = x[1:3]
    view += 0.1
    x[0] = 3
    torch.add(x, 1, out=x)
    assert x.tolist() == [4.0, 1.1015625, 1.1015625, 1.0]
    assert view.data_ptr() == x.data_ptr() + 2 and x.element_size() == 2 and x.nbytes == 8


@pytest.mark.parametrize("name", ["bfloat16", "float8_e4m3fn", "complex32", "uint16"])
def test_checkpoints_and_pickles(name: str) -> None:
    kind = getattr(torch, name)
    x = torch.tensor([[1, 2], [4, 8]]).to(kind)
    file = io.BytesIO()
    torch.save({"x": x, "t": x.t(), "kind": kind}, file)
    file.seek(0)
    back = torch.load(file)
    assert back["kind"] is kind and back["x"].dtype is kind and back["t"].stride() == (1, 2)
    assert back["t"].to(torch.complex128).tolist() == [[1, 4], [2, 8]]
    assert back["t"].data_ptr() == back["x"].data_ptr()


def test_safetensors_without_the_library(tmp_path: Any) -> None:
    from mindtorch_v2.utils.safetensors import save_file

    save_file({"x": torch.tensor([1.5, -2.0], dtype=torch.bfloat16)}, tmp_path / "x.safetensors")
    raw = (tmp_path / "x.safetensors").read_bytes()
    assert b'"dtype":"BF16","shape":[2],"data_offsets":[0,4]' in raw
    assert raw[-4:] == np.array([0x3FC0, 0xC000], "<u2").tobytes()


def test_float8_types_store_and_do_not_compute() -> None:
    x = torch.tensor([1.0, 300.0, 1000.0, -3.0]).to(torch.float8_e4m3fn)
    assert x.float().tolist() == [1.0, 288.0, 448.0, -3.0]
    assert torch.cat([x, x])[[0, 5]].float().tolist() == [1.0, 288.0] and x.view(torch.uint8).tolist() == [
        56,
        121,
        126,
        196,
    ]
    with pytest.raises(NotImplementedError, match="not implemented for 'Float8_e4m3fn'"):
        x + x
    with pytest.raises(
        RuntimeError, match="Promotion for Float8 Types is not supported, attempted to promote Float8_e4m3fn and Float"
    ):
        x + torch.ones(4)


def test_operands_of_several_types_are_refused_in_pytorchs_words() -> None:
    a, b = torch.ones(2, 2, dtype=torch.bfloat16), torch.ones(2, 2)
    with pytest.raises(
        RuntimeError, match="expected m1 and m2 to have the same dtype, but got: c10::BFloat16 != float"
    ):
        a @ b
    with pytest.raises(TypeError, match="Got unsupported ScalarType BFloat16"):
        a.numpy()
    assert torch.nn.functional.layer_norm(a, (2,), b[0], b[0]).dtype is torch.bfloat16  # parameters may be wider


def test_a_model_trains_in_bfloat16() -> None:
    torch.manual_seed(0)
    model = torch.nn.Sequential(
        torch.nn.Linear(8, 16), torch.nn.GELU(), torch.nn.LayerNorm(16), torch.nn.Linear(16, 1)
    ).bfloat16()
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-2)
    x = torch.randn(64, 8).bfloat16()
    losses = []
    for _ in range(30):
        loss = torch.nn.functional.mse_loss(model(x), x.sum(1, keepdim=True))
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    assert all(p.dtype is torch.bfloat16 and p.grad.dtype is torch.bfloat16 for p in model.parameters())
    assert losses[-1] < losses[0] / 4


def test_a_profile_names_the_type() -> None:
    x = torch.ones(2, dtype=torch.bfloat16)
    with torch.profiler.profile(record_shapes=True) as prof:
        x + x
    event = next(e for e in prof.profiler.kineto_results.events() if e.name() == "aten::add")
    assert event.dtypes()[:2] == ["c10::BFloat16", "c10::BFloat16"]


@pytest.mark.parametrize("name", ["bfloat16", "float8_e5m2", "complex32"])
def test_memory_is_exchanged_by_dlpack(name: str) -> None:
    x = torch.tensor([[1, 2], [4, 8]]).to(getattr(torch, name))
    for shared in (torch.from_dlpack(x), torch.from_dlpack(x.__dlpack__())):
        assert shared.dtype is x.dtype and shared.data_ptr() == x.data_ptr() and shared.shape == (2, 2)
    assert torch.from_dlpack(x, copy=True).data_ptr() != x.data_ptr()
