"""Each client drives a running service with its usual calls: both halves of the Python SDK, and TypeScript."""

from __future__ import annotations

from contextlib import closing
from typing import Any

import pytest

from agentpods import Agentpods, ChatDelta, ChatDone, errors, types, webhooks
from agents.models import Agent
from tests.agents.conftest import PERSONA, GatewayOf, MakeAgent
from tests.doubles.bridge import BridgeDouble, line
from tests.doubles.receiver import Receiver
from tests.sdk.conftest import LiveService, Opens
from tests.sdk.driving.client import DrivenClient

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.unmeasured]


def test_an_agent_lives_its_life(each: DrivenClient, receiver: Receiver, gateway_of: GatewayOf) -> None:
    made = each.agents.create(personaId=PERSONA, tier="tiny", name="Ada", webhookUrl=receiver.url, wait=30)
    agent_id, secret = made["agent"]["id"], made["webhookSecret"]
    assert made["agent"]["status"] == "running"
    assert secret
    gateway_of(Agent.objects.get(pk=agent_id))
    _talks(each, agent_id)
    assert each.agents.explain(agent_id)["status"] == "running"
    assert each.agents.pause(agent_id, wait=30)["status"] == "stopped"
    with pytest.raises(errors.NotSettledError, match="still stopped, not running"):
        each.agents.wait(agent_id, seconds=0)
    each.agents.resume(agent_id)
    running = each.agents.wait(agent_id, seconds=60)
    assert running
    assert running["status"] == "running"
    assert each.webhooks.test(agent_id)["ok"] is True
    each.agents.delete(agent_id)
    assert each.agents.wait(agent_id, until="deleted", seconds=60) is None
    _is_genuine(each, receiver, secret)


def _talks(each: DrivenClient, agent: str) -> None:
    reply = each.agents.chat(agent, "hi", session_id="talk-1")
    assert reply == {"reply": "you said hi", "sessionId": "talk-1"}
    *deltas, done = each.agents.stream(agent, "ho\u2028ho", session_id="talk-1")
    assert "".join(one.text for one in deltas if isinstance(one, ChatDelta)) == "you said ho\u2028ho"
    assert done == ChatDone("you said ho\u2028ho", "talk-1")
    hey = {"role": "user", "content": "hey"}
    asked: types.CompletionRequestRequest = {"model": agent, "stream": True, "messages": [hey]}
    chunks = each.api.stream_complete_agent_chat(agent, asked)
    said = [chunk.data["choices"][0]["delta"].get("content") for chunk in chunks]
    assert "".join(filter(None, said)) == "you said hey"


def _is_genuine(each: DrivenClient, receiver: Receiver, secret: str) -> None:
    events = [each.verified(one.body, one.headers, secret=secret) for one in receiver.received]
    assert {event["type"] for event in events} >= {"agent.running", "agent.stopped", "test"}
    first = receiver.received[0]
    with pytest.raises(webhooks.NotGenuineError):
        each.verified(first.body + b" ", first.headers, secret=secret)


def test_what_an_owner_sets_is_read_again(each: DrivenClient, make_agent: MakeAgent, receiver: Receiver) -> None:
    agent = make_agent().pk
    assert each.agents.update(agent, name="Bo", extraSoul="Speak of owls.")["name"] == "Bo"
    assert each.agents.set_llm_key(agent, provider="openai", key="sk-0123456789abcdef")["llmProvider"] == "openai"
    assert each.api.set_agent_limits(agent, {"usdPerDay": 2.5})["limits"] == each.api.get_agent_limits(agent)["limits"]
    assert each.webhooks.set(agent, receiver.url)["secret"].startswith("whsec_")
    assert each.webhooks.test(agent)["ok"] is True
    told = next(iter(each.webhooks.deliveries(agent)))
    assert told["type"] == "test"
    assert each.webhooks.redeliver(agent, told["id"])["ok"] is True
    each.webhooks.delete(agent)
    listed = [one["id"] for one in each.events.list(agent)]
    assert [one["id"] for one in each.events.list(after=listed[0])] == listed[1:]
    assert each.agents.get(agent)["name"] == "Bo"


def test_events_are_followed_to_the_end_of_an_agent(each: DrivenClient, make_agent: MakeAgent) -> None:
    agent = make_agent().pk
    names = []
    for event in each.events.follow(agent):
        names.append(event.name)
        if event.name == "agent.running":
            each.agents.delete(agent)
    assert (names[0], names[-2:]) == ("agent.running", ["agent.deleted", "end"])


