"""Key bits stand in `_keys` once: everybody uses them by name, and C has the same numbers."""

from __future__ import annotations

import ast
import pathlib
import re
from collections.abc import Iterator

import pytest

import mindtorch_v2
from mindtorch_v2 import _keys, _native

ROOT = pathlib.Path(mindtorch_v2.__file__).parent
BITS = {name: value for name, value in vars(_keys).items() if name.isupper() and isinstance(value, int)}
BIT_OPERATORS = (ast.BitAnd, ast.BitOr, ast.BitXor, ast.LShift, ast.RShift, ast.Mod)
WORDS = {"_keys", "keys", "key", "_mode"}
WORTH_PARSING = re.compile(
    rf"^.*\b(?:{'|'.join(WORDS)})\b.*[1-9].*$|^.*[1-9].*\b(?:{'|'.join(WORDS)})\b.*$|^_?(?:{'|'.join(BITS)}) *=",
    re.MULTILINE,
)
IN_TEXT = re.compile(r"\b_(keys|mode)\b\)? *(&|\||==|!=|=|&=|\|=) *~?\(?(0x)?[1-9]")


def _is_number(node: ast.AST | None) -> bool:
    """Whether an expression is, or may be, a literal that is no zero: `8`, `~8`, `1 << 3`, `8 if x else 0`, `(1, 8)`."""
    if isinstance(node, ast.UnaryOp):
        return _is_number(node.operand)
    if isinstance(node, ast.BinOp):
        return _is_number(node.left) and isinstance(node.right, ast.Constant)
    if isinstance(node, ast.IfExp):
        return _is_number(node.body) or _is_number(node.orelse)
    if isinstance(node, (ast.Tuple, ast.List, ast.Set)):
        return any(_is_number(element) for element in node.elts)
    return isinstance(node, ast.Constant) and type(node.value) is int and 0 < node.value < 1 << 30


def _is_word(node: ast.AST) -> bool:
    """Whether an expression is a tensor's keys, a key or the mode word, or some of its bits."""
    if isinstance(node, ast.BinOp):
        return _is_word(node.left) or _is_word(node.right)
    if isinstance(node, ast.Subscript):
        return isinstance(node.slice, ast.Constant) and node.slice.value in WORDS
    if isinstance(node, ast.Call):  # getattr(x, "_keys")
        return any(isinstance(a, ast.Constant) and a.value in WORDS for a in node.args[1:2])
    return getattr(node, "attr", getattr(node, "id", "")) in WORDS


def _bare_bits(tree: ast.AST) -> Iterator[int]:
    for node in ast.walk(tree):
        pairs: list[tuple[ast.AST, ast.AST | None]] = []
        if isinstance(node, ast.BinOp) and isinstance(node.op, BIT_OPERATORS):
            pairs = [(node.left, node.right), (node.right, node.left)]
        elif isinstance(node, ast.AugAssign) and isinstance(node.op, BIT_OPERATORS):
            pairs = [(node.target, node.value)]
        elif isinstance(node, ast.Compare):
            pairs = [(node.left, side) for side in node.comparators]
        elif isinstance(node, ast.Assign):
            pairs = [(target, node.value) for target in node.targets]
            pairs += [
                pair
                for target in node.targets
                if isinstance(target, ast.Tuple) and isinstance(node.value, ast.Tuple)
                for pair in zip(target.elts, node.value.elts)
            ]
        elif isinstance(node, ast.AnnAssign):
            pairs = [(node.target, node.value)]
        elif isinstance(node, ast.keyword):
            pairs = [(ast.Name(node.arg or ""), node.value)]
        elif isinstance(node, ast.arguments):
            named = [*node.posonlyargs, *node.args]
            pairs = [(ast.Name(a.arg), d) for a, d in zip(named[len(named) - len(node.defaults) :], node.defaults)]
            pairs += [(ast.Name(a.arg), d) for a, d in zip(node.kwonlyargs, node.kw_defaults)]
        elif isinstance(node, ast.Constant) and isinstance(node.value, str) and IN_TEXT.search(node.value):
            yield node.lineno
        if any(_is_word(word) and _is_number(number) for word, number in pairs):
            yield getattr(node, "lineno", getattr(pairs[0][1], "lineno", 0))
    for node in getattr(tree, "body", []):  # a copy of a bit
        if (
            isinstance(node, ast.Assign)
            and _is_number(node.value)
            and any(getattr(t, "id", "").lstrip("_") in BITS for t in node.targets)
        ):
            yield node.lineno


def test_bits_are_used_by_name_only() -> None:
    wrong = [
        f"{path.relative_to(ROOT)}:{line}"
        for path in sorted(ROOT.rglob("*.py"))
        if path.name != "_keys.py"
        if WORTH_PARSING.search(text := path.read_text())
        for line in _bare_bits(ast.parse(text))
    ]
    assert not wrong, "\n".join(wrong)


@pytest.mark.parametrize(
    "code",
    [
        "x._keys & 7",
        "1 | _mode",
        "t._keys = 9",
        "(keys | mode) & 8",
        "SPACE['_mode'] & 64",
        "GRAD = 8",
        "add('if _keys & 512:')",
        "add(f'{n} if (_keys & 0x67) == 1')",
        "wrap(x, key=4)",
        "def f(key: int = 1): ...",
        "a, b._keys = x, 1",
        "keys &= ~16",
        "x._keys ^ 8",
        "x._keys >> 3",
        "x._keys & (1 << 3)",
        "key = 4 if wanted else 0",
        "x._keys in (1, 3)",
        "getattr(x, '_keys') & 8",
    ],
)
def test_a_bare_bit_is_seen(code: str) -> None:
    assert WORTH_PARSING.search(code) and list(_bare_bits(ast.parse(code)))


IN_C = re.compile(r"\b(keys?|mode)\)* *(&|\||==|!=|&=|\|=) *~?\(?(0x)?[1-9]")


def test_bits_are_used_by_name_in_c_too() -> None:
    wrong = [
        f"{path.relative_to(ROOT)}: {line.strip()}"
        for path in sorted((ROOT / "_native").rglob("*.[ch]"))
        for line in path.read_text().splitlines()
        if IN_C.search(line)
    ]
    assert not wrong, "\n".join(wrong)


@pytest.mark.parametrize("code", ["tensor->keys & 7", "(keys | mode) & 0x18", "key == 4", "mode |= 64"])
def test_a_bare_bit_in_c_is_seen(code: str) -> None:
    assert IN_C.search(code)


def test_bits_are_distinct() -> None:
    single = [value for value in BITS.values() if value & (value - 1) == 0]
    assert len(set(single)) == len(single)


@pytest.mark.skipif(not _native.available(), reason="the native part is not built")
def test_c_has_the_same_bits() -> None:
    core = _native.native_module("_core")
    assert {name: BITS[name] for name in core.KEY_BITS} == core.KEY_BITS and len(core.KEY_BITS) >= 6
