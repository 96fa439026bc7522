from __future__ import annotations

import subprocess
import sys

SAID = """
import resource
from config.run import files
print(files.allow({}), *resource.getrlimit(resource.RLIMIT_NOFILE))
"""


def allowed(wanted: int, *, soft: int, hard: int) -> list[int]:
    """The limits of a process that had these limits and asked for more."""
    command = f"ulimit -Sn {soft}; ulimit -Hn {hard}; exec {sys.executable} -c '{SAID.format(wanted)}'"
    said = subprocess.run(["/bin/sh", "-c", command], capture_output=True, text=True, check=True)
    return [int(number) for number in said.stdout.split()]


def test_a_server_gets_the_files_it_asks_for() -> None:
    assert allowed(800, soft=300, hard=900) == [800, 800, 900]


def test_a_server_gets_as_many_files_as_the_system_allows() -> None:
    assert allowed(2000, soft=300, hard=900) == [900, 900, 900]


def test_a_limit_that_is_high_enough_stays() -> None:
    assert allowed(500, soft=600, hard=900) == [600, 600, 900]
