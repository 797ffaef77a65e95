"""Packages whose compiled library cannot be loaded here (torchvision, torchaudio): what they do at import."""

import pytest

import mindtorch_v2 as torch
from mindtorch_v2._C import DispatchKey, DispatchKeySet, _ExcludeDispatchKeyGuard
from mindtorch_v2._library import registry


def test_a_foreign_library_is_refused_and_its_shape_functions_wait(monkeypatch):
    monkeypatch.setattr(registry, "_accepts_early_fakes", False)
    with pytest.raises(RuntimeError, match="operator waitlib::nms does not exist"):
        torch.library.register_fake("waitlib::nms", lambda x: x)
    with pytest.raises(OSError, match="Could not load this library"):
        torch.ops.load_library("somewhere/_C_stable.so")
    torch.library.register_fake("waitlib::nms", lambda x: x.new_empty(3))
    with pytest.raises(AttributeError):
        torch.ops.waitlib.nms  # noqa: B018
    library = torch.library.Library("waitlib", "DEF")
    library.define("nms(Tensor x) -> Tensor")
    try:
        assert torch.ops.waitlib.nms(torch.empty(5, device="meta")).shape == (3,)
    finally:
        library._destroy()


def test_torchaudio_library_has_its_loops():
    torch.ops.load_library("site-packages/torchaudio/lib/_torchaudio.abi3.so")
    torch.ops.load_library("site-packages/torchaudio/lib/libtorchaudio.abi3.so")
    assert torch.ops._torchaudio.is_align_available() is False and torch.ops._torchaudio.cuda_version() is None
    # y[t] = x[t] - 0.5 y[t-1]; the last coefficient belongs to the sample itself, whose place is still zero
    out = torch.zeros(1, 1, 4)
    torch.ops.torchaudio._lfilter_core_loop(torch.tensor([[[1.0, 2.0, 3.0]]]), torch.tensor([[0.5, 1.0]]), out)
    assert out.tolist() == [[[0.0, 1.0, 1.5, 2.25]]]
    wave, out = torch.tensor([[1.0, 2.0]]), torch.zeros(1, 2)
    torch.ops.torchaudio._overdrive_core_loop(wave, wave / 2, torch.zeros(1), torch.zeros(1), out)
    # states 0.5, then 1 - 0.5 + 0.995 * 0.5
    torch.testing.assert_close(out, torch.tensor([[0.5 + 0.375, 1 + 0.75 * 0.9975]]))
    with pytest.raises(AttributeError, match="rnnt_loss_forward"):
        torch.ops.torchaudio.rnnt_loss_forward  # noqa: B018


def test_dispatch_keys_switch_autocast_off():
    keys = DispatchKeySet(DispatchKey.AutocastCPU) | DispatchKeySet(DispatchKey.AutocastCUDA)
    assert keys.has(DispatchKey.AutocastCUDA) and not (keys - keys).has(DispatchKey.AutocastCPU)
    with torch.autocast("cpu"):
        with _ExcludeDispatchKeyGuard(keys):
            assert not torch.is_autocast_enabled("cpu")
        assert torch.is_autocast_enabled("cpu")
    with pytest.raises(NotImplementedError, match="only autocast can be left out, got \\['CPU'\\]"):
        _ExcludeDispatchKeyGuard(DispatchKeySet(DispatchKey.CPU))


def test_sizes_that_depend_on_data_are_refused():
    import mindtorch_v2._custom_ops as old

    with pytest.raises(NotImplementedError, match="depends on data"):
        old.get_ctx().create_unbacked_symint()


def test_export_functions_are_remembered_and_their_helpers_raise():
    from mindtorch_v2.onnx import symbolic_helper, symbolic_opset9

    with pytest.raises(ValueError, match="must match the format domain::name"):
        torch.onnx.register_custom_op_symbolic("mine", lambda g: g, 9)
    torch.onnx.register_custom_op_symbolic("mylib::mine", lambda g: g, 9)
    torch.onnx.unregister_custom_op_symbolic("mylib::mine", 9)
    with pytest.raises(NotImplementedError, match="torch.onnx.symbolic_opset9.unsqueeze"):
        symbolic_opset9.unsqueeze(None, 0)
    with pytest.raises(NotImplementedError, match="symbolic_helper._get_const"):
        symbolic_helper._get_const(0, "i", "dim")
    with pytest.raises(NotImplementedError, match="symbolic_opset11"):
        torch.onnx.symbolic_opset11.select(None)


def test_tqdm_of_hub_counts():
    bar = torch.hub._QuietProgress([1, 2], total=2)
    assert list(bar) == [1, 2] and bar.n == 2
    assert torch.utils.model_zoo.tqdm is torch.hub.tqdm
