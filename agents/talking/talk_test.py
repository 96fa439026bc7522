"""Tests which hop between a person and the model is silent: gateway, engine, model, then each channel."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from django.utils import timezone
from prometheus_client import Counter

from accounts.models import ApiKey
from agents.errors import WrongState
from agents.models import Agent, Desired, Status
from agents.pod.turns.failures import Hop, HopFailure
from agents.running import pods
from agents.runtimes import current_runtime, management
from agents.runtimes.management import TriedHop
from agents.spending import key_turns
from agents.talking import chat
from config import waiting

HOPS = ("gateway", "engine", "model")

TRIED = Counter("agentpods_talk_test_hops", "Hops that talk tests tried.", ["hop", "outcome"])


@dataclass(frozen=True, slots=True)
class TalkTest:
    hops: list[TriedHop]

    @property
    def ok(self) -> bool:
        return all(hop.ok for hop in self.hops)


def run(agent: Agent, *, key: ApiKey | None = None) -> TalkTest:
    """Send one word through every hop and wait for the answers. A silent hop is a result, not an error. `key` is the
    API key that asks for it.

    Works for an agent that failed or is still provisioning: there it helps most. Raises WrongState for a stopped agent,
    KeyLimitReached, and Unavailable when too many calls wait.
    """
    if agent.desired == Desired.STOPPED:
        paused = "stopped" if agent.status == Status.STOPPED else "being stopped"
        raise WrongState("talk-test", paused, f"POST /agents/{agent.id}/resume starts it")
    api_key = key_turns.begin(key, agent=agent, now=timezone.now())
    with waiting.turns.take(agent.user_id):
        started = time.monotonic()
        try:
            test = TalkTest(_tried(agent, api_key))
        except HopFailure as failure:
            test = _silent_gateway(agent, failure, ms=round((time.monotonic() - started) * 1000))
    for hop in test.hops:
        TRIED.labels(hop.hop if hop.hop in HOPS else "channel", "well" if hop.ok else "silent").inc()
    return test


def _tried(agent: Agent, api_key: Mapping[str, Any] | None) -> list[TriedHop]:
    """The tried hops. Raises HopFailure when the gateway itself is silent."""
    endpoint = current_runtime().endpoint(agent.namespace)
    if endpoint is None:
        raise HopFailure(Hop.GATEWAY, "the pod has no address")
    started = time.monotonic()
    access = pods.access_of(agent)
    health = management.health(endpoint, access)
    reached = TriedHop(hop="gateway", ok=True, ms=round((time.monotonic() - started) * 1000), error=None)
    if agent.status == Status.RUNNING and agent.llm_key_hash is not None and not health.has_key:
        asyncio.run(chat.await_key(endpoint, access))
    gateway, *others = management.talk_test(endpoint, access, api_key=api_key)
    return [reached if gateway.ok else gateway, *others]


def _silent_gateway(agent: Agent, failure: HopFailure, *, ms: int) -> TalkTest:
    """The result when the gateway is silent: no hop behind it can be tried. A known cause of the agent is added to the
    error, such as a port that is in use."""
    known = f"; {agent.cause}: {agent.cause_message}" if agent.cause else ""
    gateway = TriedHop(hop="gateway", ok=False, ms=ms, error=f"{failure.message}{known}")
    behind = [*HOPS[1:], *agent.channels]
    return TalkTest([gateway, *(TriedHop(hop, False, None, "not tried: the gateway is silent") for hop in behind)])
