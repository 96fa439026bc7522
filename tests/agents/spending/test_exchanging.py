"""The control plane reads what gateways count: every call once, whatever dies between."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import ExitStack
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from django.db.models import Sum
from django.utils import timezone
from pytest_django import DjangoAssertNumQueries

from accounts.models import User
from agents.configuring import llm_key
from agents.models import Agent, ModelUsage, SpentDay
from agents.pod.gateway.spending.calls import Price
from agents.pod.gateway.spending.tokens import Tokens
from agents.running import identity, pods
from agents.runtimes import current_runtime, pod_spending
from agents.runtimes.base import Identity
from agents.spending import adding, exchanging, forgetting, news, prices
from catalog.models import LlmModel
from tests.agents.conftest import GatewayOf, MakeAgent, settle
from tests.agents.spending.conftest import KEY, MODEL, ONE_CALL, Serve, call
from tests.doubles.lying_gateway import LyingGateway
from tests.doubles.model_server import ModelServer
from tests.doubles.runtime import ScriptedRuntime


def read(agent: Agent) -> dict[str, object]:
    """Exchange figures now. Returns the sums of the agent's rows."""
    exchanging.exchange(agent.pk)
    return ModelUsage.objects.filter(agent=agent).aggregate(
        calls=Sum("calls"), input=Sum("input"), output=Sum("output"), usd=Sum("usd")
    )


def test_every_call_is_counted_once_and_priced_by_the_catalog(agent: Agent, serve: Serve, model: ModelServer) -> None:
    gateway = serve(agent)
    call(gateway, 3)
    read(agent)
    call(gateway, 2)
    read(agent)
    assert len(model.turns()) == 5
    assert read(agent) == {"calls": 5, "input": 50, "output": 25, "usd": 5 * ONE_CALL}
    assert SpentDay.objects.get(agent=agent).usd == 5 * ONE_CALL


def test_a_batch_whose_confirmation_was_lost_is_added_once(agent: Agent, serve: Serve) -> None:
    gateway = serve(agent)
    call(gateway)
    now = timezone.now()
    told = news.of([agent], now=now)[agent.pk]
    endpoint = current_runtime().endpoint(agent.namespace)
    assert endpoint is not None
    first = pod_spending.exchange(endpoint, pods.access_of(agent), told)
    again = pod_spending.exchange(endpoint, pods.access_of(agent), told)
    assert adding.add(agent, first, now=now)
    assert not adding.add(agent, again, now=now)
    assert read(agent)["calls"] == 1


def test_another_pod_of_the_agent_counts_beside_the_first(agent: Agent, serve: Serve, gateway_of: GatewayOf) -> None:
    first = serve(agent)
    call(first, 2)
    read(agent)
    call(first)
    exchanging.keep(agent, agent.namespace)
    first.stop()
    (first.run_dir / "spending.json").unlink()  # as the disk of a pod that is gone
    second = serve(agent)
    call(second, 2)
    assert read(agent)["calls"] == 5
    assert read(agent)["calls"] == 5


def test_a_model_without_a_price_counts_tokens_alone(agent: Agent, serve: Serve) -> None:
    gateway = serve(agent, model="unheard-of")
    assert call(gateway, model="unheard-of") == [200]
    assert read(agent) == {"calls": 1, "input": 10, "output": 5, "usd": 0}
    assert ModelUsage.objects.get(agent=agent).unpriced == 1


def test_a_pod_that_does_not_answer_is_asked_again(agent: Agent, serve: Serve) -> None:
    gateway = serve(agent)
    call(gateway)
    gateway.stop()
    assert read(agent)["calls"] is None
    call(serve(agent))
    assert read(agent)["calls"] == 2


def test_running_agents_are_asked_by_turns(agent: Agent, serve: Serve, make_agent: MakeAgent) -> None:
    keyless = settle(make_agent(name="keyless"))
    call(serve(agent))
    now = timezone.now()
    assert exchanging.exchange_due(now) == 1
    assert exchanging.exchange_due(now + timedelta(seconds=1)) == 0
    assert ModelUsage.objects.get().agent_id == agent.pk
    assert exchanging.exchange_due(now + exchanging.PERIOD) == 1
    Agent.objects.filter(pk=agent.pk).update(desired="stopped")
    assert exchanging.exchange_due(now + 3 * exchanging.PERIOD) == 1
    assert exchanging.exchange_due(now + 9 * exchanging.PERIOD) == 0
    assert keyless.pk != agent.pk


@pytest.fixture
def many(agent: Agent, stranger: User) -> list[Agent]:
    """Running agents with a model key: 60 of the owner, who was there first, and one of somebody else."""
    agent.refresh_from_db()

    def copy(number: int, user: User) -> Agent:
        made = Agent(**{field.attname: getattr(agent, field.attname) for field in Agent._meta.concrete_fields})
        made.pk, made.suffix, made.slug, made.user = f"agt_{number:024d}", f"{number:024d}", f"agent-{number}", user
        return made

    copies = Agent.objects.bulk_create([*(copy(number, agent.user) for number in range(59)), copy(99, stranger)])
    assert exchanging.begin_forgotten(timezone.now()) == len(copies)
    return [agent, *copies]


