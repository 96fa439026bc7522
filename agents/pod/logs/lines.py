"""One line of a pod's log: harmless to look at, without secrets, and not too long."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable
from dataclasses import dataclass
from enum import StrEnum

from agents.pod.masking import mask_text

LINE_CHARACTERS = 4096
# What is looked at of a line that does not end: enough that a secret across the cut above is whole.
LINE_BYTES = 32 * 1024
# In a secret of several lines, such as a key in PEM, each line of this length is one too.
SECRET_LINE_CHARACTERS = 16

# Escape sequences of terminals: colours and cursors, titles and links, and what else begins with ESC.
_ESCAPES = re.compile(r"\x1b(?:\[[0-?]*[ -/]*[@-~]|[\]PX^_][^\x07\x1b]*(?:\x07|\x1b\\)?|[ -/]*[0-~]?)")
# What is not seen, or turns the text after it around. A tab and the joiners of scripts and emoji stay.
_UNSEEN = re.compile("[\x00-\x08\x0a-\x1f\x7f-\x9f\u200b\u200e\u200f\u2028-\u202e\u2060-\u206f\ufeff]")
_LEVEL_CHARACTERS = 100
_LEVEL = re.compile(
    r"\b(TRACE|DEBUG|INFO|NOTICE|WARN|WARNING|ERROR|FATAL|CRITICAL)\b"
    r"|\blevel\"?\s*[=:]\s*\"?(trace|debug|info|notice|warn|warning|error|fatal|critical)\b"
)


class Source(StrEnum):
    BRIDGE = "bridge"
    ENGINE = "engine"
    GATEWAY = "gateway"


class Level(StrEnum):
    DEBUG = "debug"
    INFO = "info"
    WARNING = "warning"
    ERROR = "error"


_LEVELS = {
    "trace": Level.DEBUG,
    "debug": Level.DEBUG,
    "info": Level.INFO,
    "notice": Level.INFO,
    "warn": Level.WARNING,
    "warning": Level.WARNING,
    "error": Level.ERROR,
    "fatal": Level.ERROR,
    "critical": Level.ERROR,
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Line:
    at: float  # unix seconds
    source: Source
    level: Level | None
    text: str
    mark: str = ""  # of the program that keeps it: where it has the line from

    def encoded(self) -> bytes:
        """As a line of JSON; the source comes first, so that lines of one source are found without reading the rest."""
        marked = {"m": self.mark} if self.mark else {}
        fields = {"s": self.source, "t": round(self.at, 3), "l": self.level, "x": self.text, **marked}
        return json.dumps(fields, ensure_ascii=False, separators=(",", ":")).encode("utf-8", "replace") + b"\n"


def begins(source: Source) -> bytes:
    """With what each encoded line of this source begins."""
    return f'{{"s":"{source}",'.encode()


def decoded(raw: bytes) -> Line | None:
    """The line that was encoded so; None for anything else."""
    try:
        fields = json.loads(raw)
        level = fields["l"]
        return Line(
            at=min(max(float(fields["t"]), 0.0), 253402300799.0),  # the last second of the year 9999
            source=Source(fields["s"]),
            level=None if level is None else Level(level),
            text=shortened(_text(fields["x"])),
            mark=_text(fields.get("m", "")),
        )
    except (ValueError, KeyError, TypeError, RecursionError):
        return None


def _text(value: object) -> str:
    if not isinstance(value, str):
        raise TypeError
    return clean(value)


def clean(text: str) -> str:
    """Without what a terminal or a page would obey instead of showing it."""
    return _UNSEEN.sub("", _ESCAPES.sub("", text)).strip()


def prepared(text: str, secrets: Iterable[str]) -> str:
    """Ready to be kept. First what is not seen goes, for it may stand within a secret; the cut comes last."""
    return shortened(mask_text(clean(text), secrets))


def shortened(text: str) -> str:
    if len(text) <= LINE_CHARACTERS:
        return text
    return f"{text[:LINE_CHARACTERS]} [cut: {len(text) - LINE_CHARACTERS} more characters]"


def level_of(text: str) -> Level | None:
    """What the line says of itself at its beginning."""
    found = _LEVEL.search(text, 0, _LEVEL_CHARACTERS)
    return _LEVELS[(found[1] or found[2]).lower()] if found else None


def with_lines(secrets: Iterable[str]) -> list[str]:
    """The secrets, and the lines of those that have several: a log shows them one by one."""
    found: dict[str, None] = {}
    for secret in secrets:
        found[secret] = None
        if "\n" in secret:
            found |= dict.fromkeys(line for line in secret.splitlines() if len(line) >= SECRET_LINE_CHARACTERS)
    return list(found)
