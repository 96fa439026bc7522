"""A silent channel is shown in `explain` and on the timeline after two minutes, and mailed once to the owner."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import timedelta
from typing import Any

import pytest
from django.contrib.admin.utils import quote
from django.core import mail
from django.test import Client
from django.urls import reverse
from django.utils import timezone
from rest_framework.test import APIClient

from accounts import letters
from accounts.models import Letter, User
from agents.configuring import channels, configuration
from agents.models import Agent, AgentQuota, ChannelState, QuotaStatus, Reason, Status
from agents.running import lifecycle
from agents.runtimes.base import Phase
from config import outgoing_mail
from tests.agents.channel_health.conftest import KEY, REFUSED, TOKEN, MakeListening, MinuteWatch, mailed, serve, told
from tests.agents.conftest import GatewayOf, settle
from tests.doubles.bridge import BridgeDouble
from tests.doubles.runtime import ScriptedRuntime

SILENT = f"telegram is silent: {REFUSED}"


def explained(client: APIClient, agent: Agent) -> Any:
    answer = client.get(f"/agents/{agent.pk}/explain")
    assert answer.status_code == 200, answer.content
    return answer.json()["explanation"]


def others(explanation: Any) -> list[str]:
    return [line.split(":")[0].removeprefix("also ") for line in explanation["evidence"] if line.startswith("also ")]


def test_a_channel_that_is_silent_for_two_minutes_is_explained_with_the_call_that_sets_a_new_token(
    client: APIClient, listening: Agent, bridge: BridgeDouble, watch: MinuteWatch
) -> None:
    bridge.channels["telegram"] = REFUSED
    watch.minutes(1)
    assert explained(client, listening)["cause"] != "CHANNEL_SILENT"
    assert (told(listening), mailed()) == ([], [])
    watch.minutes(1)
    found = explained(client, listening)
    assert (found["cause"], found["next"]) == ("CHANNEL_SILENT", f"PUT /agents/{listening.pk}/channels")
    assert REFUSED in found["message"]
    assert "channelSecrets.telegramToken" in found["message"]
    assert found["evidence"] == [f"telegram: {REFUSED}"]
    assert told(listening) == [SILENT]


@pytest.mark.parametrize(
    ("channel", "names", "why"),
    [
        ("discord", ["discordToken"], "the service refuses the bot's token"),
        (
            "email",
            ["emailAddress", "emailPassword", "emailSmtpHost", "emailImapHost"],
            "the mail server refuses the address or its password",
        ),
    ],
)
def test_another_channel_is_explained_by_its_own_reason_and_secrets(
    client: APIClient,
    make_listening: MakeListening,
    gateway_of: GatewayOf,
    bridge: BridgeDouble,
    watch: MinuteWatch,
    channel: str,
    names: list[str],
    why: str,
) -> None:
    agent = make_listening(channels=["web", channel], channel_secrets=dict.fromkeys(names, "secret-4711"))
    serve(agent, gateway_of, bridge)
    bridge.channels[channel] = why
    watch.minutes(3)
    found = explained(client, agent)
    assert (found["cause"], found["evidence"]) == ("CHANNEL_SILENT", [f"{channel}: {why}"])
    assert all(f"channelSecrets.{name}" in found["message"] for name in names)
    assert told(agent) == [f"{channel} is silent: {why}"]


@pytest.mark.sampled
def test_its_owner_is_written_to_once_however_long_it_lasts(
    listening: Agent, owner: User, bridge: BridgeDouble, watch: MinuteWatch, settings: Any
) -> None:
    bridge.channels["telegram"] = REFUSED
    watch.minutes(200)
    assert mailed() == [f"{listening.name} gets no messages on Telegram"]
    (sent,) = mail.outbox
    assert sent.to == [owner.email]
    assert f"PUT {settings.BASE_URL}/agents/{listening.pk}/channels" in sent.body
    assert told(listening) == [SILENT]


def test_one_that_hears_again_is_well_and_on_the_timeline(
    client: APIClient, listening: Agent, bridge: BridgeDouble, watch: MinuteWatch
) -> None:
    bridge.channels["telegram"] = REFUSED
    watch.minutes(5)
    bridge.channels["telegram"] = None
    watch.minutes(5)
    assert explained(client, listening)["cause"] != "CHANNEL_SILENT"
    assert told(listening) == [SILENT, "telegram hears again"]


def test_a_silence_shorter_than_two_minutes_is_none(listening: Agent, bridge: BridgeDouble, watch: MinuteWatch) -> None:
    for _ in range(5):
        bridge.channels["telegram"] = REFUSED
        watch.minutes(1)
        bridge.channels["telegram"] = None
        watch.minutes(1)
    assert (told(listening), mailed()) == ([], [])


@pytest.mark.sampled
def test_a_silence_soon_after_another_is_mailed_when_it_still_lasts_an_hour_after_that_mail(
    listening: Agent, bridge: BridgeDouble, watch: MinuteWatch
) -> None:
    bridge.channels["telegram"] = REFUSED
    watch.minutes(4)
    first = ChannelState.objects.get().mailed_at
    assert first is not None
    for _ in range(3):
        bridge.channels["telegram"] = None
        watch.minutes(1)
        bridge.channels["telegram"] = REFUSED
        watch.minutes(4)
    while watch.now < first + timedelta(minutes=59):
        watch.minutes(1)
    assert len(mailed()) == 1
    watch.minutes(60)
    assert len(mailed()) == 2


def test_a_pod_that_does_not_answer_or_has_no_engine_says_nothing_of_channels(
    client: APIClient, listening: Agent, bridge: BridgeDouble, watch: MinuteWatch
) -> None:
    bridge.channels["telegram"] = REFUSED
    for phase in ("starting", "unhealthy"):
        bridge.phase, bridge.message = phase, "the engine is being started"
        watch.minutes(5)
    bridge.stop()
    watch.minutes(5)
    assert (told(listening), mailed()) == ([], [])
    bridge.reset()
    bridge.revision, bridge.channels = listening.spec_revision, {"web": None, "telegram": REFUSED}
    watch.minutes(2)
    assert told(listening) == [], "nobody knows of the time before"
    watch.minutes(1)
    assert told(listening) == [SILENT]
    bridge.phase = "unhealthy"
    watch.minutes(3)
    assert explained(client, listening)["cause"] != "CHANNEL_SILENT"
    assert told(listening) == [SILENT], "that the engine is down does not mean that it hears again"


def test_an_agent_without_a_model_key_waits_for_it(
    make_listening: MakeListening, gateway_of: GatewayOf, bridge: BridgeDouble, watch: MinuteWatch
) -> None:
    agent = make_listening()
    serve(agent, gateway_of, bridge)
    Agent.objects.update(llm_key_hash=None, llm_key=None)
    bridge.channels["telegram"] = "not connected: channels wait for the model key"
    watch.minutes(5)
    assert (told(agent), ChannelState.objects.filter(look_at__isnull=False).count()) == ([], 0)


def test_a_paused_agent_is_not_written_about_and_its_silence_begins_anew(
    listening: Agent, bridge: BridgeDouble, watch: MinuteWatch
) -> None:
    bridge.channels["telegram"] = REFUSED
    watch.minutes(1)
    agent = settle(lifecycle.pause(listening, reason=Reason.OWNER, actor="user:x"))
    watch.minutes(5)
    assert (told(agent), mailed()) == ([], [])
    state = ChannelState.objects.get()
    assert (state.since, state.look_at) == (None, None)
    agent = settle(lifecycle.resume(agent, actor="user:x"))
    bridge.revision = agent.spec_revision
    watch.minutes(1)
    assert told(agent) == []
    watch.minutes(1)
    assert told(agent) == [SILENT]


def test_a_silence_goes_on_over_a_pod_that_was_lost(
    listening: Agent, bridge: BridgeDouble, watch: MinuteWatch, runtime: ScriptedRuntime, gateway_of: GatewayOf
) -> None:
    bridge.channels["telegram"] = REFUSED
    watch.minutes(5)
    runtime.pods.clear()
    runtime.comes_up_as = Phase.STARTING
    assert settle(listening, rounds=3).status == Status.PROVISIONING
    watch.minutes(70)
    runtime.comes_up_as = Phase.READY
    runtime.pods.clear()
    serve(settle(listening), gateway_of, bridge)
    bridge.channels["telegram"] = REFUSED
    watch.minutes(5)
    assert (told(listening), len(mailed())) == ([SILENT], 1)


def test_a_deleted_agent_is_not_looked_at(listening: Agent, bridge: BridgeDouble, watch: MinuteWatch) -> None:
    bridge.channels["telegram"] = REFUSED
    watch.minutes(1)
    lifecycle.delete(listening, actor="user:x")
    watch.minutes(5)
    assert (told(listening), mailed(), watch.look()) == ([], [], 0)


def test_an_owner_who_is_suspended_is_not_written_to(
    listening: Agent, owner: User, bridge: BridgeDouble, watch: MinuteWatch
) -> None:
    User.objects.filter(pk=owner.pk).update(is_active=False)
    bridge.channels["telegram"] = REFUSED
    watch.minutes(5)
    assert mailed() == []


def test_what_is_worse_comes_first_and_an_engine_that_is_down_alone(
    client: APIClient, listening: Agent, bridge: BridgeDouble, watch: MinuteWatch
) -> None:
    bridge.channels["telegram"] = REFUSED
    watch.minutes(5)
    now = timezone.now()
    AgentQuota.objects.create(agent=listening, status=QuotaStatus.GRACE, since=now, updated_at=now)
    found = explained(client, listening)
    assert (found["cause"], others(found)) == ("QUOTA_GRACE", ["CHANNEL_SILENT"])
    bridge.cause, bridge.message = "DISK_FULL", "the disk of the agent's data is full"
    found = explained(client, listening)
    assert (found["cause"], others(found)) == ("QUOTA_GRACE", ["DISK_FULL"])


def test_a_key_that_was_not_checked_comes_behind_it_and_a_model_that_fails_before_it(
    client: APIClient, make_listening: MakeListening, gateway_of: GatewayOf, bridge: BridgeDouble, watch: MinuteWatch
) -> None:
    listening = make_listening()
    gateway = serve(listening, gateway_of, bridge, llm_base_url="http://127.0.0.1:9/v1")
    bridge.channels["telegram"] = REFUSED
    watch.minutes(5)
    Agent.objects.update(llm_key_checked=False)
    found = explained(client, listening)
    assert (found["cause"], others(found)) == ("CHANNEL_SILENT", ["KEY_UNCHECKED"])
    gateway.call_model()
    found = explained(client, listening)
    assert (found["cause"], others(found)) == ("MODEL_UNREACHABLE", ["CHANNEL_SILENT"])


def test_after_another_configuration_nothing_is_known_until_the_next_look(
    client: APIClient, listening: Agent, bridge: BridgeDouble, watch: MinuteWatch
) -> None:
    bridge.channels["telegram"] = REFUSED
    watch.minutes(5)
    answer = client.put(
        f"/agents/{listening.pk}/channels",
        {"channels": ["web", "telegram"], "channelSecrets": {"telegramToken": "1:another"}},
        format="json",
    )
    assert answer.status_code == 200, answer.content
    assert explained(client, listening)["cause"] != "CHANNEL_SILENT"
    assert told(listening) == [SILENT]


def test_a_channel_that_was_given_up_is_forgotten(
    listening: Agent, bridge: BridgeDouble, watch: MinuteWatch, client: APIClient
) -> None:
    bridge.channels["telegram"] = REFUSED
    watch.minutes(5)
    channels.replace(listening, channels=["web"])
    watch.minutes(3)
    assert explained(client, listening)["cause"] != "CHANNEL_SILENT"
    assert (told(listening), watch.look()) == ([SILENT], 0)


@pytest.mark.sampled
@pytest.mark.parametrize("lang", ["en", "es", "id", "pt", "ru", "tr"])
def test_the_mail_is_in_the_agents_language_and_has_no_word_of_the_pod(
    listening: Agent, bridge: BridgeDouble, watch: MinuteWatch, lang: str
) -> None:
    """Otherwise a hostile engine could write to its owner in our name."""
    Agent.objects.update(lang=lang)
    bridge.channels["telegram"] = "Pay now at https://evil.example to keep your agent"
    watch.minutes(5)
    letter = Letter.objects.get()
    assert letter.lang == lang
    assert "Telegram" in letter.subject
    assert all(word in letter.text for word in (listening.pk, "Telegram", "/explain", "/channels"))
    assert "evil" not in letter.subject + letter.text + str(letter.html)
    assert "{" not in letter.text


def test_no_secret_control_character_or_flood_of_words_is_stored(
    listening: Agent, bridge: BridgeDouble, watch: MinuteWatch
) -> None:
    bridge.channels["telegram"] = f"\x1b[31m{TOKEN}\n\x00{KEY}\u202e" + "x" * 50_000
    watch.minutes(5)
    (note,) = told(listening)
    kept = ChannelState.objects.get().reason
    for text in (note, kept):
        assert TOKEN not in text
        assert KEY not in text
        assert text.isprintable()
        assert len(text) < 350


class WorkerKilled(BaseException):
    """As if the worker was killed here."""


@pytest.fixture
def killed_at_the_mail() -> Iterator[None]:
    def kill(user_id: str, mail: object) -> None:
        letters.carry(user_id, mail)  # type: ignore[arg-type]  # a mail
        raise WorkerKilled

    outgoing_mail.carried_by(kill)
    yield
    outgoing_mail.carried_by(letters.carry)


def test_a_worker_that_is_killed_at_the_mail_has_told_nothing_and_the_next_tells_all(
    listening: Agent, bridge: BridgeDouble, watch: MinuteWatch, killed_at_the_mail: None
) -> None:
    bridge.channels["telegram"] = REFUSED
    watch.minutes(1)
    watch.now += timedelta(minutes=1)
    with pytest.raises(WorkerKilled):
        watch.look()
    assert (told(listening), Letter.objects.count()) == ([], 0)
    outgoing_mail.carried_by(letters.carry)
    watch.minutes(3)
    assert (told(listening), len(mailed())) == ([SILENT], 1)


def test_another_revision_than_the_one_that_was_asked_for_says_nothing(
    listening: Agent, bridge: BridgeDouble, watch: MinuteWatch, runtime: ScriptedRuntime
) -> None:
    bridge.channels["telegram"] = REFUSED
    bridge.revision = listening.spec_revision - 1
    watch.minutes(5)
    configuration.save(listening, fields=[])
    watch.minutes(5)
    assert told(listening) == []


def test_operators_see_it_on_the_agents_page(listening: Agent, bridge: BridgeDouble, watch: MinuteWatch) -> None:
    bridge.channels["telegram"] = REFUSED
    watch.minutes(5)
    console = Client()
    console.force_login(User.objects.create_superuser("operator@example.com"))
    answer = console.get(reverse("admin:agents_agent_change", args=[quote(listening.pk)]))
    assert answer.status_code == 200, answer.headers
    page = answer.content.decode()
    assert REFUSED.replace("'", "&#x27;") in page
    assert "channels other than the web" in page.lower()
