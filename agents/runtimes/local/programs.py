"""Runs gateway and bridge as processes: each is started in its own session, found by its arguments, and reaped when it
ends.
"""

from __future__ import annotations

import contextlib
import fcntl
import os
import subprocess
import sys
import threading
import time
from collections.abc import Mapping
from enum import StrEnum
from pathlib import Path
from typing import IO

import psutil

from agents.pod import processes
from agents.runtimes.local.template import SOURCE, Template

LOG_BYTES = 2 * 1024 * 1024
_PIPE_BYTES = 1024 * 1024
_INHERITED = {
    "PATH", "HOME", "USER", "LANG", "LC_ALL", "TMPDIR", "TZDIR", "LD_LIBRARY_PATH",
    "SSL_CERT_FILE", "SSL_CERT_DIR", "NODE_EXTRA_CA_CERTS", "REQUESTS_CA_BUNDLE",
    "HTTP_PROXY", "HTTPS_PROXY", "NO_PROXY", "AGENTPODS_SUPERVISOR",
    "COVERAGE_PROCESS_START", "COVERAGE_PROCESS_CONFIG",
}  # fmt: skip


class PodProgram(StrEnum):
    GATEWAY = "gateway"
    BRIDGE = "bridge"


# The file in the pod's run directory in which each program regularly reports its state.
REPORTS = {PodProgram.GATEWAY: "gateway.json", PodProgram.BRIDGE: "state.json"}

Found = Mapping[tuple[str, PodProgram], psutil.Process]


def find(home: Path) -> Found:
    """Every live program of every pod of this home, found in one pass over the machine's processes."""
    found: dict[tuple[str, PodProgram], psutil.Process] = {}
    modules = {f"agents.pod.{program}": program for program in PodProgram}
    mine = f"--home={home}"
    for process in processes.having("cmdline", mine):
        arguments = _arguments(process.pid)
        if mine not in arguments or "-m" not in arguments[:-1]:
            continue
        program = modules.get(arguments[arguments.index("-m") + 1])
        namespace = next(
            (word.removeprefix("--namespace=") for word in arguments if word.startswith("--namespace=")), ""
        )
        if program and processes.is_alive(process):
            found[namespace, program] = process
    return found


def start(
    program: PodProgram, *, namespace: str, home: Path, run_dir: Path, document: bytes, keep: bool, template: Template
) -> None:
    """Start a program and pass its start document to it. If this worker is killed before that is done, the program ends
    by itself, because its document is not complete.
    """
    module, arguments = f"agents.pod.{program}", processes.program_arguments(namespace, home)
    environment, marks = environment_of_all(keep=keep), processes.marks(namespace, home, program)
    reading, writing = os.pipe()
    with os.fdopen(writing, "wb") as pipe:
        with os.fdopen(reading, "rb") as stdin, (run_dir / f"{program}.log").open("ab") as log:
            if not template.copy(module, arguments, environment, marks, [stdin.fileno(), log.fileno()]):
                _start_anew(module, arguments, {**environment, **marks}, stdin=stdin, log=log)
        # Make the pipe large enough for the whole document, so that a program that hangs at its start does not block
        # the worker.
        fcntl.fcntl(pipe, fcntl.F_SETPIPE_SZ, max(_PIPE_BYTES, len(document)))
        with contextlib.suppress(BrokenPipeError):
            pipe.write(document)
            pipe.flush()


def _start_anew(
    module: str, arguments: list[str], environment: Mapping[str, str], *, stdin: IO[bytes], log: IO[bytes]
) -> None:
    child = subprocess.Popen(
        [sys.executable, "-m", module, *arguments],
        stdin=stdin,
        stdout=log,
        stderr=log,
        cwd=SOURCE,
        env=environment,
        start_new_session=True,
    )
    _reap_later(child)


def trim_logs(run_dir: Path) -> None:
    """Empty log files that are too large. The programs only append to them."""
    for program in PodProgram:
        path = run_dir / f"{program}.log"
        with contextlib.suppress(OSError):
            if path.stat().st_size > LOG_BYTES:
                os.truncate(path, 0)


def last_words(run_dir: Path, program: PodProgram, lines: int = 10) -> list[str]:
    try:
        text = (run_dir / f"{program}.log").read_bytes()[-8192:].decode("utf-8", "replace")
    except OSError:
        return []
    return [line.strip()[:400] for line in text.splitlines() if line.strip()][-lines:]


def _arguments(pid: int) -> list[str]:
    """The arguments of a process. They can be read even for the gateway, whose other data is closed. Empty for a
    zombie, or if reading is not allowed.
    """
    return os.fsdecode(processes.read(pid, "cmdline")).split("\0")


def is_inherited(name: str) -> bool:
    """Whether a program inherits this environment variable: settings for the way to package registries, but never a
    database or a secret.
    """
    return name.upper() in _INHERITED or name.upper().startswith(("NPM_CONFIG_", "PIP_"))


def environment_of_all(*, keep: bool) -> dict[str, str]:
    """The environment of every program, without the marks of its pod."""
    inherited = {name: value for name, value in os.environ.items() if is_inherited(name)}
    return {**inherited, **({"KEEP_PODS": "1"} if keep else {}), "PYTHONUNBUFFERED": "1"}


_children: list[subprocess.Popen[bytes]] = []
_reaping = threading.Lock()


def _reap_later(child: subprocess.Popen[bytes]) -> None:
    """Reap the child when it ends, so that it does not stay as a zombie while its worker lives. One thread waits for
    all children.
    """
    with _reaping:
        _children.append(child)
        if len(_children) == 1:
            threading.Thread(target=_reap, name="pod-reaper", daemon=True).start()


def _reap() -> None:
    while True:
        time.sleep(0.5)
        with _reaping:
            _children[:] = [child for child in _children if child.poll() is None]
            if not _children:
                return
