"""The atomic writer: every file is whole, whoever writes it, however often, whatever was planted beside it."""

from __future__ import annotations

import contextlib
import errno
import os
import pathlib
import signal
import stat
import subprocess
import sys
import threading
from concurrent.futures import ThreadPoolExecutor

import pytest

import mindtorch_v2 as torch
from mindtorch_v2 import _files
from mindtorch_v2._files import atomic_file
from mindtorch_v2.profiler import load, profile
from mindtorch_v2.utils import safetensors

fcntl = pytest.importorskip("fcntl")
SOURCE = str(pathlib.Path(torch.__file__).parents[1])


def written(path, data: bytes = b"new") -> None:
    with atomic_file(path) as out:
        out.write(data)


def leftover_name(target: str = "f") -> str:
    return f".{target}.{'0' * 32}.mttmp"


@contextlib.contextmanager
def umask(value: int):
    before = os.umask(value)
    try:
        yield
    finally:
        os.umask(before)


# ---- permissions
# ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("mode", [0o600, 0o640, 0o666, 0o755])
def test_a_replaced_file_passes_on_its_permissions(tmp_path, mode):
    (tmp_path / "f").write_bytes(b"old")
    (tmp_path / "f").chmod(mode)
    with atomic_file(tmp_path / "f") as out:
        (temporary,) = [name for name in os.listdir(tmp_path) if name != "f"]
        assert stat.S_IMODE((tmp_path / temporary).stat().st_mode) == mode  # meanwhile nobody else can look either
        out.write(b"new")
    assert stat.S_IMODE((tmp_path / "f").stat().st_mode) == mode and (tmp_path / "f").read_bytes() == b"new"


@pytest.mark.parametrize("mask", [0o022, 0o077, 0o002])
def test_a_new_file_has_the_permissions_of_any_new_file(tmp_path, mask):
    with umask(mask):
        written(tmp_path / "f")
    assert stat.S_IMODE((tmp_path / "f").stat().st_mode) == 0o666 & ~mask


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can give files away")
def test_a_replaced_file_passes_on_its_owner(tmp_path):
    (tmp_path / "f").write_bytes(b"old")
    os.chown(tmp_path / "f", 12345, 23456)
    written(tmp_path / "f")
    found = (tmp_path / "f").stat()
    assert (found.st_uid, found.st_gid) == (12345, 23456)


def test_a_group_that_cannot_be_kept_gets_no_more_than_everybody(tmp_path, monkeypatch):
    (tmp_path / "f").write_bytes(b"old")
    (tmp_path / "f").chmod(0o664)
    found = os.stat(tmp_path / "f")

    def refuse(*_):
        raise PermissionError(errno.EPERM, "no")

    monkeypatch.setattr(os, "fchown", refuse)
    other = os.stat_result((found.st_mode, found.st_ino, found.st_dev, 1, found.st_uid, found.st_gid + 1, 3, 0, 0, 0))
    with open(tmp_path / "g", "wb") as file:
        _files._pass_on(file.fileno(), other)
    assert stat.S_IMODE((tmp_path / "g").stat().st_mode) == 0o644


def test_a_write_protected_file_is_not_replaced(tmp_path, monkeypatch):
    (tmp_path / "f").write_bytes(b"old")
    monkeypatch.setattr(os, "access", lambda path, mode: False)  # root may write anything
    with pytest.raises(PermissionError) as caught:
        written(tmp_path / "f")
    assert (
        caught.value.filename == str(tmp_path / "f")
        and (tmp_path / "f").read_bytes() == b"old"
        and os.listdir(tmp_path) == ["f"]
    )


# ---- links, devices, pipes
# --------------------------------------------------------------------------------------------


