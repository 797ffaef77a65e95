"""Nobody reaches through two objects: `a._b._c` uses what is private to an object that is itself private to another one."""

from __future__ import annotations

import ast
import pathlib
from collections.abc import Iterator

import mindtorch_v2

ROOT = pathlib.Path(mindtorch_v2.__file__).parent
# Names that PyTorch gave to what its modules use of each other; libraries override and read them.
OF_PYTORCH = {"_codegen", "_gen_python_code", "_rename_object", "_index_sampler", "_prepare_trace"}
NAMED_TUPLES = {"_replace", "_asdict", "_fields", "_make"}


def is_private(name: str) -> bool:
    return name.startswith("_") and not name.startswith("__")


def names_of(tree: ast.Module) -> set[str]:
    """What a module itself defines or assigns: a class may use private parts of others of its kind."""
    return {
        *(node.name for node in ast.walk(tree) if isinstance(node, ast.FunctionDef | ast.ClassDef)),
        *(node.attr for node in ast.walk(tree) if isinstance(node, ast.Attribute) and isinstance(node.ctx, ast.Store)),
        *(node.id for node in ast.walk(tree) if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store)),
    }


def reaches(text: str, through_public_too: bool) -> Iterator[ast.Attribute]:
    """Private attributes of other modules' objects that are themselves attributes: private ones, or any."""
    tree = ast.parse(text)
    allowed = names_of(tree) | OF_PYTORCH | NAMED_TUPLES
    for node in ast.walk(tree):
        if (
            isinstance(node, ast.Attribute)
            and is_private(node.attr)
            and node.attr not in allowed
            and isinstance(node.value, ast.Attribute)
            and (through_public_too or is_private(node.value.attr))
        ):
            yield node


def test_what_is_found() -> None:
    def found(text: str, through_public_too: bool = False) -> list[str]:
        return [ast.unparse(node) for node in reaches(text, through_public_too)]

    assert found("self._a._b = 1; x = self._a._c") == ["self._a._c"]
    assert found("self.a._c; self._a.c; b._c; row.x._replace()") == []
    assert found("self.a._c; self._a.c; b._c; row.x._replace()", True) == ["self.a._c"]


def test_nobody_reaches_through_two_objects() -> None:
    """In the profiler not even through a public attribute: `self.profiler._session` was such a case."""
    wrong = [
        f"{path.relative_to(ROOT)}:{node.lineno}: {ast.unparse(node)}"
        for path in sorted(ROOT.rglob("*.py"))
        for node in reaches(path.read_text(encoding="utf-8"), "profiler" in path.relative_to(ROOT).parts)
    ]
    assert not wrong, "\n".join(wrong)
