"""JupyterHub as its quickstart runs it: hub, SQLite, proxy, SimpleLocalProcessSpawner, and the token of a service."""

from __future__ import annotations

import os
import secrets
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import psutil

from benchmarks import load
from benchmarks.peers import installed
from benchmarks.peers.asking import asked
from benchmarks.peers.reads import LISTS, MANY, ONE, READS
from benchmarks.peers.rows import PeerFigure
from benchmarks.processes import Program, ended, wait_until
from benchmarks.second_start import free_port

USERS = 200
WHO = f"JupyterHub {installed.version('jupyterhub')}"
BEHIND_PROXY = "JupyterHub behind its proxy"


@dataclass(frozen=True)
class Hub:
    program: Program  # the hub; its proxy and its servers are its children. The port is the hub's own
    proxy_port: int
    token: str

    def get(self, path: str) -> bytes:
        return load.get(f"/hub/api{path}", **self._headers)

    def post(self, path: str, body: bytes = b"") -> bytes:
        return load.request("POST", f"/hub/api{path}", body, **self._headers)

    @property
    def _headers(self) -> dict[str, str]:
        return {"Authorization": f"token {self.token}"}


def measure() -> list[PeerFigure]:
    with running() as hub:
        add_users(hub, USERS)
        return reads(hub)


@contextmanager
def running(spawner: str = "simple", **environment: str) -> Iterator[Hub]:
    ports, token = [free_port() for _ in range(3)], secrets.token_hex(16)
    with tempfile.TemporaryDirectory(prefix="agentpods-hub-") as home, Path(home, "log").open("wb") as log:
        own = {**_environment(home, ports, token), "HUB_SPAWNER": spawner, **environment}
        process = subprocess.Popen(_command(), stdout=log, stderr=log, env=own, cwd=home)
        hub = Hub(Program(process.pid, ports[0]), ports[1], token)
        try:
            wait_until(lambda: _serves(hub), process)
            yield hub
        except BaseException:
            sys.stderr.write(Path(home, "log").read_text(errors="replace"))
            raise
        finally:
            _end(process)


def add_users(hub: Hub, count: int) -> None:
    requests = [hub.post(f"/users/user-{number:03}") for number in range(count)]
    load.run(hub.program.port, requests).expect(201)


def reads(hub: Hub) -> list[PeerFigure]:
    one, many = hub.get("/users/user-007"), hub.get(f"/users?limit={USERS}")
    servers = [hub.program]
    return [
        asked(ONE, WHO, one, servers=servers, port=hub.program.port, times=READS),
        asked(ONE, BEHIND_PROXY, one, servers=servers, port=hub.proxy_port, times=READS),
        asked(MANY, WHO, many, servers=servers, port=hub.program.port, times=LISTS),
    ]


def _command() -> list[str]:
    settings = Path(__file__).with_name("hub_settings.py")
    return [str(installed.BIN / "jupyterhub"), "--config", str(settings)]


def _environment(home: str, ports: list[int], token: str) -> dict[str, str]:
    mine, front, proxy_api = ports
    return {
        **os.environ,
        "PATH": f"{installed.BIN}{os.pathsep}{os.environ['PATH']}",
        "HUB_HOME": home,
        "HUB_PORT": str(mine),
        "HUB_URL": f"http://127.0.0.1:{front}",
        "HUB_PROXY": str(installed.PROXY),
        "HUB_PROXY_API": f"http://127.0.0.1:{proxy_api}",
        "HUB_TOKEN": token,
    }


def _serves(hub: Hub) -> bool:
    """The hub answers, also through its proxy."""
    try:
        for port in (hub.program.port, hub.proxy_port):
            load.run(port, [hub.get("/")], connections=1).expect(200)
    except (OSError, RuntimeError):
        return False
    return True


def _end(process: subprocess.Popen[bytes]) -> None:
    """End the hub, and the servers that it would leave running."""
    children = psutil.Process(process.pid).children(recursive=True) if process.poll() is None else []
    ended(process)
    for child in children:
        if child.is_running():
            child.kill()
