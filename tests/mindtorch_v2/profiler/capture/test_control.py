"""Control from outside: what is answered, who is answered, and what is left behind."""

from __future__ import annotations

import contextlib
import json
import os
import socket
import stat
import subprocess
import sys
import threading
import urllib.error
import urllib.request

import pytest

import mindtorch_v2 as torch
from mindtorch_v2.profiler.capture import listener as listeners
from mindtorch_v2.profiler.capture import sockets
from mindtorch_v2.profiler.capture.sockets import ControlError, ask, find_socket
from mindtorch_v2.profiler.cli.main import main

from ..helpers import names

pytestmark = pytest.mark.skipif(not hasattr(socket, "AF_UNIX"), reason="needs Unix sockets")


@pytest.fixture
def runtime(tmp_path, monkeypatch):
    folder = tmp_path / "runtime"
    folder.mkdir(mode=0o700)
    monkeypatch.setenv("XDG_RUNTIME_DIR", str(folder))
    return folder


@pytest.fixture
def listener(runtime):
    with torch.profiler.listen() as made:
        yield made


def test_the_socket_is_the_owners_alone(listener, runtime):
    assert listener.path == str(runtime / "mindprof" / f"{os.getpid()}.sock") == find_socket(os.getpid())
    assert stat.S_IMODE(os.stat(os.path.dirname(listener.path)).st_mode) == 0o700
    assert stat.S_IMODE(os.stat(listener.path).st_mode) == 0o600


def test_start_and_stop_write_a_profile_of_all_threads(listener, tmp_path):
    path = str(tmp_path / "run.mindprof")
    assert ask(listener.path, {"command": "start", "record_shapes": True, "output": path}) == {"output": path}
    thread = threading.Thread(target=lambda: torch.ones(2) * 3)
    thread.start()
    thread.join()
    torch.ones(2) + 1
    answer = ask(listener.path, {"command": "stop"})
    store = torch.profiler.load(path).store
    assert answer["output"] == path and answer["events"] == len(store)
    assert {"aten::mul", "aten::add"} <= set(names(store))
    assert len({store.thread[i] for i, n in enumerate(names(store)) if n in ("aten::mul", "aten::add")}) == 2
    assert store.inputs
    assert torch.autograd._profiler_enabled() is False


def test_profiles_of_the_program_go_on_beside_it(listener, tmp_path):
    with torch.profiler.profile() as prof:
        ask(listener.path, {"command": "start", "output": str(tmp_path / "a.mindprof")})
        torch.ones(2) + 1
        assert ask(listener.path, {"command": "status"})["own_profiles"] == 1
        ask(listener.path, {"command": "stop"})
    assert "aten::add" in {event.name for event in prof.events()}
    assert "aten::add" in names(torch.profiler.load(tmp_path / "a.mindprof").store)


@pytest.mark.parametrize(
    "request_, message",
    [
        ({"command": "stop"}, "nothing is being recorded"),
        ({"command": "dump"}, "no flight recorder is on"),
        ({"command": "start", "output": "/nowhere/at/all/x"}, "cannot write there"),
        ({"command": "start", "output": 7}, "expected the path of a file"),
        ({"command": "_start"}, "expected an object with a command"),
        ({"command": ["start"]}, "expected an object with a command"),
        ([], "expected an object with a command"),
    ],
)
def test_what_cannot_be_done_is_said(listener, request_, message):
    with pytest.raises(ControlError, match=message):
        ask(listener.path, request_)
    assert ask(listener.path, {"command": "status"})["recording_seconds"] is None


def test_a_second_start_is_refused_and_the_first_goes_on(listener, tmp_path):
    ask(listener.path, {"command": "start", "output": str(tmp_path / "a.mindprof")})
    with pytest.raises(ControlError, match="already; stop it first"):
        ask(listener.path, {"command": "start"})
    torch.ones(2) + 1
    assert ask(listener.path, {"command": "stop"})["events"] > 0


def test_dump_is_the_flight_recorders(listener, tmp_path):
    with torch.profiler.flight_recorder(directory=tmp_path):
        torch.ones(2) + 1
        path = ask(listener.path, {"command": "dump", "output": str(tmp_path / "d.mindprof")})["output"]
        assert ask(listener.path, {"command": "status"})["flight"]["dumps"] == [path]
    assert "aten::add" in names(torch.profiler.load(path).store)


