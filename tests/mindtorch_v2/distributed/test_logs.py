"""Where processes print, and other options of `torchrun`."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from mindtorch_v2.distributed import _logs, run
from mindtorch_v2.distributed._mpi import is_installed

from .conftest import launch

_VARIABLE = "MINDTORCH_DISTRIBUTED_LOGS"


def test_codes_of_streams() -> None:
    assert _logs.codes("0") == {"": 0} and _logs.codes("3") == {"": 3} and _logs.codes("0:1,12:3") == {"0": 1, "12": 3}
    for text in ("4", "", "a:1", "1:", "1:2:3", "0:1,"):
        with pytest.raises(ValueError, match="expected 0, 1, 2, 3"):
            _logs.codes(text)


def test_nothing_is_told_where_all_is_printed(tmp_path: Path) -> None:
    assert _logs.environment(str(tmp_path), "0", "0", "") == {}
    (told,) = _logs.environment(str(tmp_path), "0", "1:2", "0,3").values()
    assert json.loads(told) == {"redirects": {"": 0}, "tee": {"1": 2}, "shown": [0, 3], "folder": str(tmp_path)}
    with pytest.raises(ValueError, match="invalid literal"):
        _logs.environment(str(tmp_path), "0", "0", "first")


def test_output_goes_to_files_and_the_terminal(tmp_path: Path) -> None:
    if not is_installed():
        pytest.skip("mpi4py is not installed")
    program = tmp_path / "program.py"
    program.write_text(
        "import os, sys\n"
        "print('out', *(os.environ[n] for n in ('LOCAL_RANK', 'ROLE_NAME', 'GROUP_WORLD_SIZE')))\n"
        "print('err', os.environ['LOCAL_RANK'], file=sys.stderr)\n"
    )
    options = ("--role", "worker", "--redirects", "1:1", "--tee", "0:3", "--log-dir", str(tmp_path / "logs"))
    done = launch(2, program, options=options)
    assert done.returncode == 0
    assert done.stdout.splitlines() == ["[0] out 0 worker 1"]
    assert sorted(done.stderr.splitlines()) == ["[0] err 0", "[1] err 1"]
    written = {str(p.relative_to(tmp_path / "logs")): p.read_text() for p in (tmp_path / "logs").glob("*/*")}
    assert written == {
        "0/stdout.log": "out 0 worker 1\n",
        "0/stderr.log": "err 0\n",
        "1/stdout.log": "out 1 worker 1\n",
    }
    done = launch(2, program, options=("--local-ranks-filter", "1"))
    assert done.stdout.splitlines() == ["[1] out 1 default 1"] and done.stderr.splitlines() == ["[1] err 1"]


def test_options_of_torchrun_are_taken(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PET_NPROC_PER_NODE", "3")
    monkeypatch.setenv("PET_NO_PYTHON", "0")
    for name in run._NOT_NEEDED:
        found = run._parser().parse_args([f"--{name}", "1", f"--{name.replace('-', '_')}=2", "a.py", "--x"])
        assert found.program == "a.py" and found.arguments == ["--x"]
    assert found.nproc_per_node == "3" and found.no_python is False
    assert run._parser().parse_args(["--nproc-per-node", "2", "a.py"]).nproc_per_node == "2"


@pytest.mark.parametrize(
    ("options", "message"),
    [(["--nproc-per-node", "gpu"], "there is no accelerator here"), (["--redirects", "7"], "expected 0, 1, 2, 3")],
)
def test_options_that_cannot_be_followed(
    options: list[str], message: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(run, "_launcher", lambda wanted, parser: "true")
    monkeypatch.setattr("mindtorch_v2.accelerator.device_count", lambda: 0)
    with pytest.raises(SystemExit):
        run.main([*options, "a.py"])
    assert message in capsys.readouterr().err


def test_open_mpi_leaves_processes_the_time_to_save(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(run, "is_installed", lambda: True)
    for text, expected in (("mpiexec (OpenRTE) 4.1.4", "12"), ("HYDRA build details", None)):
        mpiexec = tmp_path / "mpiexec"
        mpiexec.write_text(f"#!/bin/sh\necho '{text}'\n")
        mpiexec.chmod(0o755)
        parser = run._parser()
        _, environment = run._command(parser.parse_args(["--mpiexec", str(mpiexec), "a.py"]), parser, str(tmp_path))
        assert environment.get("OMPI_MCA_odls_base_sigkill_timeout") == expected
