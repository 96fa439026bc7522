"""`python -m benchmarks.growth`: fills platforms with 1,000, 10,000 and 100,000 agents, measures the CPU of all that
repeats on them, and writes the table into the docs. Ends with 1 if idle work grows, or other work faster than agents.
"""

from __future__ import annotations

import json
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from datetime import UTC, datetime
from typing import IO, Any

from benchmarks import growth, marked, stores
from benchmarks.__main__ import machine
from benchmarks.growth import rows
from benchmarks.growth.costs import ROUNDS, SIZES, Growth, GrowthWork, WorkKind


class PlatformProcess:
    """The process of one size."""

    def __init__(self, process: subprocess.Popen[str]) -> None:
        assert process.stdin
        assert process.stdout
        self._asked: IO[str] = process.stdin
        self._said: IO[str] = process.stdout
        self.works = [GrowthWork(**work) for work in self._read()]

    def ms(self, name: str) -> float:
        self._asked.write(f"{name}\n")
        self._asked.flush()
        return float(self._read())

    def _read(self) -> Any:
        line = self._said.readline()
        if not line:
            raise RuntimeError("the process of one size ended, see above")
        return json.loads(line)


def main(asked: list[str]) -> int:
    """With `--only-print` the page stays as it is."""
    with stores.running() as mine, ExitStack() as stack:
        mine.prepare()
        # Its work follows what was written, but begins at any moment, so it would be in anybody's figures.
        mine.admin("alter system set autovacuum = off")
        mine.admin("select pg_reload_conf()")
        platforms = {agents: stack.enter_context(_platform(agents, mine)) for agents in SIZES}
        growths = [_grown(work, platforms) for work in platforms[SIZES[0]].works]
    text = _text(growths)
    print(text)
    if "--only-print" not in asked:
        marked.write(marked.PERFORMANCE, text, command=growth.COMMAND)
    return int(not all(each.is_well for each in growths))


@contextmanager
def _platform(agents: int, mine: stores.BenchmarkStores) -> Iterator[PlatformProcess]:
    with mine.database(f"growth_{agents}") as database:
        environment = {**mine.environment(database), **growth.PROVIDERS, growth.AGENTS: str(agents)}
        command = [sys.executable, "-m", "benchmarks.growth.size"]
        with subprocess.Popen(
            command, env=environment, text=True, stdin=subprocess.PIPE, stdout=subprocess.PIPE
        ) as process:
            yield PlatformProcess(process)


def _grown(work: GrowthWork, platforms: dict[int, PlatformProcess]) -> Growth:
    """The cheapest of the rounds, in which the sizes take turns: what else a machine does makes work cost more only."""
    work = GrowthWork(name=work.name, kind=WorkKind(work.kind), every=work.every)
    began = time.monotonic()
    rounds = [{agents: platform.ms(work.name) for agents, platform in platforms.items()} for _ in range(1 + ROUNDS)]
    found = Growth(work, {agents: min(each[agents] for each in rounds[1:]) for agents in platforms})
    shown = ", ".join(f"{ms:.2f}" for ms in found.ms.values())
    print(f"{work.name}: {shown} ms ({time.monotonic() - began:.0f} s)", file=sys.stderr, flush=True)
    return found


def _text(growths: Sequence[Growth]) -> str:
    when = datetime.now(tz=UTC).strftime("%d %b %Y")
    return f"{rows.table(growths)}\n\nMeasured on {when}:\n{machine()}."


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
