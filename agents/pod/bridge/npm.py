"""Installs an npm package with the Node.js that is installed with this service."""

from __future__ import annotations

import os
import platform
import shutil
from collections.abc import Mapping
from pathlib import Path

from agents.engines.base import NpmPackage
from agents.pod.bridge import commands
from agents.pod.bridge.commands import Command, InstallError
from agents.pod.bridge.log import EngineLog
from agents.pod.bridge.progress import Progress

INSTALL_SECONDS = 900.0
CHECK_SECONDS = 120.0
_FLAGS = ("ci", "--ignore-scripts", "--omit=dev", "--no-audit", "--no-fund", "--no-update-notifier", "--loglevel=http")


async def install_into(
    fresh: Path, package: NpmPackage, *, node: Path, cache: Path, log: EngineLog, progress: Progress
) -> str:
    """Install exactly what the lock says into the directory. Returns what the engine says about its version."""
    for name in ("package.json", "package-lock.json"):
        shutil.copy(package.recipe / name, fresh / name)
    npm = node.parent.parent / "lib" / "node_modules" / "npm" / "bin" / "npm-cli.js"
    env = {"PATH": f"{node.parent}:{os.environ.get('PATH', '')}", "PI_OFFLINE": "1"}
    install: Command = [node, npm, *_FLAGS, *package.flags, "--cache", cache / ".npm"]
    await commands.run("npm", install, cwd=fresh, log=log, seconds=INSTALL_SECONDS, env=env, heard=progress.heard)
    progress.checking()
    return await _version(fresh, package, node=node, log=log, env=env)


async def _version(fresh: Path, package: NpmPackage, *, node: Path, log: EngineLog, env: Mapping[str, str]) -> str:
    """Ask the engine for its version. Even then an engine writes into its home directory, so it gets a temporary one
    instead of the operator's.
    """
    entry, home = fresh / package.entry, fresh / ".home"
    if not entry.is_file():
        raise InstallError(f"{package.name} {package.version} has no program for this machine ({platform.machine()})")
    command: Command = [*(() if package.native else (node,)), entry, "--version"]
    try:
        return await commands.run(
            package.name, command, cwd=fresh, log=log, seconds=CHECK_SECONDS, env={**env, "HOME": str(home)}
        )
    finally:
        shutil.rmtree(home, ignore_errors=True)
