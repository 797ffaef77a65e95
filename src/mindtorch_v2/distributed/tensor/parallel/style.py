"""How a layer's weights, arguments and results lie."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ...._tensor import Tensor
from ....nn import Embedding, Linear, Module
from ...device_mesh import DeviceMesh
from .._api import DTensor
from .._modules import distribute_module, replace_parameter
from ..placement_types import Placement, Replicate, Shard

__all__ = [
    "ColwiseParallel",
    "ParallelStyle",
    "PrepareModuleInput",
    "PrepareModuleInputOutput",
    "PrepareModuleOutput",
    "RowwiseParallel",
    "SequenceParallel",
]


class ParallelStyle:
    """How a module is spread over the processes of a mesh."""

    src_data_rank: int | None = 0

    def _apply(self, module: Module, device_mesh: DeviceMesh) -> Module:
        raise NotImplementedError(f"{type(self).__name__} must say what it does with a module")


def _as_dtensor(value: Any, mesh: DeviceMesh, own: Placement | None, wanted: Placement | None) -> Any:
    """A tensor that lies as `own` in the processes, placed as wanted; other values as they are."""
    if not isinstance(value, Tensor) or own is None:
        return value
    found = value if isinstance(value, DTensor) else DTensor.from_local(value, mesh, (own,))
    return found if wanted is None else found.redistribute(placements=(wanted,))


def _as_result(value: Any, wanted: Placement | None, use_local: bool) -> Any:
    if not isinstance(value, DTensor):
        return value
    made = value if wanted is None else value.redistribute(placements=(wanted,))
    return made.to_local() if use_local else made


class _Spread(ParallelStyle):
    """A layer whose weights are spread; the arguments are brought to `_needed`."""

    _needed: Placement
    _input: Placement
    _output: Placement
    use_local_output: bool

    def _place(self, module: Module, mesh: DeviceMesh) -> dict[str, Placement]:
        """How each parameter of the layer lies."""
        raise NotImplementedError

    def _apply(self, module: Module, device_mesh: DeviceMesh) -> Module:
        for name, placement in self._place(module, device_mesh).items():
            replace_parameter(module, name, device_mesh, (placement,), self.src_data_rank)

        def before(inputs: Any, mesh: DeviceMesh) -> Any:
            return (_as_dtensor(inputs[0], mesh, self._input, self._needed), *inputs[1:])

        def after(outputs: Any, mesh: DeviceMesh) -> Any:
            return _as_result(outputs, self._output, self.use_local_output)

        return distribute_module(module, device_mesh, None, _ignore_module(before), _ignore_module(after))


def _ignore_module(function: Callable[[Any, DeviceMesh], Any]) -> Callable[[Module, Any, DeviceMesh], Any]:
    return lambda module, values, mesh: function(values, mesh)


class ColwiseParallel(_Spread):
    """Spreads the results of a Linear or Embedding layer: each process computes some of the columns."""

    def __init__(
        self,
        *,
        input_layouts: Placement | None = None,
        output_layouts: Placement | None = None,
        use_local_output: bool = True,
    ) -> None:
        self._input, self._output = input_layouts or Replicate(), output_layouts or Shard(-1)
        self._needed, self.use_local_output = Replicate(), use_local_output

    def _place(self, module: Module, mesh: DeviceMesh) -> dict[str, Placement]:
        if isinstance(module, Linear):
            return {"weight": Shard(0), **({"bias": Shard(0)} if module.bias is not None else {})}
        if isinstance(module, Embedding):
            return {"weight": Shard(1)}
        raise NotImplementedError("ColwiseParallel currently only support nn.Linear and nn.Embedding!")


class RowwiseParallel(_Spread):
    """Spreads what a Linear layer sums over, or the rows of an Embedding: the results of the processes are added up."""

    def __init__(
        self,
        *,
        input_layouts: Placement | None = None,
        output_layouts: Placement | None = None,
        use_local_output: bool = True,
    ) -> None:
        self._input, self._output = input_layouts or Shard(-1), output_layouts or Replicate()
        self._needed, self.use_local_output = Shard(-1), use_local_output

    def _place(self, module: Module, mesh: DeviceMesh) -> dict[str, Placement]:
        if isinstance(module, Linear):
            return {"weight": Shard(1), **({"bias": Replicate()} if module.bias is not None else {})}
        if isinstance(module, Embedding):
            self._needed = Replicate()
            return {"weight": Shard(0)}
        raise NotImplementedError("RowwiseParallel currently only support nn.Linear and nn.Embedding!")


class SequenceParallel(_Spread):
    """A layer that works on each position by itself (norms, dropout), with the positions spread."""

    def __init__(self, *, sequence_dim: int = 1, use_local_output: bool = False) -> None:
        self._input = self._needed = self._output = Shard(sequence_dim)
        self.use_local_output = use_local_output

    def _place(self, module: Module, mesh: DeviceMesh) -> dict[str, Placement]:
        return {name: Replicate() for name, _ in module.named_parameters(recurse=False)}


class PrepareModuleInput(ParallelStyle):
    """Makes DTensors of a module's arguments, and places them as it needs."""

    def __init__(
        self,
        *,
        input_layouts: Any = None,
        desired_input_layouts: Any = None,
        input_kwarg_layouts: dict[str, Placement] | None = None,
        desired_input_kwarg_layouts: dict[str, Placement] | None = None,
        use_local_output: bool = False,
    ) -> None:
        self.input_layouts, self.desired_input_layouts = _several(input_layouts), _several(desired_input_layouts)
        self.input_kwarg_layouts = input_kwarg_layouts or {}
        self.desired_input_kwarg_layouts = desired_input_kwarg_layouts or {}
        self.use_local_output = use_local_output
        if len(self.input_layouts) != len(self.desired_input_layouts):
            raise AssertionError("input_layouts and desired_input_layouts should have same length!")
        if self.input_kwarg_layouts.keys() != self.desired_input_kwarg_layouts.keys():
            raise AssertionError("input_kwarg_layouts and desired_input_kwarg_layouts should have same keys!")

    def _apply(self, module: Module, device_mesh: DeviceMesh) -> Module:
        def prepared(value: Any, own: Placement | None, wanted: Placement | None) -> Any:
            made = _as_dtensor(value, device_mesh, own, wanted)
            return made.to_local() if self.use_local_output and isinstance(made, DTensor) else made

        def before(module: Module, args: Any, kwargs: Any) -> Any:
            if self.input_layouts and len(args) != len(self.input_layouts):
                raise ValueError("module inputs and input_layouts should have same length!")
            layouts = self.input_layouts or [None] * len(args)
            wanted = self.desired_input_layouts or layouts
            made = tuple(prepared(value, own, w) for value, own, w in zip(args, layouts, wanted))
            return made, {
                name: prepared(value, self.input_kwarg_layouts.get(name), self.desired_input_kwarg_layouts.get(name))
                for name, value in kwargs.items()
            }

        module.register_forward_pre_hook(before, with_kwargs=True)
        return module