def test_a_planted_link_is_not_followed(tmp_path, monkeypatch):
    """Even one who guesses the name cannot redirect what is written."""
    (tmp_path / "precious").write_bytes(b"precious")
    tokens = iter(["0" * 32, "1" * 32])
    monkeypatch.setattr(_files, "_token", lambda: next(tokens))
    (tmp_path / leftover_name()).symlink_to(tmp_path / "precious")
    written(tmp_path / "f")
    assert (tmp_path / "precious").read_bytes() == b"precious" and (tmp_path / "f").read_bytes() == b"new"
    assert (tmp_path / leftover_name()).is_symlink()


@pytest.mark.parametrize(
    "save", ["torch.save", "trace", "store", "stacks", "timeline", "page", "safetensors", "execution trace"]
)
def test_everything_is_saved_in_this_way(tmp_path, save, monkeypatch):
    """No writer makes a file whose name follows from the path and the process."""
    target = tmp_path / {"trace": "f.json.gz", "page": "f.html"}.get(save, "f.json")
    target.write_bytes(b"old")
    target.chmod(0o600)
    seen = []
    replace = os.replace
    monkeypatch.setattr(os, "replace", lambda source, to: (seen.append(os.path.basename(source)), replace(source, to)))
    x = torch.ones(2, 2)
    with profile(with_stack=True, profile_memory=True, record_shapes=True) as prof:
        x @ x
    if save == "execution trace":
        from mindtorch_v2.profiler import ExecutionTraceObserver

        observer = ExecutionTraceObserver().register_callback(str(target))
        observer.start()
        x @ x
        observer.unregister_callback()
    else:
        {
            "torch.save": lambda: torch.save(x, target),
            "trace": lambda: prof.export_chrome_trace(str(target)),
            "store": lambda: prof.save(target),
            "stacks": lambda: prof.export_stacks(str(target), "self_cpu_time_total"),
            "timeline": lambda: prof.export_memory_timeline(str(target), "cpu"),
            "page": lambda: prof.export_memory_timeline(str(target), "cpu"),
            "safetensors": lambda: safetensors.save_file({"x": x}, target),
        }[save]()
    (name,) = seen
    assert name.startswith(f".{target.name}.") and len(name) == len(leftover_name(target.name))
    assert (
        target.read_bytes() != b"old"
        and stat.S_IMODE(target.stat().st_mode) == 0o600
        and os.listdir(tmp_path) == [target.name]
    )


def test_links_are_followed_as_open_does(tmp_path):
    (tmp_path / "real").write_bytes(b"old")
    (tmp_path / "link").symlink_to("real")
    (tmp_path / "dangling").symlink_to("made")
    (tmp_path / "loop").symlink_to("loop")
    written(tmp_path / "link")
    written(tmp_path / "dangling")
    assert (tmp_path / "real").read_bytes() == (tmp_path / "made").read_bytes() == b"new"
    assert (tmp_path / "link").is_symlink() and (tmp_path / "dangling").is_symlink()
    with pytest.raises(OSError) as caught:
        written(tmp_path / "loop")
    assert caught.value.errno == errno.ELOOP


@pytest.mark.parametrize("path", ["d", "new/"])
def test_a_directory_is_no_file(tmp_path, path):
    (tmp_path / "d").mkdir()
    with pytest.raises(IsADirectoryError):
        written(f"{tmp_path}/{path}")
    assert os.listdir(tmp_path) == ["d"]


def _read_end(path, into: list) -> threading.Thread:
    def read() -> None:
        into.append(pathlib.Path(path).read_bytes())

    reader = threading.Thread(target=read)
    reader.start()
    return reader


def test_pipes_are_written_to(tmp_path):
    os.mkfifo(tmp_path / "pipe")
    x = torch.arange(4.0)
    with profile() as prof:
        x + x
    for save, check in (
        (lambda p: torch.save(x, p), lambda p: torch.load(p).tolist() == [0, 1, 2, 3]),
        (prof.save, lambda p: len(load(p).events()) == 1),
        (lambda p: prof.export_chrome_trace(str(p)), lambda p: len(load(p).events()) == 1),
    ):
        got: list[bytes] = []
        reader = _read_end(tmp_path / "pipe", got)
        save(tmp_path / "pipe")
        reader.join()
        (tmp_path / "copy").write_bytes(got[0])
        assert check(tmp_path / "copy") and stat.S_ISFIFO((tmp_path / "pipe").stat().st_mode)


