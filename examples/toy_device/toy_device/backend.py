"""From operators to work for a stream: the CPU's kernels, on memory that only the stream touches."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

from mindtorch_v2.utils import backend_toolkit as kit
from mindtorch_v2.utils.backend_toolkit import Generator, Op, Spec, Tensor, bump_version, output_specs, resolve, wrap

from . import runtime, timeline

Boxed = Callable[..., Any]


class ToyBackend(kit.Backend):
    """What the registry is told."""

    name = "toy"
    title = "Toy"
    has_generators = True
    runtime_prefixes = ("toy",)

    def module(self) -> Any:
        return runtime

    def synchronize(self) -> None:
        runtime.synchronize()

    def manual_seed_all(self, seed: int) -> None:
        runtime.manual_seed(seed)

    def pinned_like(self, array: np.ndarray) -> np.ndarray:
        pinned = runtime.allocate(array.shape, array.dtype, array.strides if array.flags.forc else None, runtime.Pinned)
        np.copyto(pinned, array)
        return pinned

    def is_pinned(self, owner: Any) -> bool:
        return isinstance(owner, runtime.Pinned)

    def watch(self, host: Any) -> Any:
        return timeline.watch(host)

    def box(self, op: Op) -> Boxed:
        kit.load_family(op.family)
        if op.name in ("empty.memory_format", "empty_strided"):
            return lambda size, *rest: _empty(self.key, size, rest if op.name == "empty_strided" else (None, *rest))
        if op.is_view:
            return kit.box_view(op, kit.KERNELS[op.name])
        return self._copy if op.name == "copy_" else _launched(op, self.key)

    def _copy(self, target: Tensor, source: Tensor, non_blocking: bool) -> Tensor:
        """A copy from, to or on the device. One that touches the host's memory is waited for, unless that memory is
        pinned and the caller asked not to wait.
        """
        host = next((t for t in (target, source) if not t._keys & self.key), None)
        source = source if source._keys & self.key or non_blocking and source.is_pinned() else source.clone()
        given = _on_host(target), _on_host(source)
        work = partial(np.copyto, given[0]._array, given[1]._array, casting="unsafe")
        timeline.launch("toyMemcpyAsync", kit.MEMCPY, work, target._array.nbytes)
        if host is target and not (non_blocking and target.is_pinned()):
            runtime.current_stream().synchronize()
        bump_version(target)
        return target


def _empty(key: int, size: Any, rest: Any) -> Tensor:
    stride, dtype, _, device = rest[:4]
    kind = dtype or wrap(np.empty(0, np.float32)).dtype
    return _made(key, Spec(tuple(size), kind, stride), resolve(device))


def _on_host(x: Any) -> Any:
    """The same memory, as CPU tensors, for the stream's thread; generators draw from the same numbers."""
    if isinstance(x, Tensor):
        return wrap(x._array, x.dtype)
    if isinstance(x, Generator):
        copied = Generator()
        copied._stream = x._stream
        return copied
    return [_on_host(v) for v in x] if x.__class__ in (list, tuple) else x


def _made(key: int, spec: Spec, device: Any) -> Tensor:
    strides = None if spec.strides is None else [s * spec.dtype.itemsize for s in spec.strides]
    return wrap(runtime.allocate(tuple(spec.shape), spec.dtype.np, strides), spec.dtype, key, device)


def _launched(op: Op, key: int) -> Boxed:
    """The op as work for the current stream. What depends on values waits for it."""
    kernel = kit.box_cpu(op)
    draws = next((i for i, p in enumerate(op.schema.params) if p.name == "generator"), -1)

    def boxed(*args: Any) -> Any:
        given = [_on_host(x) for x in args]
        if draws >= 0:
            given[draws] = _on_host(args[draws] or runtime.generator())
        if op.writes:
            timeline.launch(op.base, kit.KERNEL, lambda: kernel(*given))
            bump_version(args[0])
            return args[0]
        device = resolve(next((t.device for t in _tensors(args) if t._keys & key), "toy"))
        try:
            specs = output_specs(op, tuple(given))
        except NotImplementedError:
            runtime.current_stream().synchronize()
            return _returned(kernel(*given), key, device)
        outs = [_made(key, s, device) if s else None for s in ((specs,) if isinstance(specs, Spec) else specs)]

        def run() -> None:
            results = kernel(*given)
            for out, result in zip(outs, (results,) if isinstance(results, Tensor) else results):
                if out is not None:
                    np.copyto(out._array, result._array)

        timeline.launch(op.base, kit.KERNEL, run)
        return outs[0] if isinstance(specs, Spec) else tuple(outs)

    return boxed


def _tensors(args: Any) -> list[Tensor]:
    return [t for x in args for t in (x if x.__class__ in (list, tuple) else (x,)) if isinstance(t, Tensor)]


def _returned(result: Any, key: int, device: Any) -> Any:
    if isinstance(result, Tensor):
        made = _made(key, Spec(result.shape, result.dtype), device)
        np.copyto(made._array, result._array)
        return made
    return type(result)(_returned(r, key, device) for r in result) if isinstance(result, (list, tuple)) else result
