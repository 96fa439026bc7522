"""Writes the types of the TypeScript SDK with openapi-typescript, and checks them without it.

The first line of the file has two digests: of openapi.yaml, and of the rest of the file. So `make test` finds a file
that was edited, or that is older than the document, without a package registry.
"""

from __future__ import annotations

import fcntl
import hashlib
import subprocess
from pathlib import Path

from tests.chromium import NODE, install

ROOT = Path(__file__).resolve().parents[2]
SOURCE = ROOT / "sdk" / "typescript"
SCHEMA = SOURCE / "src" / "schema.ts"
CACHE = ROOT / "var" / "sdk-typescript"
NOTE = "// Generated: `make sdk` writes it. openapi.yaml {document}, the lines below {rest}"
SECONDS = 300


def packages() -> Path:
    """The folder with the packages of the lock file. The first call installs them; other processes wait."""
    CACHE.mkdir(parents=True, exist_ok=True)
    lock = CACHE / "package-lock.json"
    with (CACHE / ".lock").open("w") as place:
        fcntl.flock(place, fcntl.LOCK_EX)
        is_there = (CACHE / "node_modules").exists() and lock.exists()
        if not is_there or lock.read_bytes() != (SOURCE / "package-lock.json").read_bytes():
            install(SOURCE, CACHE)
    return CACHE


def schema(document: Path) -> str:
    """The text of schema.ts. Needs the registry of npm the first time."""
    program = packages() / "node_modules" / "openapi-typescript" / "bin" / "cli.js"
    command = [str(NODE), str(program), str(document)]
    done = subprocess.run(command, capture_output=True, text=True, check=True, timeout=SECONDS)
    return f"{_note(document, done.stdout)}\n{done.stdout}"


def is_current(document: Path) -> bool:
    """Whether schema.ts was made from this document and not edited since."""
    first, _, rest = SCHEMA.read_text(encoding="utf-8").partition("\n")
    return first == _note(document, rest)


def _note(document: Path, rest: str) -> str:
    return NOTE.format(document=_digest(document.read_bytes()), rest=_digest(rest.encode()))


def _digest(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()[:16]
