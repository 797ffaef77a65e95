"""Programs that import torch run on this package, unchanged."""

from __future__ import annotations

import os
import pathlib
import subprocess
import sys
import textwrap

import pytest

import mindtorch_v2
from mindtorch_v2 import _door

ROOT = pathlib.Path(__file__).parents[2]
SOURCES = pathlib.Path(mindtorch_v2.__file__).parents[1]


def python(*arguments: str, path: str = str(SOURCES), **options) -> subprocess.CompletedProcess[str]:
    environment = {**os.environ, "PYTHONPATH": path}
    return subprocess.run(
        [sys.executable, *arguments],
        env=environment,
        capture_output=True,
        text=True,
        check=False,
        timeout=120,
        **options,
    )


def run(program: str, folder: pathlib.Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    script = folder / "script.py"
    script.write_text(textwrap.dedent(program))
    return python("-m", "mindtorch_v2", str(script), *arguments)


def test_a_script_sees_this_package_as_torch(tmp_path):
    done = run(
        """
        import sys
        import importlib.metadata
        import importlib.util
        import torch
        import torch.nn as nn
        import torch.nn.functional as F
        from torch.utils.data import DataLoader
        import mindtorch_v2
        assert torch is mindtorch_v2 and nn is mindtorch_v2.nn and F is mindtorch_v2.nn.functional
        assert sys.modules["torch.nn"] is sys.modules["mindtorch_v2.nn"]
        assert nn.__spec__.name == "mindtorch_v2.nn"
        assert importlib.metadata.version("torch") == torch.__version__
        assert torch.__version__.startswith("2.13.0+mindtorch")
        assert importlib.util.find_spec("torch") is not None and importlib.util.find_spec("torch.optim") is not None
        assert str(torch.float32) == "torch.float32" and __name__ == "__main__"
        print(sys.argv[1:], nn.Linear(2, 1)(torch.ones(3, 2)).shape)
        sys.exit(3)
    """,
        tmp_path,
        "a",
        "-b",
    )
    assert (done.returncode, done.stdout, done.stderr) == (3, "['a', '-b'] torch.Size([3, 1])\n", "")


def test_what_is_not_there_is_missing_as_usual(tmp_path):
    done = run(
        """
        import importlib.util
        import torch
        for name in ("torchvision", "triton", "torch_npu"):
            assert importlib.util.find_spec(name) is None, name
        assert importlib.util.find_spec("torch.nothing_of_this_name") is None
        try:
            import torch.nothing_of_this_name
        except ModuleNotFoundError as error:
            print(error)
    """,
        tmp_path,
    )
    assert done.stdout == "No module named 'torch.nothing_of_this_name'\n", done.stderr


def test_children_and_pickles(tmp_path):
    """Programs that the script starts find torch too, worker processes that import the script again, and pickles that name torch."""
    done = run(
        """
        import multiprocessing
        import pickle
        import subprocess
        import sys
        import torch

        def double(x):
            assert (x * 2).tolist() == [2.0, 2.0]

        if __name__ == "__main__":
            print(subprocess.run([sys.executable, "-c", "import torch; print(torch.ones(2).tolist())"], stdout=subprocess.PIPE).stdout)
            worker = multiprocessing.get_context("spawn").Process(target=double, args=(torch.ones(2),))
            worker.start()
            worker.join()
            print(worker.exitcode)
            print(pickle.loads(b"ctorch.nn.modules.linear\\nLinear\\n.").__name__)
    """,
        tmp_path,
    )
    assert done.stdout.splitlines() == ["b'[1.0, 1.0]\\n'", "0", "Linear"], done.stderr


FUNCTORCH = """
    import functorch, functorch.experimental
    from functorch import make_functional
    import torch
    assert functorch is torch._functorch and functorch.vmap is torch.func.vmap
    assert functorch.experimental.hessian is torch.func.hessian
    print(functorch.vmap(torch.sum)(torch.ones(2, 3)).tolist())
"""


def test_functorch_comes_with_torch(tmp_path):
    """Through the door, and found by itself where a program started by the script starts another one."""
    done = run(FUNCTORCH, tmp_path)
    assert (done.returncode, done.stdout) == (0, "[3.0, 3.0]\n"), done.stderr
    path = os.pathsep.join([str(SOURCES), str(_door.SHIM_FOLDER)])
    done = python("-c", textwrap.dedent(FUNCTORCH), path=path)
    assert (done.returncode, done.stdout) == (0, "[3.0, 3.0]\n"), done.stderr


def test_modules_and_code(tmp_path):
    (tmp_path / "job.py").write_text("import sys, torch\nprint(torch.zeros(1).item(), sys.argv[1:])\n")
    done = python("-m", "mindtorch_v2", "-m", "job", "x", cwd=tmp_path)
    assert (done.returncode, done.stdout) == (0, "0.0 ['x']\n"), done.stderr
    done = python("-m", "mindtorch_v2", "-c", "import sys, torch; print(torch.ones(1).item(), sys.argv)", "y")
    assert (done.returncode, done.stdout) == (0, "1.0 ['-c', 'y']\n"), done.stderr
    done = python("-m", "mindtorch_v2", "-", input="import torch; print(torch.ones(1).item())")
    assert (done.returncode, done.stdout) == (0, "1.0\n"), done.stderr


@pytest.mark.parametrize("wrong", [[], ["-m"], ["-z"], ["nowhere.py"]])
def test_wrong_usage_is_told_in_a_line_or_two(wrong, tmp_path):
    done = python("-m", "mindtorch_v2", *wrong, cwd=tmp_path)
    assert done.returncode == 2 and done.stdout == "" and 1 <= len(done.stderr.splitlines()) <= 2


def test_errors_of_the_program_are_its_own(tmp_path):
    done = run("raise KeyError('mine')", tmp_path)
    assert done.returncode == 1 and done.stderr.splitlines()[-1] == "KeyError: 'mine'" and "script.py" in done.stderr


def test_a_torch_that_is_imported_already_is_refused(tmp_path):
    (tmp_path / "torch.py").write_text("")
    code = "import torch, mindtorch_v2\ntry:\n    mindtorch_v2.install_as_torch()\nexcept RuntimeError as error:\n    print(error)"
    done = python("-c", code, path=os.pathsep.join([str(tmp_path), str(SOURCES)]))
    assert done.stdout.startswith("torch is already imported, from ") and "before anything imports torch" in done.stdout
    assert not _door.is_open()


def test_the_shim_is_the_same_in_the_package_and_in_its_wheel():
    """The wheel called torch holds the files that programs started by the script find."""
    for name in ("torch", "functorch"):
        inside = (_door.SHIM_FOLDER / name / "__init__.py").read_text()
        assert (ROOT / "packaging" / "torch-shim" / name / "__init__.py").read_text() == inside
    assert (
        f'version = "{_door.COMPATIBLE_WITH}+mindtorch"'
        in (ROOT / "packaging" / "torch-shim" / "pyproject.toml").read_text()
    )
