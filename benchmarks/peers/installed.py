"""The environment of the peers, under var/: JupyterHub and Celery from PyPI, JupyterHub's proxy from npm, as locked."""

from __future__ import annotations

import shutil
import subprocess
import zlib
from pathlib import Path

from config.run import environment

HERE = Path(__file__).parent
ROOT = HERE.parent.parent
VENV = ROOT / "var" / "peers"
BIN = VENV / "bin"
NODE = VENV / "node"
PROXY = NODE / "node_modules" / ".bin" / "configurable-http-proxy"
MEGABYTES = 500
LOCK = HERE / "requirements.txt"
NODE_FILES = ("package.json", "package-lock.json")


def make() -> None:
    """Install what is missing. Nothing is done if the locks are those of the last time."""
    VENV.parent.mkdir(exist_ok=True)
    environment.make(VENV, VENV / f"installed-{_sum(LOCK)}", [LOCK], needs=MEGABYTES)
    stamp = NODE / f"installed-{_sum(HERE / 'package-lock.json')}"
    if not stamp.exists():
        _install_proxy()
        stamp.touch()


def version(package: str) -> str:
    """The version that the lock pins."""
    pins = dict(line.split(" ")[0].split("==") for line in LOCK.read_text().splitlines() if "==" in line.split(" ")[0])
    return pins[package]


def _install_proxy() -> None:
    shutil.rmtree(NODE, ignore_errors=True)
    NODE.mkdir()
    for name in NODE_FILES:
        shutil.copy(HERE / name, NODE)
    subprocess.run(["npm", "ci", "--ignore-scripts", "--no-audit", "--no-fund", "--silent"], cwd=NODE, check=True)


def _sum(lock: Path) -> int:
    return zlib.crc32(lock.read_bytes())
