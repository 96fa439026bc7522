"""Waiting messages are handed over to the engine in their order, again and again until their turn is over."""

from __future__ import annotations

import json
from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta

import pytest
import time_machine
from django.db import connection
from django.utils import timezone

from agents import tasks
from agents.inbound import handing_over
from agents.inbound.models import InboundMessage
from agents.models import Agent, Reason, Transition
from agents.running import lifecycle
from tests.agents.conftest import GatewayOf, MakeAgent, settle
from tests.agents.inbound.conftest import bring, call_of, text
from tests.doubles.bridge import BridgeDouble

pytestmark = pytest.mark.django_db(transaction=True)  # agents are served in threads


def brought(bridge: BridgeDouble) -> list[str]:
    return [message["name"] for message in bridge.messages]


def waiting() -> list[str]:
    return list(InboundMessage.objects.filter(due_at__isnull=False).values_list("name", flat=True))


def after(seconds: float) -> int:
    return handing_over.hand_over_due(timezone.now() + timedelta(seconds=seconds))


def test_messages_reach_the_engine_in_their_order_and_are_forgotten_when_their_turn_is_over(
    agent: Agent, gateway_of: GatewayOf, bridge: BridgeDouble
) -> None:
    gateway_of(agent)
    bring(agent, call_of(text("wamid.1", "first"), text("wamid.2", "second")))
    bridge.over = {"wamid.1", "wamid.2"}
    tasks.hand_over_messages()
    assert brought(bridge) == ["wamid.1", "wamid.2"]
    assert {message["channel"] for message in bridge.messages} == {"whatsapp"}
    bodies = [json.loads(message["body"]) for message in bridge.messages]
    told = [body["entry"][0]["changes"][0]["value"]["messages"] for body in bodies]
    assert [[one["text"]["body"] for one in messages] for messages in told] == [["first"], ["second"]]
    assert waiting() == []
    assert set(InboundMessage.objects.values_list("body", "ended")) == {(None, "handed_over")}
    bring(agent, call_of(text("wamid.1", "first")))
    assert after(3600) == 0
    assert brought(bridge) == ["wamid.1", "wamid.2"]


def test_a_turn_that_runs_is_asked_for_again_until_it_is_over(
    agent: Agent, gateway_of: GatewayOf, bridge: BridgeDouble
) -> None:
    gateway_of(agent)
    bring(agent, call_of(text("wamid.1")))
    tasks.hand_over_messages()
    assert waiting() == ["wamid.1"]
    assert after(1) == 0
    bridge.over = {"wamid.1"}
    assert after(4) == 1
    assert (brought(bridge), waiting()) == (["wamid.1", "wamid.1"], [])


def test_while_the_engine_restarts_messages_wait_and_keep_their_order(
    agent: Agent, gateway_of: GatewayOf, bridge: BridgeDouble
) -> None:
    gateway_of(agent)
    bridge.takes_none = "the engine is being started"
    bring(agent, call_of(text("wamid.1")))
    tasks.hand_over_messages()
    bring(agent, call_of(text("wamid.2")))
    assert after(1) == 0
    bridge.takes_none, bridge.over = None, {"wamid.1", "wamid.2"}
    assert after(5) == 1
    assert brought(bridge) == ["wamid.1", "wamid.1", "wamid.2"]
    assert waiting() == []


def test_a_message_that_the_engine_always_refuses_holds_up_those_behind_it_for_minutes_and_not_for_a_day(
    agent: Agent, gateway_of: GatewayOf, bridge: BridgeDouble
) -> None:
    gateway_of(agent)
    bridge.takes_never, bridge.over = {"wamid.1"}, {"wamid.2"}
    bring(agent, call_of(text("wamid.1"), text("wamid.2")))
    begun = timezone.now()
    while waiting() != ["wamid.1"]:
        due = InboundMessage.objects.get(name="wamid.1").due_at
        assert due
        assert due < begun + timedelta(minutes=3)
        handing_over.hand_over_due(due)
    assert brought(bridge) == [*["wamid.1"] * 6, "wamid.2"]
    after(24 * 3600 + 1)
    assert waiting() == []


