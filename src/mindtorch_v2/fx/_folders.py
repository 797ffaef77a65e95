"""Writing a GraphModule as a package of Python files."""

from __future__ import annotations

import pathlib
from typing import Any

from .._files import atomic_file
from ._names import PACKAGE
from .graph_module import GraphModule


def write_folder(module: GraphModule, folder: Any, class_name: str) -> None:
    """`folder/__init__.py`, `module.py` with the class, `state_dict.pt`, and a file for every submodule."""
    from ..serialization import save

    path = pathlib.Path(folder)
    path.mkdir(parents=True, exist_ok=True)
    save(module.state_dict(), path / "state_dict.pt")
    lines = [
        f"import {PACKAGE} as torch",
        f"from {PACKAGE}.nn import *",
        f"from {PACKAGE} import device",
        "import pathlib",
        "",
        "_HERE = pathlib.Path(__file__).parent",
        "",
        "",
        f"class {class_name}(torch.nn.Module):",
        "    def __init__(self):",
        "        super().__init__()",
    ]
    for name, child in module.named_children():
        file = f"{name}.pt"
        save(child, path / file)
        lines.append(f"        setattr(self, {name!r}, torch.load(_HERE / {file!r}, weights_only=False))")
    for name, tensor in module._parameters.items():
        if tensor is not None:
            lines.append(
                f"        self.{name} = torch.nn.Parameter(torch.empty({list(tensor.shape)}, dtype={tensor.dtype}))"
            )
    for name, tensor in module._buffers.items():
        if tensor is not None:
            lines.append(
                f"        self.register_buffer({name!r}, torch.empty({list(tensor.shape)}, dtype={tensor.dtype}))"
            )
    lines += ["        self.load_state_dict(torch.load(_HERE / 'state_dict.pt'))", ""]
    lines += [f"    {line}".rstrip() for line in module.code.strip("\n").splitlines()]
    _write(path / "module.py", "\n".join(lines) + "\n")
    _write(path / "__init__.py", f"from .module import {class_name}\n")


def _write(path: pathlib.Path, text: str) -> None:
    with atomic_file(str(path)) as file:
        file.write(text.encode())
