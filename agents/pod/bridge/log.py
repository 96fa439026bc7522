"""The engine's own words: kept for evidence and in a file of limited size, without secrets."""

from __future__ import annotations

import asyncio
import logging
import re
import time
from collections import deque
from collections.abc import Iterable
from pathlib import Path

from agents.pod.masking import mask_text

log = logging.getLogger(__name__)

KEPT_LINES = 20
LINE_CHARACTERS = 400
FILE_BYTES = 1024 * 1024
_COLOURS = re.compile(r"\x1b\[[0-9;?]*[A-Za-z]")


class EngineLog:
    def __init__(self, path: Path, *, noise: str = "") -> None:
        self._path = path
        self._noise = noise
        self._lines: deque[tuple[float, str]] = deque(maxlen=KEPT_LINES)
        self._secrets: list[str] = []

    def hide(self, secrets: Iterable[str]) -> None:
        """From now on these never appear."""
        self._secrets = list(dict.fromkeys([*self._secrets, *secrets]))

    @property
    def evidence(self) -> list[str]:
        return [text for _, text in self._lines]

    def heard(self, *, seconds: float) -> list[str]:
        """What was said within the last seconds."""
        since = time.monotonic() - seconds
        return [text for at, text in self._lines if at >= since]

    def masked(self, text: str) -> str:
        return mask_text(text, self._secrets)

    def note(self, line: str) -> None:
        text = _COLOURS.sub("", self.masked(line)).replace("\x00", "").strip()[:LINE_CHARACTERS]
        if not text or (self._noise and text.startswith(self._noise)):
            return
        self._lines.append((time.monotonic(), text))
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
