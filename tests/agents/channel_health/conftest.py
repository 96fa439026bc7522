"""A running agent with Telegram, with a real gateway and a scripted engine."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

import pytest
from django.utils import timezone

from accounts import letters
from accounts.models import Letter
from agents.channel_health import looking
from agents.configuring import llm_key
from agents.models import Agent, Reason, Transition
from tests.agents.conftest import GatewayOf, MakeAgent, settle
from tests.agents.pod.gateway.process import GatewayProcess
from tests.doubles.bridge import BridgeDouble

TOKEN = "4711081500:AAbot-token-of-the-owners-telegram-bot"
KEY = "sk-real-0123456789abcdefghijkl"
REFUSED = "the service refuses the bot's token"
MakeListening = Callable[..., Agent]


@pytest.fixture
def make_listening(make_agent: MakeAgent) -> MakeListening:
    """Make an agent with a model key and Telegram. Its pod has no gateway yet."""

    def make(**wanted: Any) -> Agent:
        telegram = {"channels": ["web", "telegram"], "channel_secrets": {"telegramToken": TOKEN}}
        agent = settle(make_agent(**{"engine": "hermes", "tier": "small", **telegram, **wanted}))
        agent = settle(llm_key.install(agent, provider="openai", key=KEY))
        Agent.objects.filter(pk=agent.pk).update(llm_key_checked=True)
        return agent

    return make


def serve(agent: Agent, gateway_of: GatewayOf, bridge: BridgeDouble, **given: Any) -> GatewayProcess:
    """Start a gateway for the agent. Gateway and engine have the agent's present configuration."""
    agent.refresh_from_db()
    bridge.revision = agent.spec_revision
    bridge.channels = {"web": None, **dict.fromkeys(agent.channels)}
    secrets = {"channel_secrets": agent.channel_secrets, "llm_key": agent.llm_key}
    return gateway_of(agent, revision=agent.spec_revision, channels=agent.channels, **secrets, **given)


@pytest.fixture
def listening(make_listening: MakeListening, gateway_of: GatewayOf, bridge: BridgeDouble) -> Agent:
    agent = make_listening()
    serve(agent, gateway_of, bridge)
    return agent


@dataclass
class MinuteWatch:
    """The look of each minute. Between two looks the time stands still."""

    now: datetime

    def minutes(self, count: int) -> None:
        """Let this many minutes pass. Looks once now and once after each minute."""
        self.look()
        for _ in range(count):
            self.now += timedelta(minutes=1)
            self.look()

    def look(self) -> int:
        return looking.look_at_due(self.now)


@pytest.fixture
def watch() -> MinuteWatch:
    """Its first minute is after the test has made its agents."""
    return MinuteWatch(timezone.now() + timedelta(minutes=1))


def told(agent: Agent) -> list[str]:
    """The timeline's notes about channels, oldest first."""
    rows = Transition.objects.filter(agent=agent, reason=Reason.CHANNEL).order_by("at", "id")
    return list(rows.values_list("note", flat=True))


def mailed() -> list[str]:
    """Send the mails that are due. Returns the subjects of all mails in the queue."""
    letters.send_due(now=timezone.now())
    return list(Letter.objects.order_by("written_at").values_list("subject", flat=True))
