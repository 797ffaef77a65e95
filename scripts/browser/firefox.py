"""Firefox without a driver: Mozilla's own protocol for remote control (Marionette), which every Firefox speaks.

A message is its length, a colon and JSON: [0, id, command, parameters] one way, [1, id, error, result] the other.
"""

from __future__ import annotations

import base64
import contextlib
import json
import os
import pathlib
import shutil
import socket
import subprocess
import tempfile
import time
from typing import Any

_SECONDS = 60.0


def find_firefox() -> str | None:
    """The program, or None where there is none."""
    return os.environ.get("FIREFOX") or shutil.which("firefox-esr") or shutil.which("firefox")


def _free_port() -> int:
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        return int(one.getsockname()[1])


class Firefox:
    """A Firefox without windows, with a profile of its own."""

    def __init__(self, path: str, **preferences: Any) -> None:
        self._folder = tempfile.mkdtemp(prefix="mindprof-firefox-")
        port = _free_port()
        wanted = {"marionette.port": port, "browser.shell.checkDefaultBrowser": False, **preferences}
        lines = [f"user_pref({json.dumps(name)}, {json.dumps(value)});" for name, value in wanted.items()]
        pathlib.Path(self._folder, "user.js").write_text("\n".join(lines))
        self._process = subprocess.Popen(
            [path, "-marionette", "-headless", "-no-remote", "-profile", self._folder],
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        self._id = 0
        try:
            self._socket = self._connected(port)
            self._receive()  # what it is
            self.ask("WebDriver:NewSession", capabilities={"alwaysMatch": {"acceptInsecureCerts": True}})
        except BaseException:
            self._end()
            raise

    def _connected(self, port: int) -> socket.socket:
        end = time.monotonic() + _SECONDS
        while True:
            try:
                return socket.create_connection(("127.0.0.1", port), _SECONDS)
            except OSError:
                if time.monotonic() > end or self._process.poll() is not None:
                    raise
                time.sleep(0.1)

    def _receive(self) -> Any:
        head = b""
        while not head.endswith(b":"):
            head += self._some(1)
        left, parts = int(head[:-1]), []
        while left:
            parts.append(self._some(min(left, 1 << 20)))
            left -= len(parts[-1])
        return json.loads(b"".join(parts))

    def _some(self, size: int) -> bytes:
        got = self._socket.recv(size)
        if not got:
            raise ConnectionError("Firefox has ended")
        return got

    def ask(self, command: str, **parameters: Any) -> Any:
        """A command of the protocol, and its answer; RuntimeError for what it refuses."""
        self._id += 1
        text = json.dumps([0, self._id, command, parameters]).encode()
        self._socket.sendall(b"%d:%s" % (len(text), text))
        _, _, error, result = self._receive()
        if error:
            raise RuntimeError(f"{command}: {error['error']}: {error['message']}")
        return result

    def visit(self, path: pathlib.Path, width: int = 1280, height: int = 900, hash: str = "") -> None:
        """Opens a page; `width` and `height` are those of its contents."""
        self.ask("WebDriver:SetWindowRect", width=width, height=height)
        inner = self.run("return [outerWidth - innerWidth, outerHeight - innerHeight]")
        self.ask("WebDriver:SetWindowRect", width=width + inner[0], height=height + inner[1])
        self.ask("WebDriver:Navigate", url="about:blank")  # a page that differs in its hash only would not be loaded
        self.ask("WebDriver:Navigate", url=path.as_uri() + hash)

    def run(self, script: str, *arguments: Any) -> Any:
        """What a script beside the page's own returns; promises are waited for."""
        return self.ask("WebDriver:ExecuteScript", script=script, args=list(arguments), sandbox=None)["value"]

    def evaluate(self, expression: str) -> Any:
        """An expression in the words of the page's own script; promises are waited for."""
        text = (
            "(async () => { let answer; try { answer = [await (EXPRESSION)] } catch (error) { answer = String(error) }"
            " document.documentElement.dataset.answer = JSON.stringify(answer) })()"
        ).replace("EXPRESSION", expression)
        answer = self.run(
            """const script = document.createElement("script"); script.textContent = arguments[0];
            document.head.append(script); script.remove();
            return new Promise(resolve => { const ask = () => { const { answer } = document.documentElement.dataset;
              if (answer === undefined) return setTimeout(ask, 5);
              delete document.documentElement.dataset.answer; resolve(answer) }; ask() })""",
            text,
        )
        found = json.loads(answer)
        if isinstance(found, str):
            raise RuntimeError(found)
        return found[0]

    def keys(self, text: str) -> None:
        """Presses keys, one after the other."""
        pressed = [{"type": kind, "value": key} for key in text for kind in ("keyDown", "keyUp")]
        self.ask("WebDriver:PerformActions", actions=[{"type": "key", "id": "keyboard", "actions": pressed}])

    def picture(self, path: pathlib.Path) -> None:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(base64.b64decode(self.ask("WebDriver:TakeScreenshot", full=False)["value"]))

    def close(self) -> None:
        with contextlib.suppress(OSError, RuntimeError):  # it may end before it answers
            self.ask("Marionette:Quit", flags=["eForceQuit"])
        self._end()

    def _end(self) -> None:
        try:
            self._process.wait(10)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
        shutil.rmtree(self._folder, ignore_errors=True)
