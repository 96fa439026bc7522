"""The conformance suite of MCP and the inspector, installed from npm once, and a proxy that adds the key for the suite.

The suite cannot send a header of ours.
"""

from __future__ import annotations

import fcntl
import http.client
import os
import subprocess
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from functools import cache
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from urllib.parse import urlsplit

from tests.chromium import NODE, install

ROOT = Path(__file__).resolve().parents[2]
RECIPE = ROOT / "tests" / "npm" / "mcp"
CACHE = ROOT / "var" / "mcp-kits"
RUN_SECONDS = 600
DROPPED = {"connection", "transfer-encoding", "content-length", "authorization", "server", "date"}


@cache
def _programs() -> Path:
    """Where the programs are. The first call installs them; other test processes wait."""
    CACHE.mkdir(parents=True, exist_ok=True)
    with (CACHE / ".lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        wanted, installed = (RECIPE / "package-lock.json").read_bytes(), CACHE / "installed"
        if not installed.exists() or installed.read_bytes() != wanted:
            install(RECIPE, CACHE)
            installed.write_bytes(wanted)
    return CACHE / "node_modules" / ".bin"


def run(program: str, arguments: Sequence[str], *, in_directory: Path) -> tuple[int, str]:
    """The exit code and everything that the program wrote."""
    command = [str(NODE), str(_programs() / program), *arguments]
    environment = {**os.environ, "PATH": f"{NODE.parent}:{os.environ.get('PATH', '')}", "NO_COLOR": "1"}
    done = subprocess.run(
        command, cwd=in_directory, env=environment, capture_output=True, text=True, timeout=RUN_SECONDS, check=False
    )
    return done.returncode, done.stdout + done.stderr


class _ProxyServer(ThreadingHTTPServer):
    daemon_threads = True  # clients keep their connections


@contextmanager
def with_key(server: str, key: str) -> Iterator[str]:
    """The address of a proxy before the server, which sends the key with every request."""
    proxy = _ProxyServer(("127.0.0.1", 0), type("KeyProxy", (_Proxy,), {"server_url": server, "key": key}))
    thread = threading.Thread(target=proxy.serve_forever)
    thread.start()
    try:
        yield f"http://localhost:{proxy.server_port}"
    finally:
        proxy.shutdown()
        thread.join()
        proxy.server_close()


class _Proxy(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    server_url: str
    key: str

    def _pass_on(self) -> None:
        body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
        headers = {name: value for name, value in self.headers.items() if name.lower() not in DROPPED}
        to = http.client.HTTPConnection(urlsplit(self.server_url).netloc, timeout=RUN_SECONDS)
        try:
            to.request(self.command, self.path, body, {**headers, "Authorization": f"Bearer {self.key}"})
            answer = to.getresponse()
            content = answer.read()
        finally:
            to.close()
        self.send_response(answer.status)
        for name, value in answer.getheaders():
            if name.lower() not in DROPPED:
                self.send_header(name, value)
        self.send_header("Content-Length", str(len(content)))
        self.end_headers()
        with suppress(ConnectionError):  # the suite hung up
            self.wfile.write(content)

    do_GET = do_POST = do_DELETE = do_OPTIONS = _pass_on  # noqa: N815 # the library's names

    def log_message(self, format: str, *args: object) -> None:
        """Nothing: the suite says what it asked."""