class PrepareModuleOutput(ParallelStyle):
    """Makes DTensors of a module's results, and places them as the program needs."""

    def __init__(self, *, output_layouts: Any, desired_output_layouts: Any, use_local_output: bool = True) -> None:
        self.output_layouts, self.desired_output_layouts = _several(output_layouts), _several(desired_output_layouts)
        self.use_local_output = use_local_output
        if len(self.output_layouts) != len(self.desired_output_layouts):
            raise AssertionError("output_layouts and desired_output_layouts should have same length!")

    def _apply(self, module: Module, device_mesh: DeviceMesh) -> Module:
        def after(module: Module, args: Any, outputs: Any) -> Any:
            values = outputs if isinstance(outputs, tuple) else (outputs,)
            if len(values) != len(self.output_layouts):
                raise ValueError("module outputs and output_layouts should have same length!")
            made = tuple(
                _as_result(_as_dtensor(value, device_mesh, own, wanted), None, self.use_local_output)
                for value, own, wanted in zip(values, self.output_layouts, self.desired_output_layouts)
            )
            return made if isinstance(outputs, tuple) else made[0]

        module.register_forward_hook(after)
        return module


class PrepareModuleInputOutput(ParallelStyle):
    """`PrepareModuleInput` and `PrepareModuleOutput` of one module."""

    def __init__(
        self,
        *,
        input_layouts: Any = None,
        desired_input_layouts: Any = None,
        input_kwarg_layouts: dict[str, Placement] | None = None,
        desired_input_kwarg_layouts: dict[str, Placement] | None = None,
        use_local_input: bool = False,
        output_layouts: Any,
        desired_output_layouts: Any,
        use_local_output: bool = True,
    ) -> None:
        self.prepare_module_input = PrepareModuleInput(
            input_layouts=input_layouts,
            desired_input_layouts=desired_input_layouts,
            input_kwarg_layouts=input_kwarg_layouts,
            desired_input_kwarg_layouts=desired_input_kwarg_layouts,
            use_local_output=use_local_input,
        )
        self.prepare_module_output = PrepareModuleOutput(
            output_layouts=output_layouts,
            desired_output_layouts=desired_output_layouts,
            use_local_output=use_local_output,
        )

    def _apply(self, module: Module, device_mesh: DeviceMesh) -> Module:
        self.prepare_module_input._apply(module, device_mesh)
        return self.prepare_module_output._apply(module, device_mesh)


def _several(layouts: Any) -> list[Any]:
    return [] if layouts is None else [layouts] if isinstance(layouts, Placement) else list(layouts)
