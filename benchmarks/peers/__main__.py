"""`make bench-peers`: measures ours and each peer, one after another, and writes the table into the docs.

`python -m benchmarks.peers creating` measures some parts, and only prints them.
"""

from __future__ import annotations

import json
import subprocess
import sys
import time
from datetime import UTC, datetime

from benchmarks import marked, stores
from benchmarks.__main__ import machine
from benchmarks.peers import installed, rows
from benchmarks.peers.rows import PeerFigure

PARTS = ("reads", "hub", "creating", "at_rest", "deliveries", "watching")


def main(parts: list[str]) -> int:
    installed.make()
    with stores.running() as mine:
        mine.prepare()
        figures = [figure for part in parts or PARTS for figure in _measured(part, mine)]
    when = datetime.now(tz=UTC).strftime("%d %b %Y")
    text = f"{rows.table(figures)}\n\nMeasured on {when}:\n{machine()}."
    print(text)
    if not parts:
        marked.write(marked.PERFORMANCE, text, command=rows.COMMAND)
    return 0


def _measured(part: str, mine: stores.BenchmarkStores) -> list[PeerFigure]:
    begun = time.monotonic()
    with mine.database(f"peers_{part}") as database:
        command = [sys.executable, "-m", "benchmarks.part", f"peers.{part}"]
        done = subprocess.run(command, env=mine.environment(database), stdout=subprocess.PIPE, check=True)
    print(f"{part}: {time.monotonic() - begun:.0f} s", file=sys.stderr, flush=True)
    return [PeerFigure(**figure) for figure in json.loads(done.stdout.splitlines()[-1])]


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
