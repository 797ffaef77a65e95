"""The tree is the pipeline: a layer imports only what stands before it."""
from __future__ import annotations

import ast
import pathlib

import mindtorch_v2

ROOT = pathlib.Path(mindtorch_v2.__file__).parent
ORDER = ["_native", "_files", "_errors", "_dtype", "_device", "_shape", "_keys", "_observer", "_storage", "_tensor", "_ops", "_dispatch", "_autograd", "_backends"]


def _module_level_imports(path: pathlib.Path):
    """First parts of the package's own modules that a file imports at module level."""
    package = path.relative_to(ROOT.parent).with_suffix("").parts
    tree = ast.parse(path.read_text())
    for node in tree.body:
        if isinstance(node, ast.ImportFrom) and node.level:
            base = package[:-node.level] if path.name != "__init__.py" else (*package[:-1],)[: len(package) - node.level]
            full = [*base, *(node.module.split(".") if node.module else [])]
            if full[0] != "mindtorch_v2":
                continue
            if len(full) > 1:
                yield full[1]
            else:
                yield from (a.name for a in node.names)


def test_layers_import_only_what_stands_before_them():
    wrong = []
    for path in ROOT.rglob("*.py"):
        layer = path.relative_to(ROOT).parts[0].removesuffix(".py")
        if layer not in ORDER:
            continue
        for imported in _module_level_imports(path):
            if imported in ORDER and ORDER.index(imported) > ORDER.index(layer):
                wrong.append(f"{path.relative_to(ROOT)} imports {imported}")
            elif imported not in ORDER and imported not in ("_npu_missing",) and layer in ORDER[:10]:
                wrong.append(f"{path.relative_to(ROOT)} imports {imported}, which stands above all layers")
    assert not wrong, "\n".join(wrong)


def test_the_observer_slot_imports_nothing_of_the_package():
    assert not list(_module_level_imports(ROOT / "_observer.py"))


def test_gradients_are_switched_off_only_where_that_is_certain_to_be_undone():
    """`set_grad` beside `modes` and the user's own switch could be interrupted before it is undone: `call_with_grad` cannot."""
    users = {path.name for path in ROOT.rglob("*.py") if "modes.set_grad(" in path.read_text()}
    assert users == {"grad_mode.py"}


# The profiler's rooms: each imports itself and what stands before it. Modules that carry PyTorch's names belong to the room named here.
ROOMS = ["record", "store", "load", "analysis", "export", "report", "results", "cli", "profiler"]
ROOM_OF_MODULE = {"itt": "record", "record_function": "record", "schedule": "record", "_memory_profiler": "results",
                  "_pattern_matcher": "results", "_utils": "results", "profiler": "profiler", "__init__": "profiler"}


def _room(parts: tuple[str, ...]) -> str:
    """The room of a module of the profiler, given by its path below profiler/."""
    return parts[0] if parts[0] in ROOMS and parts[0] != "profiler" else ROOM_OF_MODULE[parts[0]]


def _imported_from_the_profiler(path: pathlib.Path):
    """What a module of the profiler imports from the profiler, as paths below profiler/: at module level and inside functions.
    Imports that only type checkers see do not count."""
    here = path.relative_to(ROOT / "profiler").with_suffix("").parts
    package = here[:-1]
    tree = ast.parse(path.read_text())
    typing_only = {id(node) for block in ast.walk(tree) if isinstance(block, ast.If) and ast.unparse(block.test) == "TYPE_CHECKING"
                   for node in ast.walk(block)}
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom) and node.level and id(node) not in typing_only:
            depth = len(package) - node.level + 1
            if depth < 0:
                continue      # another part of mindtorch_v2
            module = (*package[:depth], *(node.module.split(".") if node.module else ()))
            yield from ((*module, alias.name) for alias in node.names)


def test_rooms_of_the_profiler_import_only_what_stands_before_them():
    wrong = []
    for path in (ROOT / "profiler").rglob("*.py"):
        room = _room(path.relative_to(ROOT / "profiler").with_suffix("").parts)
        wrong += [f"{path.relative_to(ROOT)} ({room}) imports {'.'.join(target)}" for target in _imported_from_the_profiler(path)
                  if ROOMS.index(_room(target)) > ROOMS.index(room)]
    assert not wrong, "\n".join(wrong)
