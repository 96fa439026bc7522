"""Which agents' channels are asked for and how often, and pods that give unexpected answers."""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest
from django.db import connection

from accounts.models import Letter, User
from agents.channel_health import looking, telling
from agents.models import Agent, ChannelState
from agents.running import identity, sweeper
from agents.runtimes import management
from agents.runtimes.base import Identity
from tests.agents.channel_health.conftest import REFUSED, MakeListening, MinuteWatch, told
from tests.agents.conftest import MakeAgent, settle
from tests.doubles.lying_gateway import LyingGateway
from tests.doubles.runtime import ScriptedRuntime

Lie = Callable[[Agent], LyingGateway]
LIES: dict[str, Any] = {
    "no channels": {},
    "no object": ["telegram"],
    "text": {"channels": "telegram"},
    "a number": {"channels": 4},
    "a list": {"channels": ["telegram"]},
    "a reason in pieces": {"channels": {"telegram": ["x"]}},
    "a reason that is true": {"channels": {"telegram": True}},
    "channels of others": {"channels": {"discord": "gone", "../../etc": "gone", "": "gone", "web": "gone"}},
    "too much": {"channels": {"telegram": "x" * 2_000_000}},
    "too many": {"channels": {f"c{number}": "gone" for number in range(50_000)}},
}


@pytest.fixture
def lying(runtime: ScriptedRuntime, tmp_path: Path) -> Iterator[Lie]:
    """Start a lying gateway in the place of an agent's own gateway."""
    with ExitStack() as opened:

        def lie(agent: Agent) -> LyingGateway:
            own = identity.ensured(agent)
            directory = tmp_path / agent.pk
            directory.mkdir()
            known = Identity(key=own.gateway_key, certificate=own.gateway_certificate)
            gateway = opened.enter_context(LyingGateway(known, directory))
            gateway.body = json.dumps({"channels": {"telegram": REFUSED}}).encode()
            runtime.addresses[agent.namespace] = gateway.endpoint
            return gateway

        yield lie


@pytest.mark.sampled
@pytest.mark.parametrize("said", LIES.values(), ids=LIES)
def test_what_is_no_word_about_a_channel_of_the_agent_changes_nothing(
    make_listening: MakeListening, lying: Lie, watch: MinuteWatch, said: Any
) -> None:
    agent = make_listening()
    gateway = lying(agent)
    gateway.body = json.dumps(said).encode()
    watch.minutes(4)
    assert told(agent) == []
    (state,) = ChannelState.objects.all()
    assert (state.channel, state.since, state.reason) == ("telegram", None, "")
    assert gateway.asked[0] == "GET /channels HTTP/1.1"


@pytest.mark.parametrize("body", [b"[" * 100_000, b'{"channels":' * 20_000, b"\xff\xfe", b"", b'"\\ud800"'])
def test_what_is_no_json_changes_nothing(
    make_listening: MakeListening, lying: Lie, watch: MinuteWatch, body: bytes
) -> None:
    agent = make_listening()
    lying(agent).body = body
    watch.minutes(4)
    assert (told(agent), ChannelState.objects.get().since) == ([], None)


