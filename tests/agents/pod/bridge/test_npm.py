"""Engines from npm, when the registry has no program for this machine."""

from __future__ import annotations

import asyncio
import platform
from dataclasses import replace
from pathlib import Path

import pytest

from agents.engines.opencode import OPENCODE
from agents.pod.bridge import npm
from agents.pod.bridge.commands import InstallError
from agents.pod.bridge.log import EngineLog
from agents.pod.bridge.progress import Progress


def test_an_engine_without_a_program_for_this_machine_says_so(tmp_path: Path) -> None:
    node = tmp_path / "bin" / "node"
    node.parent.mkdir()
    node.write_text("#!/bin/sh\nexit 0\n", encoding="utf-8")  # as if npm had nothing to install
    node.chmod(0o755)
    package = replace(OPENCODE.package, entry=Path("node_modules/opencode-for-this-machine/bin/opencode"))
    fresh = tmp_path / "fresh"
    fresh.mkdir()
    log = EngineLog()
    progress = Progress(package, lambda _: None)
    with pytest.raises(InstallError, match=rf"has no program for this machine \({platform.machine()}\)"):
        asyncio.run(npm.install_into(fresh, package, node=node, cache=tmp_path, log=log, progress=progress))
