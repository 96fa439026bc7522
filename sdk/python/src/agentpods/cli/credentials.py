"""Where the key is kept: a file of the user's alone. A key is used only for the service that it was stored for."""

from __future__ import annotations

import json
import os
from pathlib import Path

import typer

from agentpods._wire.settings import BASE_URL


class Credentials:
    """The keys by address, and the address that is used unless another is given."""

    def __init__(self, path: Path | None = None) -> None:
        self.path = path or Path(typer.get_app_dir("agentpods")) / "credentials.json"
        self.keys, self.default = self._read()

    def url(self, given: str | None) -> str:
        return (given or os.environ.get("AGENTPODS_URL") or self.default or BASE_URL).rstrip("/")

    def key(self, url: str) -> str:
        return os.environ.get("AGENTPODS_API_KEY") or self.keys.get(url, "")

    def store(self, url: str, key: str) -> None:
        self.keys[url], self.default = key, url
        self._write()

    def forget(self, url: str) -> bool:
        """Whether there was a key."""
        there = self.keys.pop(url, None) is not None
        if there:
            self._write()
        return there

    def _read(self) -> tuple[dict[str, str], str | None]:
        try:
            told = json.loads(self.path.read_text(encoding="utf-8"))
            keys, default = told["keys"], told.get("default")
            is_whole = isinstance(keys, dict) and all(isinstance(one, str) for one in keys.values())
            return (keys if is_whole else {}), (default if isinstance(default, str) else None)
        except (OSError, ValueError, KeyError, TypeError, AttributeError):
            return {}, None

    def _write(self) -> None:
        self.path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        part = self.path.with_name(f".{self.path.name}.{os.getpid()}")
        part.unlink(missing_ok=True)
        with os.fdopen(os.open(part, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "w", encoding="utf-8") as file:
            json.dump({"default": self.default, "keys": self.keys}, file)
        part.replace(self.path)
