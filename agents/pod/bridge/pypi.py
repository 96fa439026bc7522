"""Installs a PyPI package into its own virtual environment, created with the Python that runs this program."""

from __future__ import annotations

import importlib.util
import sys
from pathlib import Path

from agents.engines.base import PypiPackage
from agents.pod.bridge import commands
from agents.pod.bridge.commands import Command, InstallError
from agents.pod.bridge.log import EngineLog
from agents.pod.bridge.progress import Progress

INSTALL_SECONDS = 900.0
CHECK_SECONDS = 120.0
# Only wheels, so that no code of a package runs during the installation.
_FLAGS = (
    "--require-hashes",
    "--no-deps",
    "--only-binary=:all:",
    "--no-input",
    "--progress-bar=off",
    "--disable-pip-version-check",
)


async def install_into(fresh: Path, package: PypiPackage, *, cache: Path, log: EngineLog, progress: Progress) -> str:
    """Install exactly what the lock says into the directory. Returns what the engine says about its version.
    The environment may be moved later: its Python finds its packages by their relative place. Its scripts could not be
    moved, and are not used.
    """
    venv: Command = [sys.executable, "-I", "-m", "venv", "--without-pip", fresh]
    await commands.run("venv", venv, cwd=fresh, log=log, seconds=CHECK_SECONDS)
    python = fresh / package.python
    install: Command = [
        python,
        "-I",
        _pip(),
        "install",
        *_FLAGS,
        "--requirement",
        package.lock,
        "--cache-dir",
        cache / ".pip",
    ]
    await commands.run("pip", install, cwd=fresh, log=log, seconds=INSTALL_SECONDS, heard=progress.heard)
    progress.checking()
    scratch = fresh / ".checked"
    scratch.mkdir()
    entry: Command = [python, "-I", "-m", package.module, "--version"]
    return await commands.run(
        package.name, entry, cwd=scratch, log=log, seconds=CHECK_SECONDS, env={"HOME": str(scratch)}
    )


def _pip() -> Path:
    """The path of this program's own pip. The new environment's Python runs it, so that a single process installs into
    the new environment.
    """
    found = importlib.util.find_spec("pip")
    if found is None or not found.submodule_search_locations:
        raise InstallError("pip is missing beside the Python that runs the bridge")
    return Path(found.submodule_search_locations[0]) / "__pip-runner__.py"
