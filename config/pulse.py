"""A sign of life: a file that a program touches as long as its main loop runs.

The chart's probes check the age of the file. That is cheap and needs neither database nor broker. It says nothing about
other services: if another service is silent, a restart of this program does not help.
"""

from __future__ import annotations

import time
from pathlib import Path

from django.conf import settings

SECONDS = 10.0

_touched_at = float("-inf")


def beat() -> None:
    """Called by a main loop, as often as it likes. Raises OSError if the file cannot be made."""
    global _touched_at  # noqa: PLW0603 # one value per process, as there is one file
    now = time.monotonic()
    if settings.PULSE_FILE and now - _touched_at >= SECONDS:
        Path(settings.PULSE_FILE).touch()
        _touched_at = now