def test_a_pod_that_answers_a_byte_now_and_then_holds_nobody_up_for_long(
    make_listening: MakeListening, lying: Lie, watch: MinuteWatch, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(management, "CHANNELS_SECONDS", 1.0)
    slow, quick = make_listening(), make_listening()
    lying(slow).pause = 0.3
    lying(quick)
    started = time.monotonic()
    watch.minutes(2)
    assert time.monotonic() - started < 15
    assert (told(slow), len(told(quick))) == ([], 1)


def test_each_agent_is_asked_once_a_minute_and_one_without_other_channels_never(
    make_listening: MakeListening, make_agent: MakeAgent, lying: Lie, watch: MinuteWatch
) -> None:
    agent, web = make_listening(), make_listening(channels=["web"], channel_secrets={})
    listening, other = lying(agent), lying(web)
    listening.body = b'{"channels": {"telegram": null}}'
    settle(make_agent())
    for _ in range(3):
        watch.look()
    assert (len(listening.asked), other.asked) == (1, [])
    watch.minutes(3)
    assert (len(listening.asked), other.asked) == (4, [])


def test_no_account_keeps_others_waiting(
    make_listening: MakeListening, stranger: User, watch: MinuteWatch, monkeypatch: pytest.MonkeyPatch, settings: Any
) -> None:
    settings.MAX_FREE_AGENTS = settings.MAX_TRIALS = 10
    monkeypatch.setattr(looking, "OF_ONE_ACCOUNT", 2)
    monkeypatch.setattr(looking, "ASKED", 3)
    for _ in range(5):
        make_listening(user=stranger)
    mine = make_listening()
    assert watch.look() == 3
    assert ChannelState.objects.filter(agent=mine, look_at__gt=watch.now).exists()
    assert [watch.look() for _ in range(3)] == [2, 1, 0]


def test_a_round_that_has_lasted_for_long_begins_no_further_calls(
    make_listening: MakeListening, lying: Lie, watch: MinuteWatch, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(looking, "ROUND_SECONDS", -1.0)
    gateway = lying(make_listening())
    assert (watch.look(), gateway.asked) == (1, [])


@pytest.mark.django_db(transaction=True)
def test_workers_at_once_ask_each_pod_once_and_tell_once(
    make_listening: MakeListening, lying: Lie, watch: MinuteWatch
) -> None:
    agents = [make_listening() for _ in range(3)]
    gateways = [lying(agent) for agent in agents]
    watch.minutes(1)

    def run() -> None:
        looking.look_at_due(watch.now)
        connection.close()

    for _ in range(3):
        watch.now += telling.PERIOD
        threads = [threading.Thread(target=run) for _ in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    assert [len(gateway.asked) for gateway in gateways] == [5, 5, 5]
    assert [len(told(agent)) for agent in agents] == [1, 1, 1]
    assert Letter.objects.count() == 3


def test_a_worker_that_comes_late_with_an_old_word_changes_nothing(
    make_listening: MakeListening, lying: Lie, watch: MinuteWatch
) -> None:
    agent = make_listening()
    lying(agent).body = b'{"channels": {"telegram": null}}'
    before = watch.now
    watch.minutes(3)
    telling.note(agent, {"telegram": REFUSED}, now=before)
    assert ChannelState.objects.get().since is None


def test_a_look_that_finds_nothing_due_reads_no_agents(
    make_listening: MakeListening, watch: MinuteWatch, django_assert_num_queries: Any
) -> None:
    make_listening()
    assert watch.look() == 1
    with django_assert_num_queries(1):
        assert watch.look() == 0


def test_channels_that_nobody_looks_at_are_found_by_the_minutes_sweep(
    make_listening: MakeListening, watch: MinuteWatch
) -> None:
    make_listening()
    ChannelState.objects.all().delete()
    assert watch.look() == 0
    sweeper.sweep(watch.now)
    assert watch.look() == 1


def test_what_is_due_and_whom_to_enlist_is_found_by_indexes(
    make_listening: MakeListening, make_agent: MakeAgent, watch: MinuteWatch
) -> None:
    make_listening()
    for _ in range(2):
        make_agent()  # they have no channel but the web
    watch.look()
    values: dict[str, Any] = {"now": watch.now, "web": "web", "limit": 1, "until": watch.now, "each": 1}
    with connection.cursor() as cursor:
        cursor.execute("ANALYZE agents_agent")  # statistics that another test left must not decide the plan
        cursor.execute("SET LOCAL enable_seqscan = off")
        plans = []
        for statement in (looking._MISSING + looking._AT_MOST + looking._AGAIN, looking._TAKE):
            cursor.execute(f"EXPLAIN {statement}", values)
            plans.append(" ".join(row[0] for row in cursor.fetchall()))
    assert "agent_listening" in plans[0]
    assert "channel_look" in plans[1]
