"""Finds the agent of a hostname, and the address where its pod listens."""

from __future__ import annotations

import asyncio
import logging
import time
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass

from django.conf import settings
from django.db import Error, connection
from django.utils import timezone
from psycopg_pool import PoolTimeout

from agents.models import Agent, DomainClaim, Status
from agents.pod.states import AgentState

log = logging.getLogger(__name__)

FRESH_SECONDS = 2.0
MAX_CACHED = 10_000
LOOKUP_THREADS = 4
LOOKUP_SECONDS = 2.0


# Any visitor can see these states. Only the owner sees why an agent is stopped, in the console.
STATES: dict[str, AgentState] = {
    Status.PROVISIONING: AgentState.STARTING,
    Status.FAILED: AgentState.FAILED,
    Status.STOPPED: AgentState.STOPPED,
}


@dataclass(frozen=True, slots=True)
class Address:
    """Where to send the request. `endpoint` is None when there is no pod to send it to; `state` then says why."""

    agent_id: str
    lang: str
    endpoint: str | None
    state: AgentState | None = None


def find(host: str) -> Address | None:
    """The agent of this hostname: `<slug>.<platform domain>`, or the owner's own domain if that may serve. None if
    there is none."""
    suffix = f".{settings.PLATFORM_DOMAIN}"
    agents = Agent.objects.live()
    if host.endswith(suffix):
        agents = agents.filter(slug=host.removesuffix(suffix))
    else:
        served = DomainClaim.objects.serving(timezone.now()).filter(domain=host)
        agents = agents.filter(pk__in=served.values("agent_id"))
    row = agents.values_list("id", "lang", "status", "endpoint_url").first()
    if row is None:
        return None
    agent_id, lang, status, endpoint = row
    if status == Status.RUNNING:
        return Address(agent_id, lang, endpoint)
    return Address(agent_id, lang, None, STATES.get(status))


class Addresses:
    """Finds addresses. An answer is used for FRESH_SECONDS, and longer while the database is away."""

    def __init__(self) -> None:
        self._threads = ThreadPoolExecutor(LOOKUP_THREADS, thread_name_prefix="lookup")
        self._known: dict[str, tuple[float, Address | None]] = {}

    async def of(self, host: str) -> Address | None:
        """The address of this host. Raises LookupError when it is not known and the database does not answer."""
        asked = time.monotonic()
        at, address = self._known.get(host, (float("-inf"), None))
        if asked - at < FRESH_SECONDS:
            return address
        try:
            lookup = asyncio.get_running_loop().run_in_executor(self._threads, _find_and_let_go, host)
            address = await asyncio.wait_for(lookup, LOOKUP_SECONDS)
        except (Error, PoolTimeout, TimeoutError) as error:
            log.warning("the database does not answer, answering from memory: %r", error)
            if at == float("-inf"):
                raise LookupError(host) from error
            return address
        if len(self._known) >= MAX_CACHED:
            self._known.clear()
        self._known[host] = (asked, address)
        return address

    def close(self) -> None:
        self._threads.shutdown(wait=False, cancel_futures=True)


def _find_and_let_go(host: str) -> Address | None:
    try:
        return find(host)
    finally:
        connection.close()
