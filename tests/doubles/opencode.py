"""An engine cache where `opencode` is tests/doubles/opencode.js: a real server under a real bridge, without npm."""

from __future__ import annotations

import shutil
from pathlib import Path

from agents.engines.opencode import OPENCODE

SCRIPT = Path(__file__).with_name("opencode.js")


def install_double(cache: Path) -> Path:
    target = cache / f"{OPENCODE.id}-{OPENCODE.package.version}"
    entry = target / OPENCODE.package.entry
    entry.parent.mkdir(parents=True)
    shutil.copy(SCRIPT, entry)
    entry.chmod(0o755)
    shutil.copy(OPENCODE.package.lock, target / ".installed")
    return cache
