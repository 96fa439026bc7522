"""The engine's own words: kept for evidence and in a file of limited size, without secrets."""

from __future__ import annotations

import asyncio
import logging
import re
from collections import deque
from collections.abc import Iterable
from pathlib import Path

from agents.pod.gateway.masking import mask_text

log = logging.getLogger(__name__)

KEPT_LINES = 20
LINE_CHARACTERS = 400
FILE_BYTES = 1024 * 1024
_SHORTEST_SECRET = 6  # anything shorter would mask ordinary words
_COLOURS = re.compile(r"\x1b\[[0-9;?]*[A-Za-z]")


class EngineLog:
    def __init__(self, path: Path, *, noise: str = "") -> None:
        self._path = path
        self._noise = noise
        self._lines: deque[str] = deque(maxlen=KEPT_LINES)
        self._secrets: list[str] = []

    def hide(self, secrets: Iterable[str]) -> None:
        """From now on these never appear."""
        known = [secret for secret in secrets if len(secret) >= _SHORTEST_SECRET]
        self._secrets = list(dict.fromkeys([*self._secrets, *known]))

    @property
    def evidence(self) -> list[str]:
        return list(self._lines)

    def masked(self, text: str) -> str:
        return mask_text(text, self._secrets)

    def note(self, line: str) -> None:
        text = _COLOURS.sub("", self.masked(line)).replace("\x00", "").strip()[:LINE_CHARACTERS]
        if not text or (self._noise and text.startswith(self._noise)):
            return
        self._lines.append(text)
        try:
            self._append(text + "\n")
        except OSError as error:
            log.warning("engine.log: %s", error)

    async def follow(self, stream: asyncio.StreamReader | None) -> None:
        """Take lines until the stream ends. A line longer than the stream's buffer is taken in pieces."""
        rest = b""
        while stream is not None and (chunk := await stream.read(8192)):
            *lines, rest = (rest + chunk).split(b"\n")
            for line in lines:
                self.note(line.decode("utf-8", "replace"))
            if len(rest) > LINE_CHARACTERS * 8:
                self.note(rest.decode("utf-8", "replace"))
                rest = b""
        self.note(rest.decode("utf-8", "replace"))

    def _append(self, text: str) -> None:
        if self._path.exists() and self._path.stat().st_size > FILE_BYTES:
            self._path.replace(self._path.with_suffix(".log.1"))
        with self._path.open("a", encoding="utf-8", errors="replace") as file:
            file.write(text)