def asked(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The ids of the agents whose pods are asked, in this order."""
    seen: list[str] = []

    def ask(agents: list[Agent], now: datetime) -> list[str]:
        seen.extend(agent.pk for agent in agents)
        return seen

    monkeypatch.setattr(exchanging, "_exchange", ask)
    return seen


def test_all_agents_of_an_account_are_asked_when_others_leave_room(
    many: list[Agent], monkeypatch: pytest.MonkeyPatch
) -> None:
    seen = asked(monkeypatch)
    assert exchanging.exchange_due() == 61
    assert set(seen) == {one.pk for one in many}
    assert many[-1].pk in seen[: exchanging.OF_ONE_ACCOUNT + 1]


def test_the_further_agents_of_an_account_make_way_for_others(
    many: list[Agent], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(exchanging, "ASKED", exchanging.OF_ONE_ACCOUNT + 1)
    seen = asked(monkeypatch)
    now = timezone.now()
    assert exchanging.exchange_due(now) == exchanging.OF_ONE_ACCOUNT + 1
    assert many[-1].pk in seen
    assert exchanging.exchange_due(now) == 10
    assert set(seen) == {one.pk for one in many}
    assert exchanging.exchange_due(now) == 0


def test_a_scan_that_finds_nothing_due_reads_no_agents(
    agent: Agent, django_assert_num_queries: DjangoAssertNumQueries
) -> None:
    settle(agent)
    before = timezone.now() - timedelta(hours=1)
    with django_assert_num_queries(1):
        assert exchanging.exchange_due(before) == 0


def test_news_for_many_agents_take_the_same_queries(
    make_agent: MakeAgent, django_assert_num_queries: DjangoAssertNumQueries
) -> None:
    agents = [make_agent(name=f"a{number}") for number in range(3)]
    with django_assert_num_queries(6):
        assert len(news.of(agents, now=timezone.now())) == 3


def test_prices_are_those_of_the_catalog_now(agent: Agent) -> None:
    LlmModel.objects.filter(pk="openai:gpt-6-luna").update(input_usd="0.0001")
    told = news.of([agent], now=timezone.now())[agent.pk]["prices"]
    assert told["openai:gpt-6.2-sol"]["output"] == 100_000  # 10 USD a million tokens, in units of 10^-10 USD


def test_what_anthropic_reads_from_its_cache_costs_a_tenth(catalog: None) -> None:
    price = prices.of("anthropic:claude-sonnet-5-5")
    assert price == Price(input=20_000, cached=2_000, written=25_000, output=100_000)
    assert (
        price.cost(Tokens(input=100, cached=80, written=10, output=1))
        == 10 * 20_000 + 80 * 2_000 + 10 * 25_000 + 100_000
    )


@pytest.mark.parametrize(("days", "left"), [(399, 1), (401, 0)])
def test_days_are_kept_for_four_hundred_days(agent: Agent, days: int, left: int) -> None:
    now = timezone.now()
    SpentDay.objects.create(agent=agent, day=(now - timedelta(days=days)).date(), usd=1)
    ModelUsage.objects.create(agent=agent, day=(now - timedelta(days=days)).date(), model="m", kind="chat")
    forgetting.forget(now=now)
    assert (SpentDay.objects.count(), ModelUsage.objects.count()) == (left, left)


@pytest.fixture
def liar(agent: Agent, make_agent: MakeAgent, runtime: ScriptedRuntime, tmp_path: Path) -> Iterator[LyingGateway]:
    """The gateway of another running agent, under an attacker's control. That agent is named `liar`."""
    made = settle(llm_key.install(settle(make_agent(name="liar")), provider="openai", key=KEY, model=MODEL))
    own = identity.ensured(made)
    directory = tmp_path / "liar"
    directory.mkdir()
    with ExitStack() as opened:
        known = Identity(key=own.gateway_key, certificate=own.gateway_certificate)
        gateway = opened.enter_context(LyingGateway(known, directory))
        runtime.addresses[made.namespace] = gateway.endpoint
        yield gateway


def said(*rows: dict[str, Any], **batch: Any) -> bytes:
    usual = {"day": "2026-11-20", "provider": "openai", "model": "gpt-6-luna", "kind": "chat", "session": ""}
    told = {"book": "b", "number": 1, "rows": [{**usual, "session": str(n), **row} for n, row in enumerate(rows)]}
    return json.dumps({**told, **batch}).encode()


LIES = {
    "more than a day has room for": said(*[{"calls": 1, "output": 10**15}] * 30),
    "a batch without end": said(number=10**12),
    "half of a character": said({"model": "\ud800"}),
    "half of a character in a name": said({"calls": 1}, book="\ud800"),
    "less than nothing": said({"calls": 1, "cached": 10**12}),
    "a batch of hosts without end": said(egress={"book": "b", "number": 10**12, "rows": []}),
}


@pytest.mark.parametrize("lie", LIES.values(), ids=LIES)
def test_a_gateway_that_lies_hides_nobody_elses_figures(
    agent: Agent, serve: Serve, liar: LyingGateway, lie: bytes
) -> None:
    liar.body = lie
    call(serve(agent))
    assert exchanging.exchange_due() == 2
    assert liar.asked
    assert {row.agent_id for row in ModelUsage.objects.all()} == {agent.pk}
    assert exchanging.exchange_due(timezone.now() + exchanging.PERIOD) == 2


def test_of_a_batch_only_so_many_rows_are_read(agent: Agent, serve: Serve, liar: LyingGateway) -> None:
    liar.body = said(*[{"calls": 1}] * 3_000)
    exchanging.exchange_due()
    assert ModelUsage.objects.count() == pod_spending.MOST_ROWS
