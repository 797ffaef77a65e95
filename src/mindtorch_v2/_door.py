"""The door for programs that import torch: in this process `torch` and `torch.x.y` are `mindtorch_v2` and
`mindtorch_v2.x.y`.
"""

from __future__ import annotations

import importlib
import importlib.abc
import importlib.machinery
import importlib.metadata
import os
import pathlib
import sys
from collections.abc import Iterable, Iterator, Sequence
from types import ModuleType

from ._version import __version__
from .torch_version import TorchVersion

OWN = __name__.partition(".")[0]
FOREIGN = "torch"
COMPATIBLE_WITH = "2.13.0"  # the PyTorch whose behaviour is followed
PRESENTED_VERSION = f"{COMPATIBLE_WITH}+mindtorch{__version__}"
SHIM_FOLDER = pathlib.Path(__file__).parent / "_shim"  # packages `torch` and `functorch` that open this door
# Modules beside `torch` that come with PyTorch, and where they stand here.
BESIDE = {"functorch": f"{OWN}._functorch"}


def own_name(foreign: str) -> str:
    """`torch.nn` -> `mindtorch_v2.nn`."""
    first, dot, rest = foreign.partition(".")
    return BESIDE.get(first, OWN) + dot + rest


class _Distribution(importlib.metadata.Distribution):
    """What `importlib.metadata` tells about `torch`."""

    def read_text(self, filename: str) -> str | None:
        if filename != "METADATA":
            return None
        return (
            f"Metadata-Version: 2.1\nName: {FOREIGN}\nVersion: {PRESENTED_VERSION}\nSummary: {OWN} under the "
            f"name of {FOREIGN}\n"
        )

    def locate_file(self, path: str | os.PathLike[str]) -> pathlib.Path:  # type: ignore[override]
        return SHIM_FOLDER / path


class _SameModule(importlib.abc.Loader):
    """Gives a module that exists already. The import system writes its own spec into it, which is undone."""

    def __init__(self, module: ModuleType) -> None:
        self.module, self.spec = module, module.__spec__

    def create_module(self, spec: importlib.machinery.ModuleSpec) -> ModuleType:
        return self.module

    def exec_module(self, module: ModuleType) -> None:
        module.__spec__ = self.spec


class TorchFinder(importlib.abc.MetaPathFinder):
    """Answers imports of `torch`, of `functorch`, and of what is below them."""

    def find_spec(
        self, fullname: str, path: Sequence[str] | None = None, target: ModuleType | None = None
    ) -> importlib.machinery.ModuleSpec | None:
        """None where the name is not torch's, or this package has no such module: then the import fails as for any
        missing one.
        """
        first = fullname.partition(".")[0]
        if first != FOREIGN and first not in BESIDE:
            return None
        own = own_name(fullname)
        try:
            module = importlib.import_module(own)
        except ModuleNotFoundError as error:
            if error.name is not None and (own == error.name or own.startswith(error.name + ".")):
                return None
            raise
        is_package = hasattr(module, "__path__")
        origin = getattr(module, "__file__", None)
        spec = importlib.machinery.ModuleSpec(fullname, _SameModule(module), origin=origin, is_package=is_package)
        if is_package:
            spec.submodule_search_locations = list(module.__path__)
        return spec

    def find_distributions(
        self, context: importlib.metadata.DistributionFinder.Context | None = None
    ) -> Iterable[_Distribution]:
        """`importlib.metadata.version("torch")` and the like."""
        name = None if context is None else context.name
        if name is None or name.lower() == FOREIGN:
            yield _Distribution()


_finder = TorchFinder()


def is_open() -> bool:
    """Whether `import torch` means this package in this process."""
    return _finder in sys.meta_path


def _loaded_submodules() -> Iterator[tuple[str, ModuleType]]:
    for name, module in list(sys.modules.items()):
        if module is not None and (name == OWN or name.startswith(OWN + ".")):
            yield FOREIGN + name[len(OWN) :], module


def install_as_torch() -> None:
    """Makes `import torch`, `torch.anything` and `importlib.metadata.version("torch")` mean this package, in this
    process.

    Submodules are the same objects (`torch.nn is mindtorch_v2.nn`), and `torch.__version__` names the PyTorch that
    is followed, for libraries that ask. RuntimeError where another torch is imported already: objects of two
    implementations cannot be mixed.
    """
    own = sys.modules[OWN]
    imported = sys.modules.get(FOREIGN)
    # The package `torch` of the shim imports this while it is itself being imported.
    if imported is not None and imported is not own and not getattr(imported, "__mindtorch_shim__", False):
        raise RuntimeError(
            f"torch is already imported, from {getattr(imported, '__file__', 'an unknown path')}. Call "
            f"{OWN}.install_as_torch() before anything imports torch, or start the program with `python -m {OWN}`."
        )
    if not is_open():
        sys.meta_path.insert(0, _finder)
    for name, module in _loaded_submodules():
        sys.modules[name] = module
    version = TorchVersion(PRESENTED_VERSION)
    own.__dict__.update(__version__=version, __name__=FOREIGN)  # libraries compare the name, too


def open_for_children() -> None:
    """Processes that this one starts find the shim, which opens the door there too: by the environment, and by
    `sys.path`, which
    `multiprocessing` hands on."""
    if str(SHIM_FOLDER) not in sys.path:
        sys.path.append(str(SHIM_FOLDER))
    folders = [str(SHIM_FOLDER), *filter(None, os.environ.get("PYTHONPATH", "").split(os.pathsep))]
    os.environ["PYTHONPATH"] = os.pathsep.join(dict.fromkeys(folders))
