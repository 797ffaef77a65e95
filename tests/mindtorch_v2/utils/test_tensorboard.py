"""Writing for TensorBoard; what was written is read back with the package's own reader."""

from __future__ import annotations

import importlib
import sys

import pytest

import mindtorch_v2 as torch


def test_without_the_package_the_error_says_what_to_install(monkeypatch):
    monkeypatch.setitem(sys.modules, "tensorboard", None)
    for name in [n for n in sys.modules if n.startswith("mindtorch_v2.utils.tensorboard")]:
        monkeypatch.delitem(sys.modules, name)
    with pytest.raises(ModuleNotFoundError, match="which is not installed: pip install tensorboard"):
        importlib.import_module("mindtorch_v2.utils.tensorboard")


@pytest.fixture
def writer(tmp_path):
    pytest.importorskip("tensorboard")
    from mindtorch_v2.utils.tensorboard import SummaryWriter

    with SummaryWriter(tmp_path / "log") as made:
        yield made


def read(path):
    from tensorboard.backend.event_processing.event_accumulator import EventAccumulator

    found = EventAccumulator(str(path))
    found.Reload()
    return found


def test_scalars_texts_and_tensors(writer):
    for step in range(3):
        writer.add_scalar("loss", torch.tensor(2.0**-step), step, walltime=100.0 + step)
    writer.add_scalars("both", {"a": 1.0, "b": 2}, 7)
    writer.add_text("note", "some *words*", 1)
    writer.close()
    found = read(writer.log_dir)
    assert [(e.step, e.value, e.wall_time) for e in found.Scalars("loss")] == [
        (0, 1.0, 100.0),
        (1, 0.5, 101.0),
        (2, 0.25, 102.0),
    ]
    assert found.Tensors("note/text_summary")[0].tensor_proto.string_val[0] == b"some *words*"
    assert read(f"{writer.log_dir}/both_b").Scalars("both")[0].value == 2.0
    with pytest.raises(ValueError, match="expected one number, got an array of shape"):
        writer.add_scalar("loss", torch.ones(2))


def test_histograms(writer):
    values = torch.tensor([-1.0, 0.0, 0.5, 0.5, 3.0])
    writer.add_histogram("weights", values, 0, bins=[-2.0, -1.0, 0.0, 1.0, 2.0, 4.0])
    writer.add_histogram("defaults", values, 0)
    writer.close()
    found = read(writer.log_dir)
    value = found.Histograms("weights")[0].histogram_value
    assert (value.min, value.max, value.num, value.sum, value.sum_squares) == (-1.0, 3.0, 5, 3.0, 10.5)
    assert value.bucket_limit == [-1.0, 0.0, 1.0, 2.0, 4.0]
    assert value.bucket == [0.0, 1.0, 3.0, 0.0, 1.0]
    assert sum(found.Histograms("defaults")[0].histogram_value.bucket) == 5


def test_images(writer):
    from mindtorch_v2.utils.tensorboard import summary

    batch = torch.zeros(3, 1, 2, 4)
    batch[1] = 1.0
    writer.add_images("pictures", batch, 0)
    writer.close()
    image = read(writer.log_dir).Images("pictures")[0]
    assert (image.height, image.width) == (2, 12)
    grid = summary.layout(batch.numpy(), "NCHW")
    assert grid.shape == (2, 12, 3)
    assert grid[:, 4:8].min() == 1.0 and grid[:, :4].max() == 0.0
    with pytest.raises(ValueError, match="expected a format of the letters"):
        summary.layout(batch.numpy(), "NCHX")


def test_hyperparameters_and_graphs(writer):
    writer.add_hparams({"lr": 0.1}, {"accuracy": 0.75}, run_name="run")
    assert read(f"{writer.log_dir}/run").Scalars("accuracy")[0].value == 0.75
    with pytest.raises(NotImplementedError, match="add_graph writes a TorchScript graph, which is not here"):
        writer.add_graph(None)
