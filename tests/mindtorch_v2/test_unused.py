"""Nothing lies about unused: a function of an internal module is named somewhere besides its definition."""

from __future__ import annotations

import ast
import collections
import pathlib
import re

import mindtorch_v2
from mindtorch_v2._lazy_names import PRIVATE_MODULES

ROOT = pathlib.Path(mindtorch_v2.__file__).parent
TESTS = pathlib.Path(__file__).parent
WITHIN = {"_pytree", "_python_dispatch"}


def _is_internal(path: pathlib.Path) -> bool:
    parts = path.relative_to(ROOT).parts
    pytorchs = {*PRIVATE_MODULES, *WITHIN}  # private by name, but programs import them
    return any(part.startswith("_") and part != "__init__.py" for part in parts) and not any(
        p.removesuffix(".py") in pytorchs for p in parts
    )


def _definitions(tree: ast.Module) -> list[str]:
    """Functions and classes of a module that nothing registers by decorating them."""
    kinds = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)
    return [
        node.name
        for node in tree.body
        if isinstance(node, kinds) and not node.decorator_list and not node.name.startswith("__")
    ]


def test_internal_functions_are_used():
    texts = {path: path.read_text() for pattern in ("*.py", "*.c", "*.h") for path in ROOT.rglob(pattern)}
    words = collections.Counter(word for text in texts.values() for word in re.findall(r"\w+", text))
    # PyTorch's own names
    tested = {word for path in TESTS.rglob("*.py") for word in re.findall(r"\w+", path.read_text())}
    unused = [
        f"{path.relative_to(ROOT)}: {name}"
        for path, text in sorted(texts.items())
        if path.suffix == ".py" and _is_internal(path)
        for name in _definitions(ast.parse(text))
        if words[name] == 1 and name not in tested
    ]
    assert not unused
