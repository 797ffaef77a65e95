"""The registry of accelerators: names, keys, methods, PyTorch's own way for outsiders, entry points. Each test runs in a process of its
own, since what is registered stays."""

from __future__ import annotations

import os
import pathlib
import re
import subprocess
import sys

import pytest

import mindtorch_v2
from mindtorch_v2 import _accelerators, _keys

ROOT = pathlib.Path(mindtorch_v2.__file__).parent


def _run(code: str, *folders: object) -> str:
    paths = os.pathsep.join([str(ROOT.parent), *map(str, folders), os.environ.get("PYTHONPATH", "")])
    done = subprocess.run(
        [
            sys.executable,
            "-c",
            "import mindtorch_v2 as torch\nfrom mindtorch_v2 import _accelerators\n"
            "from mindtorch_v2.utils.backend_toolkit import *\n" + code,
        ],
        env={**os.environ, "PYTHONPATH": paths},
        capture_output=True,
        text=True,
        timeout=120,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_the_default_list_names_backends_that_exist() -> None:
    for name, module in _accelerators.DEFAULTS.items():
        assert (ROOT.parent / (module.replace(".", "/") + ".py")).exists()
        assert _accelerators.key_of(name) in _keys.ACCELERATOR_BITS


def test_registering_gives_names_keys_and_methods() -> None:
    said = _run("""
class One(Backend):
    name = "one"
class Two(Backend):
    name = "two"
first, second = register_backend(One()), register_backend(Two())
x = torch.ones(2)
print(first.key, second.key, torch.device("two:3"), x.is_one, hasattr(x, "two"), hasattr(torch.nn.Linear(1, 1), "one"), _accelerators.names())
for call in (lambda: register_backend(One()), lambda: x.one()):
    try: call()
    except (RuntimeError, NotImplementedError) as error: print(type(error).__name__, error)
for name in ("cpu", "Two", "a b"):
    Two.name = name
    try: register_backend(Two())
    except ValueError as error: print(error)
""")
    lines = said.splitlines()
    assert lines[0] == "1024 2048 two:3 False True True ('npu', 'one', 'two')"
    assert (
        "the device 'one' has a backend already" in lines[1]
        and lines[2] == "NotImplementedError the backend 'one' has no kernels"
    )
    assert len(lines) == 6 and all("must be a lower-case identifier" in line for line in lines[3:])


def test_there_is_an_end_to_it() -> None:
    said = _run("""
for i in range(40):
    kind = type("Some", (Backend,), {"name": "some" + "abcdefghijklmnopqrstuvwxyz"[i % 26] * (i // 26 + 1)})
    try: register_backend(kind())
    except RuntimeError as error: print(i, error); break
""")
    assert said.startswith(f"{len(_keys.ACCELERATOR_BITS) - 1} the accelerator 'some")


def test_pytorchs_way_for_outsiders() -> None:
    said = _run(
        """
import types
torch.utils.rename_privateuse1_backend("mine")
module = types.ModuleType("mine")
module.is_available, module.device_count, module.current_device = (lambda: True), (lambda: 2), (lambda: 1)
torch._register_device_module("mine", module)
torch.utils.generate_methods_for_privateuse1_backend(for_storage=True)
import mindtorch_v2.mine
print(torch.mine is module, mindtorch_v2.mine is module, torch.ones(1).is_mine, torch.accelerator.current_accelerator(), torch.accelerator.device_count())
for call in (lambda: torch.utils.rename_privateuse1_backend("other"), torch.utils.generate_methods_for_privateuse1_backend,
             lambda: torch._register_device_module("mine", module), lambda: torch.ones(1).mine()):
    try: call()
    except (RuntimeError, NotImplementedError) as error: print(error)
print(torch.profiler.supported_activities())
""".replace("import mindtorch_v2.mine\n", "import mindtorch_v2.mine, mindtorch_v2\n")
    )
    lines = said.splitlines()
    assert lines[0] == "True True False mine 2"
    assert lines[1] == "torch.register_privateuse1_backend() has already been set! Current backend: mine"
    assert lines[2] == "The custom device module of Tensor has already been registered with mine"
    assert lines[3].startswith("The runtime module of 'mine' has already been registered with")
    assert lines[4].startswith(
        "Could not run 'aten::empty_strided' with arguments from the 'mine' backend: it has no kernels."
    )
    assert "PrivateUse1" in lines[5]


def test_a_backend_brings_the_kernels_of_a_renamed_device() -> None:
    """Also after somebody tried the device without them, and under a name that PyTorch knows."""
    said = _run(
        """
for name in ("cuda", "hip", "cpu"):
    try: torch.utils.rename_privateuse1_backend(name)
    except RuntimeError as error: print(error)
torch.utils.rename_privateuse1_backend("fpga")
try: torch.ones(2, device="fpga")
except NotImplementedError as error: print("no kernels" in str(error))
class Mine(Backend):
    name = "fpga"
    def box(self, op):
        load_family(op.family)
        kernel = KERNELS[op.name] if op.is_view else box_cpu(op)
        def on_host(x): return wrap(x._array, x.dtype) if isinstance(x, Tensor) else x
        def run(*args):
            made = kernel(*(device("cpu") if isinstance(x, device) else on_host(x) for x in args))
            if op.writes:
                bump_version(args[0])
                return args[0]
            return wrap(made._array, made.dtype, self.key, device("fpga", 0))
        return box_view(op, kernel) if op.is_view else run
register_backend(Mine())
x = torch.ones(2, device="fpga") + torch.ones(2).fpga()
print(x.tolist(), x.device, torch.ones(2).to("fpga").is_fpga, torch._C._get_privateuse1_backend_name())
"""
    )
    assert said.splitlines() == [
        *(f"Cannot register privateuse1 backend with in-tree device name: {name}" for name in ("cuda", "hip", "cpu")),
        "True",
        "[2.0, 2.0] fpga:0 True fpga",
    ]


@pytest.mark.parametrize("target", ["shipped_device", "shipped_device:start"])
def test_an_installed_package_is_found_by_its_entry_point(tmp_path: pathlib.Path, target: str) -> None:
    register = "    register_backend(Shipped())\n"
    (tmp_path / "shipped_device.py").write_text(
        "from mindtorch_v2.utils.backend_toolkit import Backend, register_backend\nclass Shipped(Backend):\n    name = 'shipped'\n"
        "def start():\n" + register + ("" if ":" in target else "start()\n")
    )
    info = tmp_path / "shipped_device-1.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: shipped-device\nVersion: 1\n")
    (info / "entry_points.txt").write_text(f"[mindtorch_v2.backends]\nshipped = {target}\n")
    said = _run(
        "import sys\nprint('shipped_device' in sys.modules, torch.device('shipped'), type(_accelerators.find('shipped')).__name__)",
        tmp_path,
    )
    assert said.strip() == "False shipped Shipped"


def test_asking_for_a_name_that_nobody_has() -> None:
    said = _run("""
import sys
try: torch.device("nowhere")
except RuntimeError as error: print(error)
print(hasattr(torch, "nowhere"), torch.device(0))
""")
    assert said.splitlines() == [
        "Expected one of cpu, meta, npu device type at start of device string: nowhere",
        "False npu:0",
    ]


# Files that may name a device that comes with the package: the registry's default list, members of public enumerations, and what reads
# the traces that its vendor's tools write.
NAMED = {"_accelerators.py", "profiler/record/enums.py", "profiler/load/ascend.py"}


def test_nothing_outside_its_folders_names_a_backend_of_the_default_list() -> None:
    for name in _accelerators.DEFAULTS:
        word = re.compile(rf"(?<![a-z])(?<!torch_){name}s?(?![a-z])", re.IGNORECASE)
        folders = (f"{name}/", f"_backends/{name}/", f"_native/{name}/")
        found = sorted(
            str(path.relative_to(ROOT))
            for path in ROOT.rglob("*")
            if path.suffix in (".py", ".c", ".h", ".inc")
            and not str(path.relative_to(ROOT)).startswith(folders)
            and word.search(path.read_text())
        )
        assert set(found) == NAMED, found
