"""Discord and e-mail of a real engine while the bot hears nobody: what the engine reports, and what its owner is told.

Each test begins with a channel that works. The pod is real, and the agent in the database uses its gateway.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from datetime import timedelta
from typing import Any

import pytest
from django.core import mail
from django.utils import timezone
from rest_framework.test import APIClient

from accounts import letters
from agents.channel_health import looking
from agents.configuring import llm_key
from agents.engines import ENGINES
from agents.engines.base import Engine
from agents.models import Agent
from agents.pod.turns.failures import HopFailure
from agents.runtimes import management
from tests.agents.conftest import MakeAgent, settle
from tests.agents.engines.conftest import ACCESS, REAL_KEY, EnginePod
from tests.agents.engines.test_discord import CHANNELS as ON_DISCORD
from tests.agents.engines.test_mail import channels
from tests.agents.pod.bridge.process import eventually
from tests.doubles.discord import TOKEN, DiscordDouble
from tests.doubles.mailbox import PASSWORD, MailboxDouble
from tests.doubles.runtime import ScriptedRuntime

pytestmark = [pytest.mark.engines, pytest.mark.parametrize("engine", ["hermes"], indirect=True)]
TOLD_WITHIN = 120  # seconds; by then the engine must report the silence
STAYS_SECONDS = 15.0  # for this time, each look finds the channel silent
REFUSED_TOKEN = "the service refuses the bot's token"
REFUSED_PASSWORD = "the mail server refuses the address or its password"
DiscordTrouble = Callable[[DiscordDouble], None]
MailTrouble = Callable[[MailboxDouble], None]


@pytest.fixture
def engine(request: pytest.FixtureRequest) -> Engine:
    return ENGINES[request.param]


class ChannelOwner:
    """The owner of the agent with this pod. The owner is told the result of the look of each minute."""

    def __init__(self, client: APIClient, agent: Agent, pod: EnginePod, runtime: ScriptedRuntime) -> None:
        self.client, self.agent, self.channel = client, agent, agent.channels[-1]
        self.agent.management_token, self.agent.gateway_certificate = ACCESS.token, ACCESS.certificate
        self.agent.save(update_fields=["management_token", "gateway_certificate"])
        endpoint = pod.runtime.endpoint(pod.namespace)
        assert endpoint
        self._endpoint = runtime.addresses[agent.namespace] = endpoint
        self._now = timezone.now()
        self.heard: list[tuple[float, str | None]] = []

    def silence(self) -> str | None:
        """The reason for the silence now: None if the channel is heard, "" if the pod is too busy to answer."""
        time.sleep(1)
        try:
            said = management.channels(self._endpoint, ACCESS, wanted=["web", self.channel])[self.channel]
        except HopFailure:
            said = ""
        if not self.heard or self.heard[-1][1] != said:
            self.heard.append((time.monotonic(), said))
        return said

    def hears_people(self) -> None:
        eventually(lambda: self.silence() is None, within=90, what="the channel")
        assert self.explained() != "CHANNEL_SILENT"
        assert self.hop()["ok"]

    def is_told(self) -> list[str]:
        """Checks that the silence is found within two minutes and not lost again. Returns the reasons."""
        eventually(self.silence, within=TOLD_WITHIN, what="the silence")
        until = time.monotonic() + STAYS_SECONDS
        while time.monotonic() < until:
            assert self.silence() is not None, self.heard
        for _ in range(4):
            looking.look_at_due(self._now)
            self._now += timedelta(minutes=1)
        assert self.explained() == "CHANNEL_SILENT"
        assert not self.hop()["ok"]
        letters.send_due(now=timezone.now())
        assert [letter.to for letter in mail.outbox] == [[self.agent.user.email]]
        message = self.explanation()["message"]
        reasons = [reason for _, reason in self.heard if reason]
        assert any(reason in message for reason in reasons), (reasons, message)
        return reasons

    def explanation(self) -> dict[str, Any]:
        found: dict[str, Any] = self.client.get(f"/agents/{self.agent.pk}/explain").json()["explanation"]
        return found

    def explained(self) -> str:
        return str(self.explanation()["cause"])

    def hop(self) -> dict[str, Any]:
        """The channel's hop of the talk test. Checks that all other hops are well."""
        answer = self.client.post(f"/agents/{self.agent.pk}/talk-test").json()["talkTest"]
        hops: dict[str, dict[str, Any]] = {hop["hop"]: hop for hop in answer["hops"]}
        found = hops.pop(self.channel)
        assert all(hop["ok"] for hop in hops.values()), hops
        return found

    def is_told_of_no_secret(self, secret: str) -> None:
        shown = self.client.get(f"/agents/{self.agent.pk}/explain").content.decode()
        assert secret not in f"{shown}{self.hop()}{mail.outbox[0].body}{self.heard}"