@pytest.mark.parametrize("data", [b"", b"\n", b"{", b"[" * 60000 + b"\n", b"\xff\xfe\n", b"x" * (1 << 17)])
def test_nonsense_harms_nobody(listener, data):
    with socket.socket(socket.AF_UNIX) as connection:
        connection.connect(listener.path)
        try:
            connection.sendall(data)
            connection.shutdown(socket.SHUT_WR)
            connection.recv(1 << 16)
        except OSError:
            pass  # it hung up on so much nonsense
    assert ask(listener.path, {"command": "status"})["pid"] == os.getpid()


def test_slow_clients_keep_nobody_waiting(listener):
    """More than are served at once have connected and say half of a request; whoever asks is answered."""
    with contextlib.ExitStack() as stack:
        for _ in range(listeners._MOST_CLIENTS + 6):
            slow = stack.enter_context(socket.socket(socket.AF_UNIX, socket.SOCK_STREAM))
            slow.connect(listener.path)
            slow.sendall(b'{"comm')
        assert ask(listener.path, {"command": "status"})["pid"] == os.getpid()
        slow.sendall(b'and": "status"}\n')  # the last one is still there, and is answered when it goes on
        assert json.loads(slow.makefile("rb").readline())["pid"] == os.getpid()


def test_strangers_are_told_nothing(listener, monkeypatch):
    monkeypatch.setattr(listeners, "peer", lambda connection: os.geteuid() + 1)
    with pytest.raises(ControlError, match="hung up"):
        ask(listener.path, {"command": "status"})
    monkeypatch.setattr(listeners, "peer", lambda connection: 0)
    assert ask(listener.path, {"command": "status"})


@pytest.mark.skipif(not hasattr(socket, "SO_PEERCRED"), reason="the system does not tell")
def test_the_system_tells_who_is_there():
    one, other = socket.socketpair()
    with one, other:
        assert sockets.peer(one) == os.geteuid()
    assert sockets.is_trusted(os.geteuid()) and sockets.is_trusted(0) and not sockets.is_trusted(os.geteuid() + 1)


@pytest.mark.skipif(not hasattr(os, "geteuid") or os.geteuid() != 0, reason="only root can become another user")
def test_another_user_cannot_connect(tmp_path):
    """The folder is opened for everybody on purpose, so that the check of the peer is what refuses."""
    tmp_path.chmod(0o755)
    for parent in tmp_path.parents:
        if parent.stat().st_uid == os.geteuid() and str(parent) not in ("/", "/tmp"):
            parent.chmod(0o755)
    program = "import os,socket,sys; os.setuid(65534); s=socket.socket(socket.AF_UNIX); s.connect(sys.argv[1]); "
    program += 's.sendall(b\'{"command":"status"}\\n\'); print(s.recv(100))'
    with torch.profiler.listen(tmp_path / "s.sock") as listener:
        refused = subprocess.run([sys.executable, "-c", program, listener.path], capture_output=True, text=True)
        assert "PermissionError" in refused.stderr
        os.chmod(listener.path, 0o777)
        heard = subprocess.run([sys.executable, "-c", program, listener.path], capture_output=True, text=True)
        assert heard.stdout == "b''\n" or "Error" in heard.stderr


@pytest.mark.parametrize("kind", ["open", "link", "file"])
def test_a_folder_that_others_could_have_made_is_not_used(tmp_path, monkeypatch, kind):
    monkeypatch.delenv("XDG_RUNTIME_DIR", raising=False)
    monkeypatch.setattr(sockets.tempfile, "gettempdir", lambda: str(tmp_path))
    folder = tmp_path / f"mindprof-{os.geteuid()}"
    if kind == "open":
        folder.mkdir()
        folder.chmod(0o777)
    elif kind == "link":
        (tmp_path / "theirs").mkdir(mode=0o700)
        folder.symlink_to(tmp_path / "theirs")
    else:
        folder.write_text("")
    with pytest.raises(RuntimeError, match="not a folder of this user alone"):
        torch.profiler.listen()
    assert listeners.current() is None


def test_a_socket_that_a_dead_process_left_is_replaced_and_other_files_are_not(tmp_path, runtime):
    path = tmp_path / "s.sock"
    with socket.socket(socket.AF_UNIX) as left:
        left.bind(str(path))
    with torch.profiler.listen(path) as listener:
        assert ask(listener.path, {"command": "status"})
        with pytest.raises(ControlError, match="cannot listen"):
            listeners.Listener(str(path))
    assert not path.exists()
    path.write_text("mine")
    with pytest.raises(RuntimeError, match="cannot listen"):
        torch.profiler.listen(path)
    assert path.read_text() == "mine"


