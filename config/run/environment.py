"""Makes .venv from lock files: `environment.py VENV --stamp FILE --needs MEGABYTES LOCK…`. Standard library only.

uv installs in seconds what takes pip minutes. pip fetches uv itself and checks its hash. uv uses the package index of
pip's configuration; where it cannot, pip installs.
"""

from __future__ import annotations

import argparse
import ast
import fcntl
import os
import re
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
UV_LOCK = ROOT / "requirements-test.lock"  # it pins uv, which also makes the lock files
DOT_SECONDS = 2.0
MIB = 1024 * 1024
HASHES_ONLY = ["--require-hashes", "--no-deps"]
# uv's names for the options of pip's configuration. Hashes decide which file is taken, so any index may serve it.
OF_UV = {
    "index-url": "UV_DEFAULT_INDEX",
    "extra-index-url": "UV_INDEX",
    "find-links": "UV_FIND_LINKS",
    "no-index": "UV_NO_INDEX",
    "trusted-host": "UV_INSECURE_HOST",
    "keyring-provider": "UV_KEYRING_PROVIDER",
    "default-timeout": "UV_HTTP_TIMEOUT",
    "timeout": "UV_HTTP_TIMEOUT",
    "cert": "SSL_CERT_FILE",
    "client-cert": "SSL_CLIENT_CERT",
    "proxy": "ALL_PROXY",
}


class Failed(Exception):
    """A step failed. The message names the step and has the program's output."""


def make(venv: Path, stamp: Path, locks: list[Path], *, needs: int) -> None:
    """Install the packages of the lock files into the environment. Raises Failed."""
    with UV_LOCK.open() as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)  # `make run` and `make demo` may both start here at the same time
        if stamp.exists():
            return
        _check_disk(venv, needs)
        say(f"Making {venv.name} from {' and '.join(path.name for path in locks)}: once, and again when a lock changes")
        unfinished = venv / "unfinished"
        if unfinished.exists() or not _works(venv):
            _step("an empty environment", [sys.executable, "-m", "venv", "--clear", str(venv)])
        unfinished.touch()
        _install(venv, locks)
        for old in venv.glob(f"{stamp.name.rpartition('-')[0]}-*"):
            old.unlink()
        stamp.touch()
        unfinished.unlink()


def _check_disk(venv: Path, needs: int) -> None:
    free = shutil.disk_usage(venv.parent).free // MIB
    if free < needs:
        raise Failed(f"{venv} needs {needs} MB of disk, and {free} MB are free there: make room first")


def _works(venv: Path) -> bool:
    python = venv / "bin" / "python"
    asked = [str(python), "-m", "pip", "--version"]
    return python.exists() and subprocess.run(asked, capture_output=True, check=False).returncode == 0


def _install(venv: Path, locks: list[Path]) -> None:
    python = str(venv / "bin" / "python")
    pip = [python, "-m", "pip", "install", "--quiet", "--disable-pip-version-check", *HASHES_ONLY]
    from_locks = [word for lock in locks for word in ("--requirement", str(lock))]
    count = sum(len(re.findall(r"^\w", lock.read_text(), re.MULTILINE)) for lock in locks)
    # Python compiles modules on import and keeps the result. If it is told not to, compile all of them now.
    compiled = ["--compile-bytecode"] if os.environ.get("PYTHONDONTWRITEBYTECODE") else []
    try:
        if not (venv / "bin" / "uv").exists():
            with tempfile.NamedTemporaryFile("w", suffix=".lock") as file:
                file.write(_block("uv", UV_LOCK.read_text()))
                file.flush()
                _step("uv, which installs the others", [*pip, "--requirement", file.name])
        uv = [str(venv / "bin" / "uv"), "pip", "install", "--python", python, *HASHES_ONLY, *compiled]
        _step(f"{count} packages", [*uv, *from_locks], more=_configuration(python))
    except Failed as error:
        say(f"{error}\nuv failed, so pip installs the packages, which takes minutes")
        _step(f"{count} packages", [*pip, *from_locks])


def _block(name: str, lock: str) -> str:
    """The lines of one package in a lock file, with its hashes."""
    found = re.search(rf"^{name}==.*(?:\n[ \t]+.*)*", lock, re.MULTILINE)
    if found is None:
        raise Failed(f"{UV_LOCK.name} does not name {name}")
    return f"{found.group()}\n"


def _configuration(python: str) -> dict[str, str]:
    """pip's configuration as uv's variables. Variables that are set for uv already are left out."""
    told = subprocess.run([python, "-m", "pip", "config", "list"], capture_output=True, text=True, check=False).stdout
    options: dict[str, str] = {}
    for section in ("global", "install", ":env:"):  # a later section wins, as in pip
        options.update(re.findall(rf"^{section}\.([\w-]+)=(.+)$", told, re.MULTILINE))
    values = {OF_UV[name]: str(ast.literal_eval(value)) for name, value in options.items() if name in OF_UV}
    for bundle in ("REQUESTS_CA_BUNDLE", "CURL_CA_BUNDLE"):
        if os.environ.get(bundle):
            values.setdefault("SSL_CERT_FILE", os.environ[bundle])
    values["UV_FIND_LINKS"] = ",".join(values.get("UV_FIND_LINKS", "").split())
    values["UV_INDEX_STRATEGY"] = "unsafe-best-match"
    return {name: " ".join(value.split()) for name, value in values.items() if value and name not in os.environ}


def _step(what: str, command: list[str], *, more: dict[str, str] | None = None) -> None:
    """Run a program and print a dot every two seconds, to show progress. Raises Failed with the program's output."""
    sys.stderr.write(f"  {what} .")
    sys.stderr.flush()
    began = time.monotonic()
    with tempfile.TemporaryFile("w+") as output:
        process = subprocess.Popen(command, text=True, stdout=output, stderr=output, env={**os.environ, **(more or {})})
        while (status := _status(process)) is None:
            sys.stderr.write(".")
            sys.stderr.flush()
        output.seek(0)
        said = output.read().strip()
    say(f" {time.monotonic() - began:.0f} s" if status == 0 else " failed")
    if status != 0:
        raise Failed(f"{' '.join(command[:4])} … ended with {status}:\n{said[-4000:]}")


def _status(process: subprocess.Popen[str]) -> int | None:
    """The exit status; None if the process still runs after two seconds."""
    try:
        return process.wait(DOT_SECONDS)
    except subprocess.TimeoutExpired:
        return None


def say(text: str) -> None:
    sys.stderr.write(f"{text}\n")
    sys.stderr.flush()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("venv", type=Path)
    parser.add_argument("locks", type=Path, nargs="+")
    parser.add_argument("--stamp", type=Path, required=True, help="made when all is installed")
    parser.add_argument("--needs", type=int, default=0, help="megabytes of disk")
    given = parser.parse_args()
    try:
        make(given.venv.absolute(), given.stamp.absolute(), given.locks, needs=given.needs)
    except Failed as error:
        sys.exit(f"{error}")
    except KeyboardInterrupt:
        sys.exit("\nstopped; the next `make` starts again")


if __name__ == "__main__":
    main()
