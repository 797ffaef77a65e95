"""Hooks that average a bucket of gradients: as it is, or in half precision."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ...collectives import all_reduce
from ...process_groups import get_world_size

__all__ = [
    "allreduce_hook",
    "bf16_compress_hook",
    "bf16_compress_wrapper",
    "fp16_compress_hook",
    "fp16_compress_wrapper",
    "noop_hook",
]


def _average(tensor: Any, group: Any) -> Any:
    """A future of the average over the processes."""
    tensor.div_(get_world_size(group))
    work = all_reduce(tensor, group=group, async_op=True)
    return work.get_future().then(lambda done: done.value()[0])  # type: ignore[union-attr]


def allreduce_hook(process_group: Any, bucket: Any) -> Any:
    """Averages the gradients."""
    return _average(bucket.buffer(), process_group)


def _compressed(dtype: Any, process_group: Any, bucket: Any) -> Any:
    buffer = bucket.buffer()
    return _average(buffer.to(dtype), process_group).then(lambda done: buffer.copy_(done.value()))


def fp16_compress_hook(process_group: Any, bucket: Any) -> Any:
    """Averages the gradients as float16, which halves what travels."""
    from .... import float16

    return _compressed(float16, process_group, bucket)


def bf16_compress_hook(process_group: Any, bucket: Any) -> Any:
    """Averages the gradients as bfloat16, which halves what travels."""
    from .... import bfloat16

    return _compressed(bfloat16, process_group, bucket)


def _wrapped(dtype_name: str, hook: Callable[[Any, Any], Any]) -> Callable[[Any, Any], Any]:
    def wrapper(state: Any, bucket: Any) -> Any:
        from .... import _dtype

        buffer = bucket.buffer()
        bucket.set_buffer(buffer.to(getattr(_dtype, dtype_name)))
        return hook(state, bucket).then(lambda done: buffer.copy_(done.value()))

    return wrapper


def fp16_compress_wrapper(hook: Callable[[Any, Any], Any]) -> Callable[[Any, Any], Any]:
    """A hook that hands the bucket as float16 to another hook."""
    return _wrapped("float16", hook)


def bf16_compress_wrapper(hook: Callable[[Any, Any], Any]) -> Callable[[Any, Any], Any]:
    """A hook that hands the bucket as bfloat16 to another hook."""
    return _wrapped("bfloat16", hook)


def noop_hook(_: Any, bucket: Any) -> Any:
    """Leaves the gradients of each process as they are."""
    from ....futures import Future

    future: Any = Future()
    future.set_result(bucket.buffer())
    return future
