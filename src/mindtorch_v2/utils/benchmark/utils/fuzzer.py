"""Random sizes and layouts to measure with."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from ...._dispatch.namespace import public
from ...._dtype import dtype as Dtype
from ...._dtype import float32
from ...._python.random import manual_seed
from ...._tensor import Tensor

__all__ = ["Fuzzer", "FuzzedParameter", "ParameterAlias", "FuzzedTensor"]

_DISTRIBUTIONS = ("loguniform", "uniform")
_MOST_TRIES = 1000


class ParameterAlias:
    """As a value of a distribution: the parameter takes the value of another one."""

    def __init__(self, alias_to: str) -> None:
        self.alias_to = alias_to

    def __repr__(self) -> str:
        return f"ParameterAlias[alias_to: {self.alias_to}]"


class FuzzedParameter:
    """A number to be drawn: from `minval` to `maxval`, "uniform" or "loguniform", or from values with probabilities.

    strict  values with probabilities are taken as they are; otherwise those outside the bounds are left out
    """

    def __init__(
        self,
        name: str,
        minval: float | None = None,
        maxval: float | None = None,
        distribution: str | dict[Any, float] | None = None,
        strict: bool = False,
    ) -> None:
        self._name, self._minval, self._maxval = name, minval, maxval
        self._distribution = self._check_distribution(distribution)
        self.strict = strict

    @property
    def name(self) -> str:
        return self._name

    def _check_distribution(self, distribution: Any) -> Any:
        if isinstance(distribution, Mapping):
            if abs(sum(distribution.values()) - 1) > 1e-5 or any(p < 0 for p in distribution.values()):
                raise ValueError(
                    f"the probabilities of {self._name} must be positive and sum to 1, got "
                    f"{list(distribution.values())}"
                )
        elif distribution not in _DISTRIBUTIONS:
            raise ValueError(f"Unknown distribution: {distribution}")
        elif self._minval is None or self._maxval is None:
            raise ValueError(f"{self._name} needs minval and maxval for the distribution {distribution!r}")
        return distribution

    def sample(self, state: np.random.RandomState) -> Any:
        if isinstance(self._distribution, Mapping):
            values = list(self._distribution)
            return values[int(state.choice(len(values), p=list(self._distribution.values())))]
        assert self._minval is not None and self._maxval is not None
        if self._distribution == "uniform":
            return (
                state.randint(self._minval, self._maxval + 1)
                if isinstance(self._minval, int) and isinstance(self._maxval, int)
                else state.uniform(self._minval, self._maxval)
            )
        is_whole = isinstance(self._minval, int) and isinstance(self._maxval, int)
        drawn = 2 ** state.uniform(low=math.log2(self._minval), high=math.log2(self._maxval + is_whole))
        return min(int(drawn), self._maxval) if is_whole else drawn


class FuzzedTensor:
    """A tensor whose sizes are parameters' names or numbers.

    steps                   strides between elements per dimension, parameters' names or numbers
    probability_contiguous  how often the elements lie in the order of the dimensions
    min_elements, max_elements, max_allocation_bytes    bounds; draws outside them are repeated
    dim_parameter           the parameter that says how many of the sizes are used
    """

    def __init__(
        self,
        name: str,
        size: tuple[str | int, ...],
        steps: tuple[str | int, ...] | None = None,
        probability_contiguous: float = 0.5,
        min_elements: int | None = None,
        max_elements: int | None = None,
        max_allocation_bytes: int | None = None,
        dim_parameter: str | None = None,
        roll_parameter: str | None = None,
        dtype: Dtype = float32,
        cuda: bool = False,
        tensor_constructor: Callable[..., Tensor] | None = None,
    ) -> None:
        self._name, self._size, self._steps = name, size, steps
        self._probability_contiguous = probability_contiguous
        self._min_elements, self._max_elements, self._max_allocation_bytes = (
            min_elements,
            max_elements,
            max_allocation_bytes,
        )
        self._dim_parameter, self._dtype = dim_parameter, dtype
        self._tensor_constructor = tensor_constructor or self.default_tensor_constructor
        if cuda:
            raise NotImplementedError("FuzzedTensor(cuda=True): there is no CUDA here")

    @property
    def name(self) -> str:
        return self._name

    @staticmethod
    def default_tensor_constructor(size: Sequence[int], dtype: Dtype, **kwargs: Any) -> Tensor:
        """Numbers below one, or integers below 127."""
        return public.rand(size, dtype=dtype) if dtype.inexact else public.randint(1, 127, size, dtype=dtype)

    def _make_tensor(self, params: Mapping[str, Any], state: np.random.RandomState) -> tuple[Tensor, dict[str, Any]]:
        size, steps, allocation = self._get_size_and_steps(params)
        order = np.arange(len(size))
        if state.rand() > self._probability_contiguous and len(size) > 1:
            order = state.permutation(len(size))
        raw = self._tensor_constructor([allocation[i] for i in order], dtype=self._dtype, **params)
        made = raw.permute([int(i) for i in np.argsort(order)])[
            tuple(slice(0, s * step, step) for s, step in zip(size, steps))
        ]
        return made, {
            "numel": int(made.numel()),
            "order": order,
            "steps": steps,
            "is_contiguous": made.is_contiguous(),
            "dtype": str(self._dtype),
        }

    def _get_size_and_steps(
        self, params: Mapping[str, Any]
    ) -> tuple[tuple[int, ...], tuple[int, ...], tuple[int, ...]]:
        dim = params[self._dim_parameter] if self._dim_parameter is not None else len(self._size)

        def values(given: Sequence[str | int]) -> list[int]:
            return [int(params.get(x, 1)) if isinstance(x, str) else x for x in given][:dim]

        size, steps = values(self._size), values(self._steps or ())
        steps += [1] * (dim - len(steps))
        return tuple(size), tuple(steps), tuple(s * step for s, step in zip(size, steps))

    def satisfies_constraints(self, params: Mapping[str, Any]) -> bool:
        size, _, allocation = self._get_size_and_steps(params)
        elements, nbytes = math.prod(size), math.prod(allocation) * self._dtype.itemsize
        return not (
            (self._min_elements is not None and elements < self._min_elements)
            or (self._max_elements is not None and elements > self._max_elements)
            or (self._max_allocation_bytes is not None and nbytes > self._max_allocation_bytes)
        )


class Fuzzer:
    """Draws parameters until all constraints hold, and makes the tensors. The same seed gives the same draws."""

    def __init__(
        self,
        parameters: Sequence[Any],
        tensors: Sequence[Any],
        constraints: Sequence[Callable[..., bool]] | None = None,
        seed: int | None = None,
    ) -> None:
        self._seed = int(np.random.RandomState().randint(0, 2**31 - 1)) if seed is None else seed
        self._parameters: list[FuzzedParameter] = _flat(parameters)
        self._tensors: list[FuzzedTensor] = _flat(tensors)
        self._constraints = tuple(constraints or ())
        names = {p.name for p in self._parameters} & {t.name for t in self._tensors}
        if names:
            raise ValueError(f"names of parameters and of tensors must differ, got {sorted(names)} for both")
        self._rejections = self._total_generated = 0

    def take(self, n: int) -> Iterator[tuple[dict[str, Tensor], dict[str, dict[str, Any]], dict[str, Any]]]:
        """`n` draws: (tensors, what is known of them, parameters)."""
        state = np.random.RandomState(self._seed)
        manual_seed(int(state.randint(0, 2**63 - 1, dtype=np.int64)))
        for _ in range(n):
            params = self._generate(state)
            made = {t.name: t._make_tensor(params, state) for t in self._tensors}
            yield {k: v[0] for k, v in made.items()}, {k: v[1] for k, v in made.items()}, params

    @property
    def rejection_rate(self) -> float:
        """The share of draws that broke a constraint."""
        return self._rejections / self._total_generated if self._total_generated else 0.0

    def _generate(self, state: np.random.RandomState) -> dict[str, Any]:
        strict: dict[str, Any] = {}
        for _ in range(_MOST_TRIES):
            drawn = {p.name: p.sample(state) for p in self._parameters}
            drawn = {k: drawn[v.alias_to] if isinstance(v, ParameterAlias) else v for k, v in drawn.items()}
            self._total_generated += 1
            if all(f(drawn) for f in self._constraints) and all(t.satisfies_constraints(drawn) for t in self._tensors):
                return drawn
            self._rejections += 1
            strict = drawn
        raise ValueError(f"no draw out of {_MOST_TRIES} satisfies the constraints; the last was {strict}")


def _flat(values: Sequence[Any]) -> list[Any]:
    return [x for value in values for x in (value if isinstance(value, (list, tuple)) else (value,))]
