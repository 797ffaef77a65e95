"""Control over HTTP, for those who ask for it: on this machine's own address only, with a token."""

from __future__ import annotations

import hmac
import json
import secrets
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

from .control import COMMANDS, Controller
from .sockets import LONGEST

HOST = "127.0.0.1"


class HttpEndpoint:
    """`GET /status`, and `POST /start`, `/stop`, `/dump` with a JSON object of settings. Every request has the header
    `Authorization: Bearer TOKEN`."""

    def __init__(self, controller: Controller, port: int, token: str | None) -> None:
        self.token = token or secrets.token_urlsafe(32)
        self._server = ThreadingHTTPServer((HOST, port), _handler(controller, self.token))
        self._server.daemon_threads = True
        self.url = f"http://{HOST}:{self._server.server_address[1]}"
        self._thread = threading.Thread(target=self._server.serve_forever, name="mindprof http", daemon=True)

    def start(self) -> None:
        """Begins to answer."""
        self._thread.start()

    def close(self) -> None:
        """Ends that."""
        self._server.shutdown()
        self._server.server_close()

    def abandon(self) -> None:
        """In a forked child, which has no thread of it."""
        self._server.server_close()


def _handler(controller: Controller, token: str) -> type[BaseHTTPRequestHandler]:
    expected = f"Bearer {token}".encode()

    class Handler(BaseHTTPRequestHandler):
        timeout = 10
        server_version, sys_version = "mindprof", ""

        def do_GET(self) -> None:
            self._answer("GET")

        def do_POST(self) -> None:
            self._answer("POST")

        def _answer(self, method: str) -> None:
            command = self.path.strip("/")
            if not hmac.compare_digest(self.headers.get("Authorization", "").encode("latin-1", "replace"), expected):
                self._send(401, {"error": "the token is missing or wrong"})
            elif command not in COMMANDS:
                self._send(404, {"error": f"expected /{', /'.join(COMMANDS)}"})
            elif (method == "GET") != (command == "status"):
                self._send(405, {"error": "status is asked for by GET, everything else by POST"})
            else:
                self._run(command)

        def _run(self, command: str) -> None:
            try:
                length = int(self.headers.get("Content-Length") or 0)
                given = json.loads(self.rfile.read(length)) if 0 < length <= LONGEST else {}
            except (ValueError, RecursionError):
                given = None
            if not isinstance(given, dict):
                self._send(400, {"error": "expected a JSON object"})
                return
            answer = controller.answer({**given, "command": command})
            self._send(409 if "error" in answer else 200, answer)

        def _send(self, code: int, answer: dict[str, Any]) -> None:
            body = json.dumps(answer).encode() + b"\n"
            self.send_response(code)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, format: str, *args: Any) -> None:  # noqa: A002 - the name that the base class has
            """Says nothing: stderr is the program's."""

    return Handler