@pytest.mark.skipif(not os.path.exists("/dev/stdout"), reason="needs /dev")
@pytest.mark.parametrize("to_file", [False, True])
def test_standard_output_is_written_to(tmp_path, to_file):
    program = "from mindtorch_v2._files import atomic_file\nwith atomic_file('/dev/stdout') as out: out.write(b'hello')"
    with open(tmp_path / "out", "wb") as out:
        done = subprocess.run(
            [sys.executable, "-c", program],
            stdout=out if to_file else subprocess.PIPE,
            check=True,
            env={**os.environ, "PYTHONPATH": SOURCE},
        )
    assert ((tmp_path / "out").read_bytes() if to_file else done.stdout) == b"hello" and os.listdir(tmp_path) == ["out"]


# ---- many writers
# -----------------------------------------------------------------------------------------------------


def _save_and_read(path: pathlib.Path, number: int, times: int) -> None:
    mine = torch.full((1000,), float(number))
    for _ in range(times):
        torch.save(mine, path)
        seen = torch.load(path)
        assert seen.shape == (1000,) and len(set(seen.tolist())) == 1


def test_threads_that_save_to_one_path(tmp_path):
    """Every save works, and every read sees one of the files that were saved."""
    with ThreadPoolExecutor(4) as pool:
        for done in [pool.submit(_save_and_read, tmp_path / "f.pt", i, 20) for i in range(4)]:
            done.result()
    assert os.listdir(tmp_path) == ["f.pt"]


def test_processes_that_save_to_one_path(tmp_path):
    program = (
        "import pathlib, sys; from tests.mindtorch_v2.test_files import _save_and_read\n"
        "_save_and_read(pathlib.Path(sys.argv[1]), int(sys.argv[2]), 20)"
    )
    root = str(pathlib.Path(__file__).parents[2])
    running = [
        subprocess.Popen(
            [sys.executable, "-c", program, str(tmp_path / "f.pt"), str(i)],
            env={**os.environ, "PYTHONPATH": os.pathsep.join([SOURCE, root])},
        )
        for i in range(2)
    ]
    assert [process.wait() for process in running] == [0, 0] and os.listdir(tmp_path) == ["f.pt"]


def test_the_last_to_finish_wins(tmp_path):
    with atomic_file(tmp_path / "f") as first:
        first.write(b"first")
        with atomic_file(tmp_path / "f") as second:
            second.write(b"second")
        assert (tmp_path / "f").read_bytes() == b"second"
    assert (tmp_path / "f").read_bytes() == b"first" and os.listdir(tmp_path) == ["f"]


# ---- leftovers
# --------------------------------------------------------------------------------------------------------

_HALF = """
import os, sys
from mindtorch_v2._files import atomic_file
with atomic_file(sys.argv[1]) as out:
    out.write(b"half")
    out.flush()
    print("written", flush=True)
    sys.stdin.read()
"""


@pytest.mark.parametrize("how", [signal.SIGTERM, signal.SIGKILL])
def test_leftovers_of_a_killed_process_go_with_the_next_write(tmp_path, how):
    process = subprocess.Popen(
        [sys.executable, "-c", _HALF, str(tmp_path / "f")],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        env={**os.environ, "PYTHONPATH": SOURCE},
    )
    assert process.stdin is not None and process.stdout is not None and process.stdout.readline() == b"written\n"
    written(tmp_path / "f", b"while it lives")
    (alive,) = [name for name in os.listdir(tmp_path) if name != "f"]
    assert (tmp_path / alive).read_bytes() == b"half"
    process.send_signal(how)
    process.wait()
    process.stdin.close()
    process.stdout.close()
    written(tmp_path / "other")
    assert (tmp_path / alive).exists(), "another path's writer leaves it alone"
    written(tmp_path / "f", b"after its death")
    assert sorted(os.listdir(tmp_path)) == ["f", "other"] and (tmp_path / "f").read_bytes() == b"after its death"


