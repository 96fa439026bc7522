"""Meta's webhook: `/agents/{id}/channels/whatsapp`."""

from __future__ import annotations

import tracemalloc
from typing import Any

import pytest
from rest_framework.test import APIClient

from agents.inbound import taking
from agents.inbound.models import InboundMessage
from agents.models import Agent, Reason
from agents.running import lifecycle
from tests.agents.conftest import settle
from tests.agents.inbound.conftest import APP_SECRET, SECRETS, VERIFY_TOKEN, bring, call_of, text

ASKED = {"hub.mode": "subscribe", "hub.verify_token": VERIFY_TOKEN, "hub.challenge": "1158201444"}


def handshake(agent: Agent, **changes: str) -> Any:
    asked = {**ASKED, **{f"hub.{name}": value for name, value in changes.items()}}
    return APIClient().get(f"/agents/{agent.id}/channels/whatsapp", asked)


def names() -> list[str]:
    return list(InboundMessage.objects.values_list("name", flat=True))


def test_the_handshake_gives_the_challenge_back_as_it_came(agent: Agent) -> None:
    answer = handshake(agent)
    assert (answer.status_code, answer.content) == (200, b"1158201444")
    assert answer["Content-Type"].startswith("text/plain")


@pytest.mark.parametrize(
    ("changes", "status"),
    [
        ({"verify_token": "another"}, 403),
        ({"verify_token": ""}, 403),
        ({"verify_token": "ключ"}, 403),
        ({"mode": "unsubscribe"}, 400),
        ({"challenge": ""}, 400),
        ({"challenge": "<script>" * 100}, 400),
        ({"challenge": "a\nb"}, 400),
    ],
)
def test_a_handshake_that_is_not_right_is_refused(agent: Agent, changes: dict[str, str], status: int) -> None:
    assert handshake(agent, **changes).status_code == status


def test_a_message_is_kept_once_however_often_meta_brings_it(agent: Agent) -> None:
    for _ in range(3):
        assert bring(agent, call_of(text("wamid.1"), text("wamid.2", "again"))).status_code == 200
    assert names() == ["wamid.1", "wamid.2"]


def test_a_message_lies_encrypted(agent: Agent) -> None:
    bring(agent, call_of(text("wamid.1", "my secret is Rosebud")))
    (stored,) = InboundMessage.objects.extra(select={"raw": "body"}).values_list("raw", flat=True)
    assert "Rosebud" not in stored


@pytest.mark.parametrize("signature", ["sha256=" + "0" * 64, "", "sha1=abc", "sha256=ключ", "x" * 5_000])
def test_what_is_not_signed_with_the_apps_secret_is_refused(agent: Agent, signature: str) -> None:
    assert bring(agent, call_of(text("wamid.1")), signature=signature or " ").status_code == 403
    assert names() == []


def test_an_agent_without_the_apps_secret_takes_nothing(agent: Agent) -> None:
    """An agent of an earlier release may have no secret. A signature made with an empty secret is not valid."""
    without = {name: value for name, value in SECRETS.items() if name != "whatsappAppSecret"}
    Agent.objects.filter(pk=agent.pk).update(channel_secrets=without)
    assert bring(agent, call_of(text("wamid.1")), secret="").status_code == 403


@pytest.mark.parametrize("channels", [["web"], ["web", "telegram"]])
def test_an_agent_without_the_channel_is_unknown(agent: Agent, channels: list[str]) -> None:
    Agent.objects.filter(pk=agent.pk).update(channels=channels)
    assert bring(agent, call_of(text("wamid.1"))).status_code == 404
    assert handshake(agent).status_code == 404


def test_a_deleted_agent_is_unknown_and_its_messages_are_forgotten(agent: Agent) -> None:
    bring(agent, call_of(text("wamid.1")))
    settle(lifecycle.delete(agent, actor="test", reason=Reason.OWNER))
    assert bring(agent, call_of(text("wamid.2"))).status_code == 404
    assert names() == []


@pytest.mark.parametrize(
    "call",
    [
        call_of(text("wamid.1"), phone="another number of the same app"),
        call_of(statuses=[{"id": "wamid.1", "status": "read"}]),
        {"object": "page", "entry": []},
        {"object": "whatsapp_business_account"},
        {"object": "whatsapp_business_account", "entry": [1, None, {"changes": "x"}]},
        {"object": "whatsapp_business_account", "entry": [{"changes": [{"field": "messages", "value": []}]}]},
        call_of({"from": "1"}, {"id": 7}, {"id": ""}, {"id": "x" * 201}),
        call_of({"id": "wamid.1\nwamid.2"}, {"id": "a b"}, {"id": "ключ"}, {"id": "\x7f"}),
        [1, 2],
        "text",
    ],
)
def test_news_that_are_no_message_to_this_agent_are_taken_and_forgotten(agent: Agent, call: Any) -> None:
    assert bring(agent, call).status_code == 200
    assert names() == []


@pytest.mark.parametrize("body", [b"no json", b"[" * 5_000, b"\xff\xfe", b""])
def test_a_signed_body_that_is_no_json_is_refused(agent: Agent, body: bytes) -> None:
    assert bring(agent, body).status_code == 400


def test_a_body_beyond_256_kib_is_refused(agent: Agent) -> None:
    assert bring(agent, b" " * (256 * 1024 + 1)).status_code == 413


def test_a_call_of_more_messages_than_meta_bundles_is_refused_whole(agent: Agent) -> None:
    assert bring(agent, call_of(*(text(f"wamid.{number}") for number in range(101)))).status_code == 400
    assert names() == []


def test_a_call_of_thousands_of_messages_costs_little(agent: Agent) -> None:
    """If each message kept a copy of the rest of the call, 250 KiB would become gigabytes."""
    call = call_of(*({"id": str(number)} for number in range(2_000)), more="x" * 200_000)
    tracemalloc.start()
    try:
        assert bring(agent, call).status_code == 400
        assert tracemalloc.get_traced_memory()[1] < 32 * 1024 * 1024
    finally:
        tracemalloc.stop()


def test_more_than_the_agent_can_hold_come_again_later(agent: Agent, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(taking, "WAITING_AT_MOST", 2)
    assert bring(agent, call_of(text("wamid.1"), text("wamid.2"))).status_code == 200
    full = bring(agent, call_of(text("wamid.3")))
    assert (full.status_code, full["Retry-After"]) == (503, "60")
    assert names() == ["wamid.1", "wamid.2"]


def test_the_channel_needs_all_four_secrets(client: APIClient, agent: Agent) -> None:
    Agent.objects.filter(pk=agent.pk).update(channel_secrets={})
    for name in SECRETS:
        given = {key: value for key, value in SECRETS.items() if key != name}
        refused = client.put(
            f"/agents/{agent.id}/channels", {"channels": ["whatsapp"], "channelSecrets": given}, format="json"
        )
        assert refused.status_code == 400
        assert refused.json()["message"].startswith(f"channelSecrets.{name}: ")
    taken = client.put(
        f"/agents/{agent.id}/channels", {"channels": ["whatsapp"], "channelSecrets": SECRETS}, format="json"
    )
    assert taken.status_code == 200
    assert APP_SECRET not in taken.content.decode()
