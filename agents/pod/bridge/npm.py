"""Installs a package of npm with the Node that comes with us."""

from __future__ import annotations

import os
import shutil
from pathlib import Path

from agents.engines.base import NpmPackage
from agents.pod.bridge import commands
from agents.pod.bridge.commands import Command
from agents.pod.bridge.log import EngineLog

INSTALL_SECONDS = 900.0
CHECK_SECONDS = 120.0
_FLAGS = ("ci", "--ignore-scripts", "--omit=dev", "--no-audit", "--no-fund", "--no-update-notifier")


async def install_into(fresh: Path, package: NpmPackage, *, node: Path, cache: Path, log: EngineLog) -> str:
    """Fill the directory with exactly what the lock says; returns what the engine says of its version."""
    for name in ("package.json", "package-lock.json"):
        shutil.copy(package.recipe / name, fresh / name)
    npm = node.parent.parent / "lib" / "node_modules" / "npm" / "bin" / "npm-cli.js"
    env = {"PATH": f"{node.parent}:{os.environ.get('PATH', '')}", "PI_OFFLINE": "1"}
    install: Command = [node, npm, *_FLAGS, "--cache", cache / ".npm"]
    await commands.run("npm", install, cwd=fresh, log=log, seconds=INSTALL_SECONDS, env=env)
    entry: Command = [node, fresh / package.entry, "--version"]
    return await commands.run(package.name, entry, cwd=fresh, log=log, seconds=CHECK_SECONDS, env=env)