def test_a_log_is_read_and_followed(
    each: DrivenClient, make_agent: MakeAgent, gateway_of: GatewayOf, bridge: BridgeDouble
) -> None:
    agent = make_agent().pk
    each.agents.wait(agent)
    bridge.said = [line("first"), line("second")]
    gateway_of(Agent.objects.get(pk=agent))
    followed: Any = each.agents.follow_logs(agent)
    with closing(followed):
        told = (event.data["text"] for event in followed if event.name == "log")
        assert {next(told), next(told)} >= {"first"}
    assert {entry["text"] for entry in each.agents.logs(agent, limit=50)["logs"]} >= {"first", "second"}


def test_lists_are_read_to_their_end(each: DrivenClient, make_agent: MakeAgent) -> None:
    made = {make_agent(name=f"A{number}").pk for number in range(3)}
    assert {agent["id"] for agent in each.api.each_of_agents(limit=2)} == made
    assert {agent["id"] for agent in each.agents.list()} == made
    assert len(list(each.api.each_of_personas(limit=10))) == len(each.api.list_personas()["personas"])


def test_a_refusal_says_what_and_where(each: DrivenClient, opens: Opens, service: LiveService) -> None:
    with pytest.raises(errors.NotFoundError) as missing:
        each.agents.get("agt_nobody")
    assert (missing.value.status, missing.value.error) == (404, "NOT_FOUND")
    assert missing.value.message
    assert missing.value.request_id
    with pytest.raises(errors.BadRequestError, match="tier"):
        each.api.create_agent({"personaId": PERSONA, "tier": "huge"})  # type: ignore[typeddict-item]  # it is wrong
    with pytest.raises(ValueError, match=r"'?\.\.'? is no id|\"\.\.\" is no id"):
        each.agents.get("..")
    with pytest.raises(errors.NotFoundError):
        each.agents.wait("agt_nobody", until="settled")
    with opens(service.url, "ak_live_wrong") as nobody, pytest.raises(errors.UnauthorizedError) as refused:
        nobody.agents.get("agt_nobody")
    assert "ak_live_wrong" not in f"{refused.value!r} {nobody!r} {nobody.__dict__}"


def test_a_call_is_tried_without_doing_it(each: DrivenClient, make_agent: MakeAgent) -> None:
    agent = make_agent().pk
    tried = each.api.update_agent(agent, {"name": "Zoë & Żółć"}, dry_run=True)
    assert tried["agent"]["name"] == "Zoë & Żółć"
    each.api.delete_agent(agent, dry_run=True)
    assert each.agents.get(agent)["name"] != "Zoë & Żółć"


def test_a_repeat_with_the_same_key_makes_no_second_agent(each: DrivenClient) -> None:
    first, second = (
        each.agents.create(personaId=PERSONA, tier="tiny", idempotency_key="once")["agent"]["id"] for _ in range(2)
    )
    assert first == second


def test_a_change_of_what_somebody_else_changed_meanwhile_is_refused(each: DrivenClient, make_agent: MakeAgent) -> None:
    agent = make_agent().pk
    with pytest.raises(errors.ConflictError) as refused:
        each.agents.update(agent, name="Cy", if_match='"an older one"')
    assert refused.value.status == 412


def test_a_turn_that_fails_in_the_middle_is_an_error(
    each: DrivenClient, make_agent: MakeAgent, gateway_of: GatewayOf, bridge: BridgeDouble
) -> None:
    agent = make_agent().pk
    each.agents.wait(agent)
    gateway_of(Agent.objects.get(pk=agent))
    bridge.turn = lambda turn: [{"type": "delta", "text": "I "}]
    events = iter(each.agents.stream(agent, "hi"))
    assert next(events) == ChatDelta("I ")
    with pytest.raises(errors.ServerError, match="broke off in the middle"):
        next(events)


def test_a_call_that_the_client_does_not_know_can_be_made(pods: Agentpods, make_agent: MakeAgent) -> None:
    agent = make_agent().pk
    assert pods.call("PATCH", f"/agents/{agent}", body={"name": "Cy"})["agent"]["name"] == "Cy"
    assert pods.call("DELETE", f"/agents/{agent}") is None
