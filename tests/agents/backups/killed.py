"""The backup or restore of a pod's bridge, as a program that tests can kill."""

from __future__ import annotations

import asyncio
import json
import sys
from pathlib import Path
from typing import Any

from agents.pod.bridge import backup
from agents.pod.bridge.data_swap import DataSwap
from agents.pod.bridge.restoring import Restoring


async def _restore(source: backup.BackupSource, order: backup.PodOrder) -> None:
    exchange = DataSwap(source.data)
    exchange.settle(order.id)
    restoring = Restoring(order.id, lambda: source, exchange)
    task = asyncio.create_task(restoring.restore())
    await asyncio.sleep(0)
    restoring.take(order)
    await task


def main() -> None:
    given: dict[str, Any] = json.load(sys.stdin)
    source = backup.BackupSource(
        data=Path(given["data"]),
        left_out=(),
        program=Path(given["program"]),
        cache=Path(given["cache"]),
        remembered=dict,
        marks={},
    )
    order = backup.PodOrder(**given["order"])
    if given["what"] == "restore":
        asyncio.run(_restore(source, order))
        return
    taken = asyncio.run(backup.take(source, order, backup.BackupProgress()))
    sys.stdout.write(taken.snapshot)


if __name__ == "__main__":
    main()
