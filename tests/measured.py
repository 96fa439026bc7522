"""Which processes of the tests are measured for coverage: to measure one nearly doubles what its start costs."""

from __future__ import annotations

import os

_TOLD = "COVERAGE_PROCESS_"  # by which coverage measures a process that is started


def unmeasured() -> dict[str, str]:
    """This process's environment, for one that runs what other tests measure."""
    return {name: value for name, value in os.environ.items() if not name.startswith(_TOLD)}
