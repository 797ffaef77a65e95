"""Writes the stubs (.pyi) that editors and type checkers read, from the op table and the package itself.

python scripts/stubs/write.py            # write them
python scripts/stubs/write.py --check    # exit 1 and name those that are not current
"""

from __future__ import annotations

import argparse
import inspect
import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(__file__).parent))

import namespaces  # noqa: E402
import tensor  # noqa: E402

import mindtorch_v2 as torch  # noqa: E402
from mindtorch_v2._ops import table  # noqa: E402


def _namespace(name: str) -> str:
    module = getattr(torch, name)
    bases = [base for base, found in table.OVERLOADS.items() if any(op.namespace == name for op in found)]
    operators = {base.removeprefix(f"{name}_"): base for base in bases}
    return namespaces.stub(module, namespaces.public(module), operators, "mindtorch_v2", [])


def _private_operators() -> list[str]:
    """Operators such as `torch._standard_gamma`, which code beside PyTorch's own calls, too."""
    return sorted(
        name
        for name, found in table.OVERLOADS.items()
        if name.startswith("_") and not name.startswith("__") and any(op.function and not op.namespace for op in found)
    )


def stubs() -> dict[str, str]:
    """The text of every stub by its path below the package."""
    functional, modules = torch.nn.functional, torch.nn.modules
    private = [
        name
        for name, value in vars(functional).items()
        if name.startswith("_") and getattr(value, "__name__", "") == name
    ]
    inner = sorted(
        name for name in private if "_functional" in inspect.unwrap(getattr(functional, name)).__code__.co_filename
    )
    return {
        "_op_methods.pyi": tensor.stub(),
        "_return_types.pyi": tensor.return_types(),
        "__init__.pyi": namespaces.stub(
            torch,
            [*namespaces.public(torch), *_private_operators()],
            {name: name for name in table.OVERLOADS},
            "mindtorch_v2",
            ["__version__: _str"],
        ),
        "nn/functional.pyi": namespaces.stub(
            functional,
            [*namespaces.public(functional), *inner],
            {name: name for name in table.OVERLOADS} | functional._OPERATORS,
            "mindtorch_v2.nn",
            [],
        ),
        # `from .modules import *` copies what `__all__` says, which is computed and which type checkers therefore
        # cannot read.
        "nn/__init__.pyi": namespaces.stub(torch.nn, namespaces.public(torch.nn), {}, "mindtorch_v2.nn", []),
        "nn/modules/__init__.pyi": namespaces.stub(modules, modules.__all__, {}, "mindtorch_v2.nn.modules", []),
        **{f"{name}.pyi": _namespace(name) for name in ("fft", "linalg", "special")},
    }


def main() -> int:
    """Writes, or compares."""
    arguments = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    arguments.add_argument("--check", action="store_true", help="compare only; 1 if a stub is not current")
    check = arguments.parse_args().check
    stale = [
        path
        for path, text in stubs().items()
        if not (namespaces.PACKAGE / path).exists() or (namespaces.PACKAGE / path).read_text(encoding="utf-8") != text
    ]
    for path in stale:
        if check:
            print(f"{path} is not current: run python scripts/stubs/write.py", file=sys.stderr)
        else:
            (namespaces.PACKAGE / path).write_text(stubs()[path], encoding="utf-8")
            print(f"wrote {path}")
    return int(check and bool(stale))


if __name__ == "__main__":
    sys.exit(main())
