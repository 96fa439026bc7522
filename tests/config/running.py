"""A real `python -m config.run` with its own home directory, as `make run` starts it. It needs no Django."""

from __future__ import annotations

import http.client
import os
import pwd
import re
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

import psutil

from config import embedded
from config.operator_settings.registry import SETTINGS as OPERATORS
from tests.coverage_scope import unmeasured
from tests.patience import Patience
from tests.ports import free_port

ROOT = Path(__file__).resolve().parent.parent.parent
_SOURCE = (ROOT / "config" / "settings.py").read_text(encoding="utf-8")
ENVIRONMENT = set(re.findall(r'env\.\w+\(\s*"([A-Z_]+)"', _SOURCE)) - OPERATORS.keys()
SETTINGS = ENVIRONMENT | OPERATORS.keys()
PROGRAMS = {
    "web": "config.run.web",
    "worker": "-n lifecycle@",
    "worker-webhooks": "-n webhooks@",
    "beat": " beat ",
    "router": "agents.router",
    "redis": "redis-server",
    "postgres": "/bin/postgres",
}


class Run:
    def __init__(self, home: Path, *, user: str | None = None, **more: str) -> None:
        self.home, self.port, self.user = home, free_port(), user
        kept = {name: value for name, value in unmeasured().items() if name not in SETTINGS}
        kept.pop("AGENTPODS_SUPERVISOR", None)
        self.environment = {**kept, "AGENTPODS_HOME": str(home), "PORT": str(self.port), **more}
        self.environment["MAKELEVEL"] = "1"  # as under make: it ends when the test process is killed
        self.output = home.parent / f"{home.name[:20]}.out"
        self.process: subprocess.Popen[bytes] | None = None
        if user:
            home.mkdir()
            os.chown(home, *pwd.getpwnam(user)[2:4])

    def start(self, *, until_up: bool = True) -> float:
        """Start the service. Returns the seconds until it answered."""
        began = time.monotonic()
        with self.output.open("ab") as out:
            self.process = subprocess.Popen(
                [sys.executable, "-m", "config.run"],
                cwd=ROOT,
                env=self.environment,
                stdout=out,
                stderr=out,
                user=self.user,
                group=pwd.getpwnam(self.user).pw_gid if self.user else None,
                extra_groups=[] if self.user else None,
                start_new_session=True,
            )
        if until_up:
            self.wait(lambda: self.status("/health") == 200 and len(self.running()) == len(PROGRAMS), seconds=60)
        return time.monotonic() - began

    def status(self, path: str, port: int | None = None) -> int | None:
        connection = http.client.HTTPConnection("127.0.0.1", port or self.port, timeout=5)
        try:
            connection.request("GET", path)
            return connection.getresponse().status
        except (OSError, http.client.HTTPException):
            return None
        finally:
            connection.close()

    def wait(self, true: Callable[[], object], *, seconds: float) -> float:
        """Wait until this is true. Returns the seconds that it took."""
        began, patience = time.monotonic(), Patience(seconds)
        while not true():
            assert not patience.ended(), f"not within {seconds} s:\n{self.said()}"
            time.sleep(0.1)
        return time.monotonic() - began

    def everything(self) -> list[psutil.Process]:
        """All processes of this run and of its pods, whatever their parent is now."""
        found = []
        for process in psutil.process_iter():
            with suppress(psutil.Error):
                ours = f"--home={self.home}" in process.cmdline() or environment(process).get("AGENTPODS_HOME") == str(
                    self.home
                )
                if ours and process.status() != psutil.STATUS_ZOMBIE:
                    found.append(process)
        return found

    def pods(self) -> list[psutil.Process]:
        """Gateways, bridges, engines, and the processes that these started."""
        return [
            process
            for process in self.everything()
            if f"--home={self.home}" in process.cmdline() or "AGENTPODS_ROLE" in environment(process)
        ]

    def running(self) -> dict[str, psutil.Process]:
        assert self.process
        found = {}
        for process in psutil.Process(self.process.pid).children():
            try:
                command = " ".join(process.cmdline())
            except psutil.Error:
                continue
            found.update({name: process for name, mark in PROGRAMS.items() if mark in command})
        return found

    def signal(self, number: signal.Signals) -> None:
        assert self.process
        self.process.send_signal(number)

    def exit_status(self, *, within: float) -> int:
        assert self.process
        self.wait(self._has_ended, seconds=within)
        return self.process.wait()

    def _has_ended(self) -> bool:
        return self.process is not None and self.process.poll() is not None

    def said(self) -> str:
        return self.output.read_text(encoding="utf-8", errors="replace")

    def end(self) -> None:
        late = ""
        if self.process and self.process.poll() is None:
            self.signal(signal.SIGTERM)
            try:
                self.exit_status(within=20)
            except AssertionError:
                late = (self.home / "logs" / "supervisord.log").read_text(encoding="utf-8")
                self.process.kill()
                self.process.wait()
        for process in self.everything():
            process.kill()
        self._remove_what_lies_outside()
        assert not late, f"did not end within 20 s:\n{late}"

    def _remove_what_lies_outside(self) -> None:
        data = embedded.postgres_data(self.home)
        for outside in (
            *([data] if (self.home / "postgres.path").exists() else []),
            embedded.socket_directory(data, embedded.POSTGRES_SOCKET),
            embedded.redis_socket(self.home).parent,
        ):
            shutil.rmtree(outside, ignore_errors=True)


def environment(process: psutil.Process) -> dict[str, str]:
    """The environment of the process; only root can read a gateway's."""
    try:
        return process.environ()
    except psutil.Error:
        return {}


def can_run_us(user: str) -> bool:
    """Whether we are root and `user` can run our Python, which may be in a home directory that others cannot enter."""
    if os.geteuid() != 0:
        return False
    with suppress(PermissionError):
        subprocess.run([sys.executable, "-c", ""], user=user, extra_groups=[], cwd="/", check=True)
        return True
    return False


MakeRun = Callable[..., Run]
