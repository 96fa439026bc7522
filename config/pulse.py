"""A sign of life: a file that a program touches as long as its main loop turns.

Who watches the program looks at the file's age (the chart's probes). That costs nothing, needs neither database nor
broker, and says nothing of what the program speaks with: another's silence is no reason to start this one again.
"""

from __future__ import annotations

import time
from pathlib import Path

from django.conf import settings

SECONDS = 10.0

_touched_at = float("-inf")


def beat() -> None:
    """To be called by a main loop, as often as it likes. Raises OSError where the file cannot be made."""
    global _touched_at  # noqa: PLW0603 # of this process, as the file is
    now = time.monotonic()
    if settings.PULSE_FILE and now - _touched_at >= SECONDS:
        Path(settings.PULSE_FILE).touch()
        _touched_at = now
