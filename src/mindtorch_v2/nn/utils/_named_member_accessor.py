"""Reading and replacing tensors and submodules of a module by their paths."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

from ..._tensor import Tensor

__all__ = ["NamedMemberAccessor", "set_tensor", "swap_submodule", "swap_tensor"]

_MISSING: Any = object()


class NamedMemberAccessor:
    """Gets, sets, deletes and swaps what stands at a path of a module ("layers.0.weight"). Tensors are put into the
    tables of parameters and buffers as they are; with `allow_missing` a path that has nothing is not an error."""

    def __init__(self, module: Any) -> None:
        self.module = module
        self.memo: dict[str, Any] = {}

    def get_submodule(self, name: str) -> Any:
        """The module at a path; "" is the module itself."""
        return self.module.get_submodule(name)

    def swap_submodule(self, path: str, value: Any) -> Any:
        """Puts a module at a path and returns the one that stood there."""
        parent, _, name = path.rpartition(".")
        owner = self.get_submodule(parent)
        if name not in owner._modules:
            raise AttributeError(f"{owner._get_name()} has no attribute `{name}`")
        before = owner._modules[name]
        owner._modules[name] = value
        return before

    def get_tensor(self, name: str) -> Any:
        """The tensor at a path."""
        owner, attribute = self._owner(name)
        found = getattr(owner, attribute)
        if found is not None and not isinstance(found, Tensor):
            raise TypeError(f"{found} is not an instance of torch.Tensor")
        return found

    def set_tensor(self, name: str, value: Any) -> None:
        """Puts a tensor at a path."""
        self.swap_tensor(name, value, allow_missing=True)

    def del_tensor(self, name: str) -> None:
        """Removes the tensor at a path."""
        self.get_tensor(name)
        owner, attribute = self._owner(name)
        delattr(owner, attribute)

    def swap_tensor(self, name: str, value: Any, allow_missing: bool = False) -> Any:
        """Puts a tensor at a path and returns the one that stood there."""
        owner, attribute = self._owner(name)
        before = _MISSING
        for table in (owner._parameters, owner._buffers):
            if attribute in table:
                before = table[attribute]
                if value is _MISSING:
                    del table[attribute]
                else:
                    table[attribute] = value
                return before
        before = owner.__dict__.get(attribute, _MISSING)
        if before is _MISSING and not allow_missing:
            raise AttributeError(f"{owner._get_name()} has no attribute `{attribute}`")
        if before is not _MISSING and not isinstance(before, Tensor):
            raise TypeError(f"{before} is not an instance of torch.Tensor")
        if value is _MISSING:
            owner.__dict__.pop(attribute, None)
        else:
            owner.__dict__[attribute] = value
        return before

    def get_tensors(self, names: Iterable[str]) -> list[Any]:
        """The tensors at several paths."""
        return [self.get_tensor(name) for name in names]

    def set_tensors(self, names: Iterable[str], values: Iterable[Any]) -> None:
        """Puts tensors at several paths."""
        for name, value in self._pairs(names, values):
            self.set_tensor(name, value)

    def set_tensors_dict(self, named_tensors: dict[str, Any]) -> None:
        """Puts tensors at the paths that are the keys."""
        for name, value in named_tensors.items():
            self.set_tensor(name, value)

    def del_tensors(self, names: Iterable[str]) -> None:
        """Removes the tensors at several paths."""
        for name in names:
            self.del_tensor(name)

    def swap_tensors(self, names: Iterable[str], values: Iterable[Any], allow_missing: bool = False) -> list[Any]:
        """Puts tensors at several paths and returns those that stood there."""
        return [self.swap_tensor(name, value, allow_missing) for name, value in self._pairs(names, values)]

    def swap_tensors_dict(self, named_tensors: dict[str, Any], allow_missing: bool = False) -> Any:
        """The same by name: returns those that stood there, and the missing names. An error changes nothing."""
        before: dict[str, Any] = {}
        missing: list[str] = []
        try:
            for name, value in named_tensors.items():
                try:
                    before[name] = self.swap_tensor(name, value, allow_missing=True)
                except AttributeError:
                    if not allow_missing:
                        raise
                    missing.append(name)
                    continue
                if before[name] is _MISSING:
                    missing.append(name)
            if missing and not allow_missing:
                raise RuntimeError(f"Missing key(s): {', '.join(repr(name) for name in missing)}.")
        except BaseException:
            for name, value in before.items():
                self.swap_tensor(name, value, allow_missing=True)
            raise
        return before, missing

    def check_keys(self, keys: Iterable[str]) -> tuple[list[str], list[str]]:
        """Which names of tensors are missing among the keys, and which keys name no tensor."""
        own = {name for name, _ in self.named_tensors(remove_duplicate=False)}
        given = set(keys)
        return sorted(own - given), sorted(given - own)

    def named_parameters(self, remove_duplicate: bool = True) -> Iterator[tuple[str, Any]]:
        """(path, parameter) pairs."""
        yield from self.module.named_parameters(remove_duplicate=remove_duplicate)

    def named_buffers(self, remove_duplicate: bool = True) -> Iterator[tuple[str, Any]]:
        """(path, buffer) pairs."""
        yield from self.module.named_buffers(remove_duplicate=remove_duplicate)

    def named_tensors(self, remove_duplicate: bool = True) -> Iterator[tuple[str, Any]]:
        """(path, tensor) pairs of parameters and buffers."""
        yield from self.named_parameters(remove_duplicate)
        yield from self.named_buffers(remove_duplicate)

    def named_modules(self, remove_duplicate: bool = True) -> Iterator[tuple[str, Any]]:
        """(path, module) pairs."""
        yield from self.module.named_modules(remove_duplicate=remove_duplicate)

    def _owner(self, name: str) -> tuple[Any, str]:
        path, _, attribute = name.rpartition(".")
        return self.get_submodule(path), attribute

    @staticmethod
    def _pairs(names: Iterable[str], values: Iterable[Any]) -> list[tuple[str, Any]]:
        all_names, all_values = list(names), list(values)
        if len(all_names) != len(all_values):
            raise ValueError(f"got {len(all_names)} names and {len(all_values)} values")
        return list(zip(all_names, all_values))


def _own_name(name: str) -> str:
    if "." in name:
        raise KeyError('tensor name can\'t contain "."')
    if name == "":
        raise KeyError('tensor name can\'t be empty string ""')
    return name


def swap_tensor(module: Any, name: str, tensor: Any, allow_missing: bool = False) -> Any:
    """Puts a tensor under a module's own name and returns the one that stood there."""
    return NamedMemberAccessor(module).swap_tensor(_own_name(name), tensor, allow_missing)


def set_tensor(module: Any, name: str, tensor: Any) -> None:
    """Puts a tensor under a module's own name."""
    swap_tensor(module, name, tensor, allow_missing=True)


def swap_submodule(module: Any, name: str, submodule: Any) -> Any:
    """Puts a module under a module's own name and returns the one that stood there."""
    return NamedMemberAccessor(module).swap_submodule(_own_name(name), submodule)
