"""What `make run` prints in its terminal: output of programs for people, and each problem within a second.

All of it is in the logs too. A problem that repeats is printed once a minute, so that the terminal stays readable.
"""

from __future__ import annotations

import re
import sys
import time
from collections import defaultdict
from pathlib import Path
from typing import Any

QUIET_SECONDS = 60.0
MOST_LINES = 30  # of one program, in QUIET_SECONDS
LINE_LENGTH = 300
# The format of log records in development (config/settings.py). Django's warnings about refused requests are left out.
_TROUBLE = re.compile(r"(?:ERROR|CRITICAL) |WARNING (?!django\.)")
_VARYING = re.compile(r"\b\w*\d\w*\b")  # ids, counts and times; without them the lines of a repeated problem are equal


class ProgramPrinter:
    """Gets supervisord's events and prints them."""

    def __init__(self) -> None:
        self._parts: defaultdict[str, str] = defaultdict(str)  # the start of a line whose end has not come yet
        self._told: defaultdict[str, dict[str, float]] = defaultdict(dict)

    def hear(self, event: Any) -> None:
        """Print the output of a program: all of it if it is for people, else only lines with a problem."""
        name, text = event.process.config.name, event.data
        text = text if isinstance(text, str) else text.decode(errors="replace")
        if event.channel == "stdout" and event.process.config.stdout_logfile is None:  # for people (programs.py)
            _write("stdout", text)
            return
        *lines, rest = (self._parts[name] + text).split("\n")
        self._parts[name] = rest[:LINE_LENGTH]
        for line in lines:
            if _TROUBLE.match(line):
                self._tell_once(name, line[:LINE_LENGTH])

    def tell_stumble(self, event: Any) -> None:
        """A program ended before it was up. Printed once, not at each further try."""
        config = event.process.config
        if event.process.backoff == 1:
            self.tell(f"{config.name} ended at once and is started again; see {log_of(config)}")

    def tell_end(self, process: Any) -> None:
        """A program that was up has ended by itself. One that is meant to end is not printed if its status is 0."""
        config = process.config
        if process.exitstatus == 0 and not config.autorestart:
            return
        again = " and is started again" if config.autorestart else ""
        self._tell_once(config.name, f"ended{again}; see {log_of(config)}\n{last_lines(log_of(config), count=3)}")

    def tell(self, message: str) -> None:
        _write("stderr", f"{message}\n")

    def _tell_once(self, name: str, what: str) -> None:
        now, told = time.monotonic(), self._told[name]
        for key in [key for key, at in told.items() if now - at > QUIET_SECONDS]:
            del told[key]
        key = _VARYING.sub("", what)
        if key not in told and len(told) < MOST_LINES:
            told[key] = now
            self.tell(f"{name}: {what}")


def log_of(config: Any) -> str:
    return str(config.stderr_logfile or config.stdout_logfile)


def last_lines(path: str, *, count: int = 8) -> str:
    file = Path(path)
    text = file.read_text(encoding="utf-8", errors="replace") if file.exists() else ""
    return "\n".join(text.splitlines()[-count:])


def _write(name: str, text: str) -> None:
    """Write to stdout or stderr, as long as somebody reads it."""
    stream = getattr(sys, name)
    try:
        stream.write(text)
        stream.flush()
    except OSError:
        setattr(sys, name, open("/dev/null", "w", encoding="utf-8"))  # noqa: SIM115, PTH123 # nobody reads it any more