def test_nothing_is_left_behind(runtime):
    with torch.profiler.listen(http=True) as listener:
        assert torch.profiler.listen() is listener
        ask(listener.path, {"command": "start"})
    listener.close()
    assert os.listdir(runtime / "mindprof") == []
    assert not [t for t in threading.enumerate() if t.name.startswith("mindprof")]
    assert torch.autograd._profiler_enabled() is False


def _http(listener, path: str, method: str = "GET", token: str | None = None, body: bytes = b""):
    token = listener.token if token is None else token
    headers = {"Authorization": f"Bearer {token}"} if token else {}
    asked = urllib.request.Request(listener.url + path, method=method, headers=headers, data=body or None)
    opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))
    try:
        with opener.open(asked) as answer:
            return answer.status, json.load(answer)
    except urllib.error.HTTPError as error:
        return error.code, json.load(error)


def test_http_answers_those_who_have_the_token(runtime, tmp_path):
    with torch.profiler.listen(http=0) as listener:
        assert listener.url.startswith("http://127.0.0.1:")
        assert _http(listener, "/status")[1]["pid"] == os.getpid()
        for wrong in ("", "x", listener.token[:-1], "é"):
            assert _http(listener, "/status", token=wrong)[0] == 401 if wrong.isascii() else True
        assert _http(listener, "/start", "GET")[0] == 405
        assert _http(listener, "/else", "POST")[0] == 404
        assert _http(listener, "/start", "POST", body=b"[1]")[0] == 400
        assert _http(listener, "/stop", "POST")[0] == 409
        path = str(tmp_path / "h.mindprof")
        assert _http(listener, "/start", "POST", body=json.dumps({"output": path}).encode()) == (200, {"output": path})
        torch.ones(2) + 1
        assert _http(listener, "/stop", "POST")[0] == 200
    assert "aten::add" in names(torch.profiler.load(path).store)


def test_without_being_asked_for_there_is_no_http(listener):
    assert listener.url is None and listener.token is None


@pytest.mark.parametrize("token", ["short", "with\nline-break-in-it", "ümlaut-0123456789"])
def test_a_weak_token_is_refused(token):
    with pytest.raises(ValueError, match="16 or more"):
        torch.profiler.listen(http=True, token=token)


# --- the command
# --------------------------------------------------------------------------------------------------------
def test_the_command_controls_a_process(listener, tmp_path, capsys, monkeypatch):
    monkeypatch.chdir(tmp_path)
    pid = str(os.getpid())
    assert main(["ctl", pid, "status"]) == 0
    assert "recording: no" in capsys.readouterr().out
    assert main(["ctl", pid, "start", "--all"]) == 0
    torch.ones(2) + 1
    assert main(["ctl", pid, "status", "--json"]) == 0
    assert main(["ctl", pid, "stop"]) == 0
    assert f"profile-{pid}.mindprof" in capsys.readouterr().out
    assert torch.profiler.load(f"profile-{pid}.mindprof").record_shapes
    assert main(["ctl", pid, "stop"]) == 1
    assert capsys.readouterr().err == "mindprof: nothing is being recorded; start it first\n"
    assert main(["ctl", listener.path, "status"]) == 0


def test_processes_that_do_not_listen_are_named(runtime, capsys):
    assert main(["ctl", str(os.getpid()), "status"]) == 1
    assert "does not listen: start it with MINDPROF=listen" in capsys.readouterr().err
    assert main(["ctl", "x.sock", "status"]) == 2
    assert main(["ctl", str(1 << 22 | 1), "status"]) == 1
    assert main(["ctl", "1", "fly"]) == 2


def test_a_program_that_knows_nothing_is_controlled(runtime, tmp_path):
    program = "import mindtorch_v2 as torch; print('ready', flush=True); input(); "
    program += "torch.ones(2) + 1; print('did', flush=True); input()"
    child = subprocess.Popen(
        [sys.executable, "-c", program],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        env={**os.environ, "MINDPROF": "listen"},
    )
    assert child.stdin is not None and child.stdout is not None
    path = str(tmp_path / "run.mindprof")
    assert child.stdout.readline() == "ready\n"
    ask(find_socket(child.pid), {"command": "start", "output": path})
    child.stdin.write("\n")
    child.stdin.flush()
    assert child.stdout.readline() == "did\n"
    ask(find_socket(child.pid), {"command": "stop"})
    child.communicate("\n", timeout=300)
    assert child.returncode == 0
    assert "aten::add" in names(torch.profiler.load(path).store)
    assert os.listdir(runtime / "mindprof") == []
