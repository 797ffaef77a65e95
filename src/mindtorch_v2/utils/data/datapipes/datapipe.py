"""What all data pipes have: functional forms (`pipe.map(f)`), one iterator at a time, and a scope in profiles."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Iterator
from typing import Any, ClassVar, TypeVar

from .... import _observer
from ...._dispatch import aten
from ...._dtype import int64
from ..dataset import Dataset, IterableDataset

__all__ = ["DataChunk", "IterDataPipe", "MapDataPipe", "functional_datapipe"]
T = TypeVar("T")


def fresh_seed() -> int:
    """A seed from the default generator, as PyTorch draws it."""
    return int(aten.random_(aten.empty([], dtype=int64)).item())


def short_name(pipe: Any) -> str:
    """The class's name without what all of them end with."""
    return type(pipe).__name__.removesuffix("IterDataPipe").removesuffix("MapDataPipe")


def _shown(value: Any) -> str:
    if isinstance(value, (IterDataPipe, MapDataPipe)):
        return short_name(value)
    return str(getattr(value, "__name__", value))


def event_name(pipe: Any) -> str:
    """`Mapper(datapipe=IterableWrapper, fn=double, ...)`: the class and the arguments that it keeps, sorted."""
    names = sorted(n for n in inspect.signature(type(pipe)).parameters if n in vars(pipe))
    return f"{short_name(pipe)}({', '.join(f'{n}={_shown(vars(pipe)[n])}' for n in names)})"


class _Iterator:
    """An iterator of a pipe. It ends with an error when another one of the same pipe has begun."""

    def __init__(self, pipe: IterDataPipe[Any], make: Callable[[Any], Any]) -> None:
        self._pipe, self._make = pipe, make
        self._inner: Any = None
        self._number = 0
        self._event = ""

    def _begin(self) -> None:
        self._pipe.__dict__["_begun"] = self._number = self._pipe.__dict__.get("_begun", 0) + 1
        reset = getattr(self._pipe, "reset", None)
        if callable(reset):
            reset()
        inner = self._make(self._pipe)
        self._inner = inner if hasattr(inner, "__next__") else iter(inner)

    def __iter__(self) -> _Iterator:
        return self

    def __next__(self) -> Any:
        if self._inner is None:
            self._begin()
        if self._pipe.__dict__.get("_begun") != self._number:
            raise RuntimeError(
                "This iterator has been invalidated because another iterator has been created from the same "
                f"IterDataPipe: {event_name(self._pipe)}\nThis may be caused by multiple references to the same "
                "IterDataPipe. We recommend using `.fork()` if that is necessary."
            )
        if _observer.active is None:
            return next(self._inner)
        from ....profiler.record_function import record_function

        self._event = self._event or event_name(self._pipe)
        with record_function(self._event):
            return next(self._inner)

    def __getattr__(self, name: str) -> Any:
        """What the program's own iterator has."""
        if name.startswith("__"):
            raise AttributeError(name)
        if self._inner is None:
            self._begin()
        return getattr(self._inner, name)


class _WithForms:
    """What both kinds of pipes have: a table of functional forms."""

    functions: ClassVar[dict[str, Callable[..., Any]]]

    @classmethod
    def register_function(cls, function_name: str, function: Callable[..., Any]) -> None:
        """Makes `pipe.function_name(...)` call the function with the pipe first."""
        cls.functions[function_name] = function

    @classmethod
    def register_datapipe_as_function(cls, function_name: str, cls_to_register: type, **options: Any) -> None:
        """The same for a class; RuntimeError if the name is taken."""
        if function_name in cls.functions:
            raise RuntimeError(f"Unable to add DataPipe function name {function_name} as it is already taken")
        cls.functions[function_name] = cls_to_register


class IterDataPipe(_WithForms, IterableDataset[T]):
    """A stream of samples: subclasses give `__iter__`, which may be a generator. Other pipes are made of it by
    functional forms such as `map`, `filter`, `shuffle`, `batch`. A pipe has one iterator at a time: a new one ends
    the others.

    >>> from mindtorch_v2.utils.data.datapipes.iter import IterableWrapper
    >>> list(IterableWrapper(range(5)).map(lambda x: x * x).batch(2))
    [[0, 1], [4, 9], [16]]
    """

    functions: ClassVar[dict[str, Callable[..., Any]]] = {}

    def __init_subclass__(cls, **kwargs: Any) -> None:
        super().__init_subclass__(**kwargs)
        make = cls.__dict__.get("__iter__")
        if make is not None:

            @functools.wraps(make)
            def begin(self: Any) -> Iterator[Any]:
                return _Iterator(self, make)

            cls.__iter__ = begin  # type: ignore[method-assign]

    def __getattr__(self, name: str) -> Any:
        if name in IterDataPipe.functions:
            return functools.partial(IterDataPipe.functions[name], self)
        raise AttributeError(f"'{type(self).__name__}' object has no attribute '{name}'")

    def __repr__(self) -> str:
        return type(self).__qualname__


class MapDataPipe(_WithForms, Dataset[T]):
    """Samples by their keys: subclasses give `__getitem__`, and usually `__len__`.

    >>> from mindtorch_v2.utils.data.datapipes.map import SequenceWrapper
    >>> SequenceWrapper([1, 2, 3]).map(lambda x: x + 1)[2]
    4
    """

    functions: ClassVar[dict[str, Callable[..., Any]]] = {}

    def __getattr__(self, name: str) -> Any:
        if name in MapDataPipe.functions:
            return functools.partial(MapDataPipe.functions[name], self)
        raise AttributeError(f"'{type(self).__name__}' object has no attribute '{name}'")

    def __repr__(self) -> str:
        return type(self).__qualname__


class functional_datapipe:
    """A decorator that gives a class of pipes a functional form: `pipe.name(...)` makes one from the pipe.

    >>> @torch.utils.data.functional_datapipe("shifted")
    ... class Shifter(torch.utils.data.IterDataPipe):
    ...     def __init__(self, source, by):
    ...         self.source, self.by = source, by
    ...     def __iter__(self):
    ...         for x in self.source:
    ...             yield x + self.by
    >>> list(torch.utils.data.datapipes.iter.IterableWrapper([1, 2]).shifted(10))
    [11, 12]
    """

    def __init__(self, name: str, enable_df_api_tracing: bool = False) -> None:
        self.name = name

    def __call__(self, cls: type) -> type:
        base: type[_WithForms] = MapDataPipe if issubclass(cls, MapDataPipe) else IterDataPipe
        if not issubclass(cls, base):
            raise TypeError("`functional_datapipe` can only decorate IterDataPipe or MapDataPipe")
        base.register_datapipe_as_function(self.name, cls)
        return cls


class DataChunk(list[Any]):
    """A batch: a list."""

    def raw_iterator(self) -> Iterator[Any]:
        """Its items."""
        return super().__iter__()