def test_a_pod_that_is_gone_is_tried_more_and_more_rarely(agent: Agent) -> None:
    bring(agent, call_of(text("wamid.1")))
    waits = []
    for _ in range(8):
        row = InboundMessage.objects.get()
        assert row.due_at
        handing_over.hand_over_due(row.due_at)
        again = InboundMessage.objects.get()
        assert again.due_at
        waits.append((again.due_at - row.due_at).total_seconds())
    assert waits == [2, 4, 8, 16, 32, 60, 60, 60]


def test_a_stopped_agent_gets_its_messages_once_it_runs_again(
    agent: Agent, gateway_of: GatewayOf, bridge: BridgeDouble
) -> None:
    stopped = settle(lifecycle.pause(agent, reason=Reason.OWNER, actor="test"))
    bring(agent, call_of(text("wamid.1")))
    tasks.hand_over_messages()
    assert bridge.messages == []
    gateway_of(settle(lifecycle.resume(stopped, actor="test")))
    bridge.over = {"wamid.1"}
    assert after(120) == 1
    assert brought(bridge) == ["wamid.1"]


def test_what_nobody_takes_for_a_day_is_dropped_and_told_on_the_timeline(agent: Agent) -> None:
    bring(agent, call_of(text("wamid.1")))
    tasks.hand_over_messages()
    after(24 * 3600 + 1)
    assert waiting() == []
    (note,) = Transition.objects.filter(agent=agent, reason=Reason.CHANNEL).values_list("note", flat=True)
    assert "a message of whatsapp was dropped after a day" in note
    assert InboundMessage.objects.get().body is None


def test_an_agent_whose_pod_is_silent_holds_up_no_other(
    agent: Agent, gateway_of: GatewayOf, bridge: BridgeDouble
) -> None:
    gateway_of(agent)
    bring(agent, call_of(*(text(f"wamid.{number}") for number in range(5))))
    bridge.takes_none = "no"
    tasks.hand_over_messages()
    assert brought(bridge) == ["wamid.0"]


def test_names_are_forgotten_after_meta_has_stopped_to_bring_the_message(agent: Agent) -> None:
    bring(agent, call_of(text("wamid.1")))
    InboundMessage.objects.update(due_at=None, ended="handed_over", ended_at=timezone.now(), body=None)
    with time_machine.travel(timezone.now() + timedelta(days=7, hours=1), tick=False):
        tasks.forget_messages()
        assert InboundMessage.objects.count() == 1
    with time_machine.travel(timezone.now() + timedelta(days=8, hours=1), tick=False):
        tasks.forget_messages()
        assert InboundMessage.objects.count() == 0


def test_two_workers_at_once_hand_over_once(agent: Agent, gateway_of: GatewayOf, bridge: BridgeDouble) -> None:
    gateway_of(agent)
    names = [f"wamid.{number}" for number in range(10)]
    bring(agent, call_of(*map(text, names)))
    bridge.over = set(names)
    now = timezone.now()

    def work(_: int) -> int:
        try:
            return handing_over.hand_over_due(now)
        finally:
            connection.close()

    with ThreadPoolExecutor(4) as workers:
        assert sum(workers.map(work, range(4))) == 1
    assert brought(bridge) == names


def test_an_account_with_many_agents_has_a_few_of_them_served_in_one_run(
    agent: Agent, make_agent: MakeAgent, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(handing_over, "OF_ONE_ACCOUNT", 1)
    other = make_agent()
    Agent.objects.filter(pk=other.pk).update(channels=agent.channels, channel_secrets=agent.channel_secrets)
    bring(agent, call_of(text("wamid.1")))
    bring(other, call_of(text("wamid.2")))
    assert [after(1), after(1.5), after(1.6)] == [1, 1, 0]


def test_what_a_run_has_no_time_for_is_the_next_ones(
    agent: Agent, gateway_of: GatewayOf, bridge: BridgeDouble, monkeypatch: pytest.MonkeyPatch
) -> None:
    gateway_of(agent)
    bridge.over = {"wamid.1"}
    bring(agent, call_of(text("wamid.1")))
    with monkeypatch.context() as patch:
        patch.setattr(handing_over, "ROUND_SECONDS", -1.0)
        assert after(1) == 1
    assert bridge.messages == []
    assert after(1) == 1
    assert waiting() == []
