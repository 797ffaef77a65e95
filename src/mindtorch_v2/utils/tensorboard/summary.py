"""What events hold: scalars, histograms, images, texts and tensors, as TensorBoard's messages."""

from __future__ import annotations

import io
import json
from typing import Any

import numpy as np
from tensorboard.compat.proto.summary_pb2 import HistogramProto, Summary, SummaryMetadata
from tensorboard.compat.proto.tensor_pb2 import TensorProto
from tensorboard.compat.proto.tensor_shape_pb2 import TensorShapeProto
from tensorboard.plugins.text.plugin_data_pb2 import TextPluginData

from ..._tensor import Tensor

__all__ = ["histogram", "image", "layout", "scalar", "tensor", "text"]


def as_array(values: Any) -> np.ndarray[Any, Any]:
    """Numbers of any kind as an array; a tensor of a type that numpy lacks becomes float32."""
    if isinstance(values, Tensor):
        found = values.detach().cpu()
        return np.asarray(found.float().numpy() if found.dtype.name == "bfloat16" else found.numpy())
    if isinstance(values, (list, tuple)):
        return np.array([as_array(v) for v in values])
    return np.asarray(values)


def scalar(tag: str, value: Any) -> Summary:
    """One number."""
    found = as_array(value)
    if found.size != 1:
        raise ValueError(f"scalar {tag!r}: expected one number, got an array of shape {found.shape}")
    return Summary(value=[Summary.Value(tag=tag, simple_value=float(found.reshape(())))])


def default_bins() -> list[float]:
    """Edges that grow by a tenth from 1e-12 to 1e20, and the same below zero."""
    edges = [1e-12 * 1.1**i for i in range(774)]
    edges = [edge for edge in edges if edge < 1e20]
    return [*(-edge for edge in reversed(edges)), 0.0, *edges]


def histogram(tag: str, values: Any, bins: Any = "tensorflow", max_bins: int | None = None) -> Summary:
    """How many values lie between the edges of bins, with their sum and the sum of their squares."""
    numbers = as_array(values).astype(np.float64).reshape(-1)
    if not numbers.size:
        raise ValueError(f"histogram {tag!r}: there are no values")
    counts, edges = np.histogram(numbers, bins=default_bins() if bins == "tensorflow" else bins)
    if max_bins is not None and len(counts) > max_bins:
        step = -(-len(counts) // max_bins)
        padded = np.concatenate([counts, np.zeros(-len(counts) % step, counts.dtype)])
        counts = padded.reshape(-1, step).sum(1)
        edges = np.concatenate([edges[:-1:step], edges[-1:]])
    filled = np.flatnonzero(counts)
    if not len(filled):
        raise ValueError(f"histogram {tag!r}: no value lies between the edges of the bins")
    low, high = max(int(filled[0]) - 1, -1), int(filled[-1]) + 1
    limits = edges[low + 1 : high + 1]
    inner_counts = counts[low + 1 : high]
    # The first bucket holds nothing: it says where the first real one begins.
    proto = HistogramProto(
        min=float(numbers.min()),
        max=float(numbers.max()),
        num=int(numbers.size),
        sum=float(numbers.sum()),
        sum_squares=float(numbers.dot(numbers)),
        bucket_limit=[float(v) for v in limits],
        bucket=[0.0, *(float(v) for v in inner_counts)],
    )
    return Summary(value=[Summary.Value(tag=tag, histo=proto)])


def layout(array: np.ndarray[Any, Any], dataformats: str) -> np.ndarray[Any, Any]:
    """An image as height, width and three channels; a batch (with N) becomes a grid of images, eight in a row."""
    if len(dataformats) != array.ndim:
        raise ValueError(f"got an array of shape {array.shape} and the format {dataformats!r}, which names other axes")
    if len(set(dataformats)) != len(dataformats) or not set(dataformats) <= set("NCHW"):
        raise ValueError(f"expected a format of the letters N, C, H and W, each once, got {dataformats!r}")
    if "C" not in dataformats:
        array, dataformats = array[None], f"C{dataformats}"
    if "N" not in dataformats:
        array, dataformats = array[None], f"N{dataformats}"
    images = array.transpose([dataformats.index(axis) for axis in "NHWC"])
    if images.shape[-1] == 1:
        images = np.repeat(images, 3, axis=-1)
    count, height, width, channels = images.shape
    columns = min(count, 8)
    rows = -(-count // columns)
    grid = np.zeros((rows * height, columns * width, channels), images.dtype)
    for i, picture in enumerate(images):
        top, left = i // columns * height, i % columns * width
        grid[top : top + height, left : left + width] = picture
    return grid


def image(tag: str, picture: Any, dataformats: str = "CHW") -> Summary:
    """An image as PNG. Floating numbers run from 0 to 1, integers from 0 to 255."""
    array = layout(as_array(picture), dataformats)
    if array.dtype != np.uint8:
        scale = 255.0 if np.issubdtype(array.dtype, np.floating) else 1.0
        array = (array * scale).clip(0, 255).astype(np.uint8)
    from PIL import Image

    buffer = io.BytesIO()
    Image.fromarray(array).save(buffer, format="PNG")
    height, width, channels = array.shape
    made = Summary.Image(height=height, width=width, colorspace=channels, encoded_image_string=buffer.getvalue())
    return Summary(value=[Summary.Value(tag=tag, image=made)])


def text(tag: str, words: str) -> Summary:
    """A text in Markdown."""
    plugin = SummaryMetadata.PluginData(plugin_name="text", content=TextPluginData(version=0).SerializeToString())
    shape = TensorShapeProto(dim=[TensorShapeProto.Dim(size=1)])
    made = TensorProto(dtype="DT_STRING", string_val=[words.encode()], tensor_shape=shape)
    metadata = SummaryMetadata(plugin_data=plugin)
    return Summary(value=[Summary.Value(tag=f"{tag}/text_summary", metadata=metadata, tensor=made)])


def tensor(tag: str, values: Any) -> Summary:
    """A whole tensor of floating numbers."""
    array = as_array(values).astype(np.float32)
    shape = TensorShapeProto(dim=[TensorShapeProto.Dim(size=n) for n in array.shape])
    made = TensorProto(dtype="DT_FLOAT", float_val=array.reshape(-1).tolist(), tensor_shape=shape)
    metadata = SummaryMetadata(plugin_data=SummaryMetadata.PluginData(plugin_name="tensor"))
    return Summary(value=[Summary.Value(tag=tag, metadata=metadata, tensor=made)])


def hparams_as_text(hparams: dict[str, Any], metrics: dict[str, Any]) -> str:
    """Hyperparameters and results as a table in Markdown."""
    rows = [f"| {name} | {json.dumps(value, default=str)} |" for name, value in {**hparams, **metrics}.items()]
    return "\n".join(["| name | value |", "|---|---|", *rows])