def test_only_own_names_and_plain_files_are_leftovers(tmp_path):
    kept = [
        ".f.1234.tmp",
        f".f.{'0' * 31}.mttmp",
        f".g.{'0' * 32}.mttmp",
        f".f.{'z' * 32}.mttmp",
        f"f.{'0' * 32}.mttmp",
    ]
    for name in kept:
        (tmp_path / name).write_bytes(b"")
    (tmp_path / f".f.{'1' * 32}.mttmp").mkdir()
    os.mkfifo(tmp_path / f".f.{'2' * 32}.mttmp")
    (tmp_path / f".f.{'3' * 32}.mttmp").write_bytes(b"")
    written(tmp_path / "f")
    assert sorted(os.listdir(tmp_path)) == sorted([*kept, f".f.{'1' * 32}.mttmp", f".f.{'2' * 32}.mttmp", "f"])


def test_a_writer_whose_new_file_was_taken_for_a_leftover_makes_another(tmp_path, monkeypatch):
    """Between the making of a file and its lock, someone who cleans up may remove it."""
    lock, removed = fcntl.flock, []

    def remove_first(handle: int, how: int) -> None:
        if not removed:
            removed.extend(os.listdir(tmp_path))
            os.unlink(tmp_path / removed[0])
        lock(handle, how)

    monkeypatch.setattr(_files.fcntl, "flock", remove_first)
    written(tmp_path / "f")
    assert len(removed) == 1 and os.listdir(tmp_path) == ["f"] and (tmp_path / "f").read_bytes() == b"new"


def test_without_locks_files_are_written_and_nothing_is_removed(tmp_path, monkeypatch):
    def refuse(handle: int, how: int) -> None:
        raise OSError(errno.ENOLCK, "no locks available")

    (tmp_path / leftover_name()).write_bytes(b"")
    monkeypatch.setattr(_files.fcntl, "flock", refuse)
    written(tmp_path / "f")
    monkeypatch.setattr(_files, "fcntl", None)
    written(tmp_path / "f", b"newer")
    assert sorted(os.listdir(tmp_path)) == sorted([leftover_name(), "f"]) and (tmp_path / "f").read_bytes() == b"newer"


@pytest.mark.parametrize("name", ["a" * 255, "ä" * 127, "\udcff" * 200, ".hidden", "a[1].json", "x\ny"])
def test_names_of_every_kind(tmp_path, name):
    written(tmp_path / name)
    (tmp_path / f".{name[:40]}.{'0' * 32}.mttmp").write_bytes(b"")
    written(os.fsencode(tmp_path / name))
    assert os.listdir(tmp_path) == [name]


def test_a_file_is_on_the_disk_before_it_replaces_another(tmp_path, monkeypatch):
    order: list[str] = []
    replace = os.replace
    monkeypatch.setattr(os, "fsync", lambda handle: order.append("fsync"))
    monkeypatch.setattr(os, "replace", lambda a, b: (order.append("replace"), replace(a, b)))
    torch.save([1], tmp_path / "f.pt")
    torch.save([2], tmp_path / "f.pt")
    assert order == ["replace", "fsync", "replace"]


def test_errors_of_the_system_name_the_path(tmp_path, monkeypatch):
    (tmp_path / "f").write_bytes(b"old")

    def full(handle: int) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(OSError) as caught:
        torch.save([1], tmp_path / "f")
    assert (caught.value.errno, caught.value.filename) == (errno.ENOSPC, str(tmp_path / "f"))
    assert (tmp_path / "f").read_bytes() == b"old" and os.listdir(tmp_path) == ["f"]


def test_saving_into_a_missing_directory_says_so(tmp_path):
    with pytest.raises(RuntimeError, match=f"Parent directory {tmp_path}/missing does not exist."):
        torch.save([1], tmp_path / "missing" / "f.pt")