@pytest.fixture
def owner_of(client: APIClient, make_agent: MakeAgent, runtime: ScriptedRuntime) -> Callable[..., ChannelOwner]:
    def made(pod: EnginePod, config: dict[str, Any]) -> ChannelOwner:
        wanted = {name: config[name] for name in ("channels", "channel_secrets")}
        agent = settle(make_agent(engine="hermes", tier="small", **wanted))
        agent = settle(llm_key.install(agent, provider="openai", key=REAL_KEY))
        Agent.objects.filter(pk=agent.pk).update(llm_key_checked=True)
        agent.refresh_from_db()
        return ChannelOwner(client, agent, pod, runtime)

    return made


def another_token(discord: DiscordDouble) -> None:
    discord.token = "another"
    discord.cut()


def no_answer(discord: DiscordDouble) -> None:
    discord.is_deaf = True


def no_server(discord: DiscordDouble) -> None:
    discord.vanish()


@pytest.mark.parametrize(
    ("trouble", "why"),
    [(another_token, REFUSED_TOKEN), (no_answer, "iscord"), (no_server, "Discord")],
    ids=["refused", "no answer", "gone"],
)
def test_an_agent_that_discord_does_not_hear_is_explained_and_mailed_once(
    pod: EnginePod,
    discord: DiscordDouble,
    owner_of: Callable[..., ChannelOwner],
    trouble: DiscordTrouble,
    why: str,
) -> None:
    pod.start(discord_api_url=discord.url, **ON_DISCORD)
    owner = owner_of(pod, ON_DISCORD)
    owner.hears_people()
    trouble(discord)
    reasons = owner.is_told()
    assert all(why in reason for reason in reasons), reasons
    owner.is_told_of_no_secret(TOKEN)
    if discord.is_deaf:
        discord.is_deaf = False
        eventually(lambda: owner.silence() is None, within=180, what="the channel")


def another_password(mailbox: MailboxDouble) -> None:
    mailbox.password = "another"


def silent_server(mailbox: MailboxDouble) -> None:
    mailbox.hangs.set()


def no_mail_server(mailbox: MailboxDouble) -> None:
    mailbox.stop()


@pytest.mark.parametrize(
    ("trouble", "why"),
    [
        (another_password, REFUSED_PASSWORD),
        (silent_server, "imed out"),
        (no_mail_server, "Connection refused"),
    ],
    ids=["refused", "no answer", "gone"],
)
def test_an_agent_that_reads_no_mail_is_explained_and_mailed_once(
    pod: EnginePod,
    mailbox: MailboxDouble,
    owner_of: Callable[..., ChannelOwner],
    trouble: MailTrouble,
    why: str,
) -> None:
    config = channels(mailbox)
    pod.start(**config)
    owner = owner_of(pod, config)
    eventually(lambda: mailbox.polls > 0, within=TOLD_WITHIN, what="the first look")
    owner.hears_people()
    trouble(mailbox)
    reasons = owner.is_told()
    assert all(why in reason for reason in reasons), reasons
    owner.is_told_of_no_secret(PASSWORD)
    if mailbox.hangs.is_set():
        mailbox.hangs.clear()
        eventually(lambda: owner.silence() is None, within=180, what="the channel")
