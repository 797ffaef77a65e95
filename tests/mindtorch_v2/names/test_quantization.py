"""Dynamic quantisation against numbers recorded from PyTorch 2.13 (engine x86), observers, and what is refused."""

import pytest

import mindtorch_v2 as torch

Q = torch.ao.quantization
X = torch.tensor([[0.2, -1.3, 0.9], [2.1, 0.4, -0.6]])


def layer():
    made = torch.nn.Linear(3, 2)
    with torch.no_grad():
        made.weight.copy_(torch.tensor([[0.3, -0.7, 0.11], [0.55, 0.2, -0.9]]))
        made.bias.copy_(torch.tensor([0.1, -0.2]))
    return torch.nn.Sequential(made)


def near(got, wanted):
    """Equal but for the rounding of one product and one sum in single precision."""
    torch.testing.assert_close(got, torch.tensor(wanted), rtol=2**-22, atol=2**-22)


def test_a_linear_layer_per_tensor():
    small = Q.quantize_dynamic(layer(), {torch.nn.Linear})
    near(small(X), [[1.176409363746643, -1.178519606590271], [0.3866771459579468, 1.5612597465515137]])
    assert small[0].weight_integers.tolist() == [[43, -99, 16], [78, 28, -128]]
    near(small[0].weight_scale, [0.0070588234812021255])


def test_a_linear_layer_per_channel():
    small = Q.quantize_dynamic(layer(), {torch.nn.Linear: Q.per_channel_dynamic_qconfig})
    near(small(X), [[1.1784040927886963, -1.178519606590271], [0.3836745321750641, 1.5612597465515137]])
    assert small[0].weight_integers.tolist() == [[55, -128, 20], [78, 28, -128]]


def test_a_linear_layer_in_half_precision():
    near(
        Q.quantize_dynamic(layer(), {torch.nn.Linear}, dtype=torch.float16)(X),
        [[1.16925048828125, -1.159887671470642], [0.3840331435203552, 1.5745116472244263]],
    )


def test_the_model_given_stays_as_it_is_and_the_small_one_can_be_saved(tmp_path):
    model = layer()
    small = Q.quantize_dynamic(model)
    assert type(model[0]) is torch.nn.Linear
    torch.save(small.state_dict(), tmp_path / "small.pt")
    other = Q.quantize_dynamic(torch.nn.Sequential(torch.nn.Linear(3, 2)))
    other.load_state_dict(torch.load(tmp_path / "small.pt"))
    assert torch.equal(other(X), small(X))


def test_an_empty_input_and_one_of_zeros():
    small = Q.quantize_dynamic(layer())
    assert small(torch.zeros(0, 3)).shape == (0, 2)
    near(small(torch.zeros(1, 3)), [[0.1, -0.2]])


@pytest.mark.parametrize(
    "observer, scale, zero",
    [
        (Q.MinMaxObserver(), [0.03999999538064003], [123]),
        (Q.MinMaxObserver(dtype=torch.qint8, qscheme=torch.per_tensor_symmetric), [0.04156862571835518], [0]),
        (Q.MinMaxObserver(qscheme=torch.per_tensor_symmetric), [0.04156862571835518], [128]),
        (Q.MinMaxObserver(reduce_range=True), [0.08031494915485382], [61]),
        (Q.MinMaxObserver(dtype=torch.qint8, reduce_range=True), [0.08031494915485382], [-3]),
        (Q.MovingAverageMinMaxObserver(averaging_constant=0.5), [0.026666665449738503], [116]),
        (
            Q.PerChannelMinMaxObserver(ch_axis=1),
            [0.02235294133424759, 0.02078431285917759, 0.01764705963432789],
            [18, 236, 159],
        ),
        (Q.default_per_channel_weight_observer(), [0.03843136876821518, 0.04156862571835518], [0, 0]),
        (Q.default_observer(), [0.08031494915485382], [61]),
    ],
)
def test_observers(observer, scale, zero):
    observer(X)
    observer(X * 3 - 1)
    got_scale, got_zero = observer.calculate_qparams()
    near(got_scale, scale)
    assert got_zero.tolist() == zero


def test_what_is_not_quantised_here_is_refused_by_name():
    model = torch.nn.Sequential(torch.nn.LSTM(2, 2))
    with pytest.raises(NotImplementedError, match="LSTM is not quantised here; give qconfig_spec="):
        Q.quantize_dynamic(model)
    assert type(Q.quantize_dynamic(model, {torch.nn.Linear})[0]) is torch.nn.LSTM
    for name in ("prepare", "prepare_qat", "convert", "get_default_qconfig", "fuse_modules_qat"):
        with pytest.raises(NotImplementedError, match="static quantisation"):
            getattr(Q, name)(model)
    with pytest.raises(ValueError, match="Don't know how to quantize with default settings for torch.float32"):
        Q.quantize_dynamic(model, dtype=torch.float32)


def test_fused_layers_compute_the_same():
    torch.manual_seed(0)
    model = torch.nn.Sequential(torch.nn.Conv2d(2, 3, 3), torch.nn.BatchNorm2d(3), torch.nn.ReLU())
    model(torch.randn(4, 2, 8, 8))
    with pytest.raises(NotImplementedError, match="in evaluation"):
        Q.fuse_modules(model, ["0", "1"])
    model.eval()
    x = torch.randn(2, 2, 8, 8)
    fused = Q.fuse_modules(model, [["0", "1", "2"]])
    torch.testing.assert_close(fused(x), model(x))
    assert isinstance(fused[1], torch.nn.Identity) and isinstance(model[1], torch.nn.BatchNorm2d)


def test_old_names_and_marks():
    assert torch.quantization.quantize_dynamic is Q.quantize_dynamic
    f = torch.nn.quantized.FloatFunctional()
    a, b = torch.tensor([-2.0, 1.0]), torch.tensor([1.0, 3.0])
    assert f.add_relu(a, b).tolist() == [0.0, 4.0] and f.cat([a, b]).tolist() == [-2.0, 1.0, 1.0, 3.0]
    assert f.mul(a, b).tolist() == [-2.0, 3.0] and f.add_scalar(a, 1).tolist() == [-1.0, 2.0]
    with pytest.raises(RuntimeError, match="not intended to use the 'forward'"):
        f(a)
    assert torch.equal(Q.QuantWrapper(torch.nn.Identity())(a), a)
    assert repr(torch.per_channel_affine) == "torch.per_channel_affine"
