"""The children of a module: parameters, buffers and submodules, how they are set, found and listed."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Iterator
from typing import Any

from ..._storage import native
from ..._tensor import Parameter, Tensor
from ..parameter import Buffer
from ._hooks import GLOBAL
from .utils import typename


class RegistrationMixin:
    """Registration, lookup and traversal, for Module."""

    training: bool
    _parameters: dict[str, Any]
    _buffers: dict[str, Any]
    _modules: dict[str, Any]
    _non_persistent_buffers_set: set[str]

    def __init_subclass__(cls, **keywords: Any) -> None:
        super().__init_subclass__(**keywords)
        if native is not None:
            native.find_children(cls, RegistrationMixin.__getattr__)

    # --- registering
    def _check_name(self, kind: str, name: Any, table: str, late: str) -> None:
        if table not in self.__dict__:
            raise AttributeError(f"cannot assign {kind} before Module.__init__() call")
        if not isinstance(name, str):
            raise TypeError(f"{kind} name should be a string. Got {typename(name)}")
        if late == "dots first":
            self._check_dots(kind, name)
        if hasattr(self, name) and name not in self.__dict__[table]:
            raise KeyError(f"attribute '{name}' already exists")
        if late != "dots first":
            self._check_dots(kind, name)

    @staticmethod
    def _check_dots(kind: str, name: str) -> None:
        if "." in name:
            raise KeyError(f'{kind} name can\'t contain "."' + (f", got: {name}" if kind == "module" else ""))
        if name == "":
            raise KeyError(f'{kind} name can\'t be empty string ""')

    def register_buffer(self, name: str, tensor: Tensor | None, persistent: bool = True) -> None:
        """Adds state that is not trained, such as running statistics. Only persistent buffers are in the state dict."""
        self._check_name("buffer", name, "_buffers", "dots first")
        if tensor is not None and not isinstance(tensor, Tensor):
            raise TypeError(
                f"cannot assign '{typename(tensor)}' object to buffer '{name}' (torch Tensor or None required)"
            )
        for hook in GLOBAL.register_buffer.values():
            made = hook(self, name, tensor)
            tensor = tensor if made is None else made
        self._buffers[name] = tensor
        if persistent:
            self._non_persistent_buffers_set.discard(name)
        else:
            self._non_persistent_buffers_set.add(name)

    def register_parameter(self, name: str, param: Parameter | None) -> None:
        """Adds a parameter under a name; None reserves the name."""
        self._check_name("parameter", name, "_parameters", "dots first")
        if param is not None and not isinstance(param, Parameter):
            raise TypeError(
                f"cannot assign '{typename(param)}' object to parameter '{name}' (torch.nn.Parameter or None required)"
            )
        if param is not None and param.grad_fn is not None:
            raise ValueError(
                f"Cannot assign non-leaf Tensor to parameter '{name}'. Model parameters must be created explicitly. "
                f"To express '{name}' as a function of another Tensor, compute the value in the forward() method."
            )
        for hook in GLOBAL.register_parameter.values():
            made = hook(self, name, param)
            param = param if made is None else made
        self._parameters[name] = param

    def add_module(self, name: str, module: Any) -> None:
        """Adds a child under a name; None reserves the name."""
        if module is not None and not isinstance(module, RegistrationMixin):
            raise TypeError(f"{typename(module)} is not a Module subclass")
        self._check_name("module", name, "_modules", "dots last")
        self._modules[name] = self._hooked_module(name, module)

    def register_module(self, name: str, module: Any) -> None:
        """The same as `add_module`."""
        self.add_module(name, module)

    def _hooked_module(self, name: str, module: Any) -> Any:
        for hook in GLOBAL.register_module.values():
            made = hook(self, name, module)
            module = module if made is None else made
        return module

    # --- attributes
    def __getattr__(self, name: str) -> Any:
        fields = self.__dict__
        table = fields.get("_parameters")
        if table is not None:
            if name in table:
                return table[name]
            table = fields["_buffers"]
            if name in table:
                return table[name]
            table = fields["_modules"]
            if name in table:
                return table[name]
        raise AttributeError(f"'{type(self).__name__}' object has no attribute '{name}'")

    def _forget(self, name: str, *tables: str) -> None:
        for table in tables:
            found = self.__dict__.get(table)
            if found is None:
                continue
            if isinstance(found, set):
                found.discard(name)
            else:
                found.pop(name, None)

    def __setattr__(self, name: str, value: Any) -> None:
        fields = self.__dict__
        if isinstance(value, Parameter):
            if "_parameters" not in fields:
                raise AttributeError("cannot assign parameters before Module.__init__() call")
            self._forget(name, "_buffers", "_modules", "_non_persistent_buffers_set")
            fields.pop(name, None)
            self.register_parameter(name, value)
        elif isinstance(value, RegistrationMixin):
            if "_modules" not in fields:
                raise AttributeError("cannot assign module before Module.__init__() call")
            self._forget(name, "_parameters", "_buffers", "_non_persistent_buffers_set")
            fields.pop(name, None)
            fields["_modules"][name] = self._hooked_module(name, value)
        elif name in fields or "_parameters" not in fields:
            object.__setattr__(self, name, value)
        elif name in fields["_parameters"]:
            if value is not None:
                raise TypeError(
                    f"cannot assign '{typename(value)}' as parameter '{name}' (torch.nn.Parameter or None expected)"
                )
            self.register_parameter(name, value)
        elif name in fields["_modules"]:
            if value is not None:
                raise TypeError(
                    f"cannot assign '{typename(value)}' as child module '{name}' (torch.nn.Module or None expected)"
                )
            fields["_modules"][name] = self._hooked_module(name, value)
        elif name in fields["_buffers"] or (isinstance(value, Tensor) and isinstance(value, Buffer)):
            self._set_buffer(name, value)
        else:
            object.__setattr__(self, name, value)

    def _set_buffer(self, name: str, value: Any) -> None:
        if value is not None and not isinstance(value, Tensor):
            raise TypeError(
                f"cannot assign '{typename(value)}' as buffer '{name}' (torch.nn.Buffer, torch.Tensor or None expected)"
            )
        if isinstance(value, Buffer):
            self.register_buffer(name, value, value.persistent)
            return
        for hook in GLOBAL.register_buffer.values():
            made = hook(self, name, value)
            value = value if made is None else made
        self._buffers[name] = value

    def __delattr__(self, name: str) -> None:
        for table in (self._parameters, self._buffers, self._modules):
            if name in table:
                del table[name]
                self._non_persistent_buffers_set.discard(name)
                return
        super().__delattr__(name)

    def __dir__(self) -> list[str]:
        names = [*dir(type(self)), *self.__dict__, *self._parameters, *self._modules, *self._buffers]
        return sorted({n for n in names if not n[0].isdigit()})

    # --- lookup by path
    def get_submodule(self, target: str) -> Any:
        """The module at a path such as "layers.0.fc"; "" is this one. AttributeError if there is none."""
        module: Any = self
        for part in target.split(".") if target else ():
            if not hasattr(module, part):
                raise AttributeError(f"{module._get_name()} has no attribute `{part}`")
            module = getattr(module, part)
            if not isinstance(module, RegistrationMixin):
                raise AttributeError(f"`{part}` is not an nn.Module")
        return module

    def set_submodule(self, target: str, module: Any, strict: bool = False) -> None:
        """Puts a module at a path whose parent exists; with `strict` the path itself must exist too."""
        if target == "":
            raise ValueError("Cannot set the submodule without a target name!")
        if not isinstance(module, RegistrationMixin):
            raise ValueError(f"`module` is not an nn.Module, found {type(module)}")
        parent_path, _, name = target.rpartition(".")
        parent = self.get_submodule(parent_path)
        if strict and not hasattr(parent, name):
            raise AttributeError(f"{parent._get_name()} has no attribute `{name}`")
        if hasattr(parent, name) and not isinstance(getattr(parent, name), RegistrationMixin):
            raise AttributeError(f"`{name}` is not an nn.Module")
        setattr(parent, name, module)

    def _get_at(self, target: str) -> tuple[Any, str]:
        path, _, name = target.rpartition(".")
        owner = self.get_submodule(path)
        if not hasattr(owner, name):
            raise AttributeError(f"{owner._get_name()} has no attribute `{name}`")
        return owner, name

    def get_parameter(self, target: str) -> Any:
        """The parameter at a path such as "fc.weight"."""
        owner, name = self._get_at(target)
        found = getattr(owner, name)
        if not isinstance(found, Parameter):
            raise AttributeError(f"`{name}` is not an nn.Parameter")
        return found

    def get_buffer(self, target: str) -> Any:
        """The buffer at a path such as "bn.running_mean"."""
        owner, name = self._get_at(target)
        if name not in owner._buffers:
            raise AttributeError(f"`{name}` is not a buffer")
        return owner._buffers[name]

    # --- traversal
    def _named_members(
        self, members_of: Callable[[Any], Any], prefix: str = "", recurse: bool = True, remove_duplicate: bool = True
    ) -> Iterator[tuple[str, Any]]:
        seen: set[Any] = set()
        modules = self.named_modules(prefix=prefix, remove_duplicate=remove_duplicate) if recurse else ((prefix, self),)
        for path, module in modules:
            for name, value in members_of(module):
                if value is None or value in seen:
                    continue
                if remove_duplicate:
                    seen.add(value)
                yield (f"{path}.{name}" if path else name), value

    def parameters(self, recurse: bool = True) -> Iterator[Any]:
        """The parameters of this module and, with `recurse`, of all below it, each once."""
        for _, param in self.named_parameters(recurse=recurse):
            yield param

    def named_parameters(
        self, prefix: str = "", recurse: bool = True, remove_duplicate: bool = True
    ) -> Iterator[tuple[str, Any]]:
        """(full name, parameter) pairs."""
        yield from self._named_members(lambda m: m._parameters.items(), prefix, recurse, remove_duplicate)

    def buffers(self, recurse: bool = True) -> Iterator[Any]:
        """The buffers of this module and, with `recurse`, of all below it, each once."""
        for _, buffer in self.named_buffers(recurse=recurse):
            yield buffer

    def named_buffers(
        self, prefix: str = "", recurse: bool = True, remove_duplicate: bool = True
    ) -> Iterator[tuple[str, Any]]:
        """(full name, buffer) pairs."""
        yield from self._named_members(lambda m: m._buffers.items(), prefix, recurse, remove_duplicate)

    def children(self) -> Iterator[Any]:
        """The immediate children, each once."""
        for _, module in self.named_children():
            yield module

    def named_children(self) -> Iterator[tuple[str, Any]]:
        """(name, module) pairs of the immediate children."""
        seen: set[Any] = set()
        for name, module in self._modules.items():
            if module is not None and module not in seen:
                seen.add(module)
                yield name, module

    def modules(self) -> Iterator[Any]:
        """This module and all below it, each once."""
        for _, module in self.named_modules():
            yield module

    def named_modules(
        self, memo: set[Any] | None = None, prefix: str = "", remove_duplicate: bool = True
    ) -> Iterator[tuple[str, Any]]:
        """(path, module) pairs, this module first."""
        memo = set() if memo is None else memo
        if self in memo:
            return
        if remove_duplicate:
            memo.add(self)
        yield prefix, self
        for name, module in self._modules.items():
            if module is not None:
                yield from module.named_modules(memo, f"{prefix}.{name}" if prefix else name, remove_duplicate)


def new_tables() -> dict[str, Any]:
    """The fields that every module has from the start."""
    return {
        "training": True,
        "_parameters": {},
        "_buffers": {},
        "_non_persistent_buffers_set": set(),
        "_backward_pre_hooks": OrderedDict(),
        "_backward_hooks": OrderedDict(),
        "_is_full_backward_hook": None,
        "_forward_hooks": OrderedDict(),
        "_forward_hooks_with_kwargs": OrderedDict(),
        "_forward_hooks_always_called": OrderedDict(),
        "_forward_pre_hooks": OrderedDict(),
        "_forward_pre_hooks_with_kwargs": OrderedDict(),
        "_state_dict_hooks": OrderedDict(),
        "_state_dict_pre_hooks": OrderedDict(),
        "_load_state_dict_pre_hooks": OrderedDict(),
        "_load_state_dict_post_hooks": OrderedDict(),
        "_modules": {},
    }
