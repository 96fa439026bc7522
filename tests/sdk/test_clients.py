"""The Python SDK drives a running service: blocking and asynchronous, with the same calls."""

from __future__ import annotations

import asyncio
from contextlib import aclosing

import pytest

from agentpods import Agentpods, AsyncAgentpods, ChatDelta, ChatDone, errors, webhooks
from agents.models import Agent
from tests.agents.conftest import PERSONA, GatewayOf, MakeAgent
from tests.doubles.receiver import Receiver
from tests.sdk.conftest import LiveService

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.unmeasured]


def test_an_agent_lives_its_life(pods: Agentpods, receiver: Receiver, gateway_of: GatewayOf) -> None:
    made = pods.agents.create(personaId=PERSONA, tier="tiny", name="Ada", webhookUrl=receiver.url, wait=30)
    agent_id, secret = made["agent"]["id"], made["webhookSecret"]
    assert made["agent"]["status"] == "running"
    assert secret

    gateway_of(Agent.objects.get(pk=agent_id))
    reply = pods.agents.chat(agent_id, "hi", session_id="talk-1")
    assert reply == {"reply": "you said hi", "sessionId": "talk-1"}
    *deltas, done = pods.agents.stream(agent_id, "ho\u2028ho", session_id="talk-1")
    assert "".join(one.text for one in deltas if isinstance(one, ChatDelta)) == "you said ho\u2028ho"
    assert done == ChatDone("you said ho\u2028ho", "talk-1")

    assert pods.agents.explain(agent_id)["status"] == "running"
    assert pods.agents.pause(agent_id, wait=30)["status"] == "stopped"
    pods.agents.resume(agent_id)
    running = pods.agents.wait(agent_id, seconds=60)
    assert running
    assert running["status"] == "running"

    assert pods.webhooks.test(agent_id)["ok"] is True
    pods.agents.delete(agent_id)
    assert pods.agents.wait(agent_id, until="deleted", seconds=60) is None
    events = [webhooks.verified(one.body, one.headers, secret=secret) for one in receiver.received]
    assert {event["type"] for event in events} >= {"agent.running", "agent.stopped", "test"}


def test_what_an_owner_sets_is_read_again(pods: Agentpods, make_agent: MakeAgent, receiver: Receiver) -> None:
    agent = make_agent().pk
    assert pods.agents.update(agent, name="Bo", extraSoul="Speak of owls.")["name"] == "Bo"
    assert pods.agents.set_llm_key(agent, provider="openai", key="sk-0123456789abcdef")["llmProvider"] == "openai"
    assert pods.api.set_agent_limits(agent, {"usdPerDay": 2.5})["limits"] == pods.api.get_agent_limits(agent)["limits"]
    assert pods.api.set_account_limits({"stopped": False})["limits"]["stopped"] is False
    assert pods.webhooks.set(agent, receiver.url)["secret"].startswith("whsec_")
    assert pods.webhooks.test(agent)["ok"] is True
    assert next(iter(pods.webhooks.deliveries(agent)))["type"] == "test"
    pods.webhooks.delete(agent)
    assert pods.call("PATCH", f"/agents/{agent}", body={"name": "Cy"})["agent"]["name"] == "Cy"
    listed = [one["id"] for one in pods.events.list(agent)]
    assert [one["id"] for one in pods.events.list(after=listed[0])] == listed[1:]


def test_events_are_followed_to_the_end_of_an_agent(pods: Agentpods, make_agent: MakeAgent) -> None:
    agent = make_agent().pk
    names = []
    for event in pods.events.follow(agent):
        names.append(event.name)
        if event.name == "agent.running":
            assert pods.call("DELETE", f"/agents/{agent}") is None
    assert (names[0], names[-2:]) == ("agent.running", ["agent.deleted", "end"])


def test_lists_are_read_to_their_end(pods: Agentpods, make_agent: MakeAgent) -> None:
    made = {make_agent(name=f"A{number}").pk for number in range(3)}
    assert {agent["id"] for agent in pods.api.each_of_agents(limit=2)} == made
    assert {agent["id"] for agent in pods.agents.list()} == made
    assert len(list(pods.api.each_of_personas(limit=10))) == len(pods.api.list_personas()["personas"])


def test_a_refusal_says_what_and_where(pods: Agentpods, service: LiveService) -> None:
    with pytest.raises(errors.NotFoundError) as missing:
        pods.agents.get("agt_nobody")
    assert (missing.value.status, missing.value.error) == (404, "NOT_FOUND")
    assert missing.value.message
    assert missing.value.request_id
    with pytest.raises(errors.BadRequestError, match="tier"):
        pods.api.create_agent({"personaId": PERSONA, "tier": "huge"})  # type: ignore[typeddict-item]  # it is wrong
    with Agentpods(service.url, "ak_live_wrong") as nobody, pytest.raises(errors.UnauthorizedError) as refused:
        nobody.agents.get("agt_nobody")
    assert "ak_live_wrong" not in f"{refused.value!r} {nobody!r} {nobody.__dict__}"


def test_a_repeat_with_the_same_key_makes_no_second_agent(pods: Agentpods) -> None:
    first, second = (
        pods.agents.create(personaId=PERSONA, tier="tiny", idempotency_key="once")["agent"]["id"] for _ in range(2)
    )
    assert first == second


def test_the_asynchronous_client_has_the_same_calls(service: LiveService, worker: None) -> None:
    async def life() -> list[str]:
        async with AsyncAgentpods(service.url, service.key) as pods:
            ids = [await create(pods, name) for name in ("one", "two")]
            async with aclosing(pods.agents.list()) as agents:
                assert [agent["id"] async for agent in agents] == ids[::-1]
            with pytest.raises(errors.ServerError, match="gateway"):  # nothing answers at its address
                _ = [event async for event in pods.agents.stream(ids[0], "hi")]
            await asyncio.gather(*(pods.agents.delete(made, wait=30) for made in ids))
            return [agent["id"] async for agent in pods.agents.list()]

    async def create(pods: AsyncAgentpods, name: str) -> str:
        made = (await pods.agents.create(personaId=PERSONA, tier="tiny", name=name))["agent"]["id"]
        agent = await pods.agents.wait(made, seconds=60)
        assert agent
        assert agent["status"] == "running"
        return made

    assert asyncio.run(life()) == []
