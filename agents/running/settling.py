"""Waiting until an agent has settled: what was asked for has happened, or has failed.

All who wait in one event loop share its looks at the database, so a thousand who wait cost as much as one.
"""

from __future__ import annotations

import asyncio
import logging
from collections import defaultdict
from weakref import WeakKeyDictionary

from django.db import Error, connection
from psycopg_pool import PoolTimeout

from agents.models import UNSETTLED, Agent

log = logging.getLogger(__name__)

LOOK_SECONDS = 0.25


def has_settled(agent_id: str) -> bool:
    return not Agent.objects.filter(UNSETTLED, pk=agent_id).exists()


async def until_settled(agent_id: str, *, seconds: float) -> None:
    """Wait until the agent has settled, `seconds` at most."""
    loop = asyncio.get_running_loop()
    await _lookers.setdefault(loop, _Looker()).wait(agent_id, seconds=seconds)


class _Looker:
    """Those who wait in one event loop."""

    def __init__(self) -> None:
        self._waiting: dict[str, set[asyncio.Event]] = defaultdict(set)
        self._looking: asyncio.Task[None] | None = None

    async def wait(self, agent_id: str, *, seconds: float) -> None:
        settled = asyncio.Event()
        self._waiting[agent_id].add(settled)
        if self._looking is None or self._looking.done():
            self._looking = asyncio.create_task(self._look())
        try:
            async with asyncio.timeout(seconds):
                await settled.wait()
        except TimeoutError:
            log.debug("an agent has not settled yet", extra={"agent": agent_id})
        finally:
            self._forget(agent_id, settled)

    def _forget(self, agent_id: str, settled: asyncio.Event) -> None:
        others = self._waiting.get(agent_id, set())
        others.discard(settled)
        if not others:
            self._waiting.pop(agent_id, None)

    async def _look(self) -> None:
        while self._waiting:
            await asyncio.sleep(LOOK_SECONDS)
            for agent_id in await asyncio.to_thread(_settled, list(self._waiting)):
                for settled in self._waiting.pop(agent_id, set()):
                    settled.set()


_lookers: WeakKeyDictionary[asyncio.AbstractEventLoop, _Looker] = WeakKeyDictionary()


def _settled(agent_ids: list[str]) -> list[str]:
    """Those of these agents that have settled; runs in a thread. None of them while the database is away."""
    try:
        return list(Agent.objects.filter(pk__in=agent_ids).exclude(UNSETTLED).values_list("pk", flat=True))
    except (Error, PoolTimeout) as error:
        log.info("nobody who waits hears anything for a moment", extra={"error": repr(error)})
        return []
    finally:
        connection.close()
