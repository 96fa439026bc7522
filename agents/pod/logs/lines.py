"""One line of a pod's log: safe to display, without secrets, and of limited length."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable
from dataclasses import dataclass
from enum import StrEnum

from agents.pod.masking import mask_text

LINE_CHARACTERS = 4096
# How many bytes of a line without end are read: enough that a secret at the cut above is still whole, and is masked.
LINE_BYTES = 32 * 1024
# In a secret of several lines, such as a PEM key, each line of at least this length counts as a secret too.
SECRET_LINE_CHARACTERS = 16

# Escape sequences of terminals: colours, cursors, titles, links, and everything else that starts with ESC.
_ESCAPES = re.compile(r"\x1b(?:\[[0-?]*[ -/]*[@-~]|[\]PX^_][^\x07\x1b]*(?:\x07|\x1b\\)?|[ -/]*[0-~]?)")
# Invisible characters, and characters that reverse the direction of the text. A tab, and the joiners of scripts and
# emoji, stay.
_UNSEEN = re.compile("[\x00-\x08\x0a-\x1f\x7f-\x9f\u200b\u200e\u200f\u2028-\u202e\u2060-\u206f\ufeff]")
_LEVEL_CHARACTERS = 100
_LEVEL = re.compile(
    r"\b(TRACE|DEBUG|INFO|NOTICE|WARN|WARNING|ERROR|FATAL|CRITICAL)\b"
    r"|\blevel\"?\s*[=:]\s*\"?(trace|debug|info|notice|warn|warning|error|fatal|critical)\b"
)


class LogSource(StrEnum):
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
class LogLine:
    at: float  # Unix seconds
    source: LogSource
    level: Level | None
    text: str
    mark: str = ""  # for the program that stores the line: where the line came from

    def encoded(self) -> bytes:
        """The line as one line of JSON. The source is the first field, so that lines of one source are found without
        reading the rest.
        """
        marked = {"m": self.mark} if self.mark else {}
        fields = {"s": self.source, "t": round(self.at, 3), "l": self.level, "x": self.text, **marked}
        return json.dumps(fields, ensure_ascii=False, separators=(",", ":")).encode("utf-8", "replace") + b"\n"


def begins(source: LogSource) -> bytes:
    """The bytes with which each encoded line of this source starts."""
    return f'{{"s":"{source}",'.encode()


def decoded(raw: bytes) -> LogLine | None:
    """The line that was encoded by `encoded`; None for any other bytes."""
    try:
        fields = json.loads(raw)
        level = fields["l"]
        return LogLine(
            at=min(max(float(fields["t"]), 0.0), 253402300799.0),  # the last second of the year 9999
            source=LogSource(fields["s"]),
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
    """Remove characters that a terminal or a page would execute instead of displaying them."""
    return _UNSEEN.sub("", _ESCAPES.sub("", text)).strip()


def prepared(text: str, secrets: Iterable[str]) -> str:
    """The text as it may be stored. Invisible characters are removed first, because they may stand inside a secret; the
    text is cut last.
    """
    return shortened(mask_text(clean(text), secrets))


def shortened(text: str) -> str:
    if len(text) <= LINE_CHARACTERS:
        return text
    return f"{text[:LINE_CHARACTERS]} [cut: {len(text) - LINE_CHARACTERS} more characters]"


def level_of(text: str) -> Level | None:
    """The level that the line names near its beginning, or None."""
    found = _LEVEL.search(text, 0, _LEVEL_CHARACTERS)
    return _LEVELS[(found[1] or found[2]).lower()] if found else None


def with_lines(secrets: Iterable[str]) -> list[str]:
    """The secrets, and in addition the single lines of multi-line secrets, because a log shows them line by line."""
    found: dict[str, None] = {}
    for secret in secrets:
        found[secret] = None
        if "\n" in secret:
            found |= dict.fromkeys(line for line in secret.splitlines() if len(line) >= SECRET_LINE_CHARACTERS)
    return list(found)
