"""The control plane stores what gateways record: once, within limits, and nothing of what the owner deleted."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from decimal import Decimal

import pytest
from django.db import connection
from django.utils import timezone

from agents.models import Agent
from agents.pod.gateway.replay.unsent import MOST_A_DAY
from agents.replay import keeping, recording
from agents.replay.models import ReplayEntry
from agents.running import lifecycle
from tests.agents.conftest import MakeAgent, settle
from tests.agents.replay.conftest import MODEL, ServeRecorded, call, entry, hand_over, read, say, stored

ACTOR = "user:usr_0"


def kinds(agent: Agent) -> list[str]:
    return list(ReplayEntry.objects.filter(agent=agent).order_by("created_at", "id").values_list("kind", flat=True))


def test_a_turn_and_its_price_come_from_the_pod_to_the_table(agent: Agent, serve: ServeRecorded) -> None:
    gateway = serve(agent)
    say(gateway, "which owls?", session="ses_owls")
    call(gateway, "and now?")
    began, ended, called = read(agent)
    assert (began.kind, began.door, began.session, began.asked) == ("turn.began", "chat", "ses_owls", "which owls?")
    assert (ended.kind, ended.turn, ended.answered) == ("turn.ended", began.turn, "you said which owls?")
    assert (called.kind, called.door, called.model) == ("model.call", "engine", MODEL)
    assert (called.input, called.output, called.usd) == (10, 5, Decimal("0.0000035"))
    assert (called.asked, called.answered) == ("and now?", "pong")


def test_texts_are_encrypted_in_the_database(agent: Agent) -> None:
    hand_over(agent, entry(asked="a private question"))
    with connection.cursor() as cursor:
        cursor.execute("SELECT row_to_json(r)::text FROM agents_replayentry r")
        (row,) = cursor.fetchone()
    assert "private" not in row
    assert ReplayEntry.objects.get().asked == "a private question"


def test_a_batch_that_comes_again_is_stored_once(agent: Agent) -> None:
    assert hand_over(agent, entry(), number=1, not_kept={timezone.now().date().isoformat(): 3})
    assert not hand_over(agent, entry(), number=1, not_kept={timezone.now().date().isoformat(): 3})
    assert hand_over(agent, entry(), number=2, not_kept={timezone.now().date().isoformat(): 4})
    assert sorted(kinds(agent)) == ["model.call", "model.call", "not.kept"]
    assert ReplayEntry.objects.get(kind="not.kept").count == 7


def test_rows_belong_to_the_agent_whose_pod_was_asked(agent: Agent, make_agent: MakeAgent) -> None:
    other = make_agent(name="other")
    hand_over(agent, entry(agent=other.pk, agent_id=other.pk, id="rpl_000000000000000000000000"))
    assert ReplayEntry.objects.get().agent_id == agent.pk
    assert ReplayEntry.objects.get().pk != "rpl_000000000000000000000000"


@pytest.mark.parametrize(
    "odd",
    [
        None,
        7,
        [],
        {},
        {"at": "now", "kind": "model.call"},
        {"at": True, "kind": "model.call"},
        {"at": 1e300, "kind": "model.call"},
        {"at": float("nan"), "kind": "model.call"},
        entry(kind="agent.deleted"),
        entry(kind="not.kept", count=5),
        entry(asked=7),
        entry(tool=["a"]),
    ],
)
def test_what_is_no_entry_is_counted_and_stops_nothing(agent: Agent, odd: object) -> None:
    hand_over(agent, odd, entry())
    assert sorted(kinds(agent)) == ["model.call", "not.kept"]
    assert ReplayEntry.objects.get(kind="not.kept").count == 1


def test_values_that_no_gateway_of_ours_sends_are_cut_or_left_out(agent: Agent) -> None:
    hand_over(
        agent,
        entry(
            asked="\x00\x1b[31m" + "é" * 100_000,
            tool="t" * 1_000_000,
            session="\ud800" * 500,
            door="window",
            cause="<b>",
            hop={},
            input=10**30,
            output=-1,
            ms=2**40,
        ),
    )
    row = ReplayEntry.objects.get()
    assert row.asked == "é" * 195
    assert len(row.tool) <= 81
    assert (row.door, row.cause, row.hop, row.ms) == ("", "", "", None)
    assert (row.input, row.output) == (0, 0)


def test_a_clock_that_lies_makes_nothing_of_the_future_or_of_long_ago(agent: Agent) -> None:
    now = timezone.now()
    hand_over(agent, entry(at=now + timedelta(days=400)), entry(at=now - timedelta(days=31)), entry(at=now))
    times = list(ReplayEntry.objects.values_list("created_at", flat=True))
    assert len(times) == 2
    assert max(times) <= timezone.now()


def test_a_day_has_so_many_entries_and_the_others_are_counted(agent: Agent) -> None:
    noon = datetime.combine((timezone.now() - timedelta(days=2)).date(), datetime.min.time(), UTC) + timedelta(hours=12)
    rows = [ReplayEntry(agent=agent, created_at=noon, kind="model.call") for _ in range(MOST_A_DAY - 1)]
    ReplayEntry.objects.bulk_create(rows, batch_size=10_000)
    hand_over(agent, *(entry(at=noon) for _ in range(5)), entry())
    assert ReplayEntry.objects.filter(created_at=noon).count() == MOST_A_DAY
    told = ReplayEntry.objects.get(kind="not.kept")
    assert (told.count, told.created_at.date()) == (4, noon.date())
    hand_over(agent, entry(at=noon), number=2)
    told.refresh_from_db()
    assert told.count == 5


def test_what_arrives_after_the_deletion_and_is_older_stays_deleted(agent: Agent) -> None:
    hand_over(agent, entry(session="a"), entry(session="b"))
    assert recording.delete(agent, session="a", actor=ACTOR) == 1
    hand_over(agent, entry(session="a"), entry(session="b"), number=2)
    assert list(ReplayEntry.objects.values_list("session", flat=True)) == ["b", "b"]
    assert recording.delete(agent, actor=ACTOR) == 2
    hand_over(agent, entry(session="b"), number=3, not_kept={"2026-01-01": 5})
    assert not ReplayEntry.objects.exists()
    hand_over(agent, entry(at=timezone.now(), session="b"), number=4)
    assert ReplayEntry.objects.count() == 1


def test_switched_off_the_pod_records_nothing_and_what_comes_late_is_not_stored(
    agent: Agent, serve: ServeRecorded
) -> None:
    gateway = serve(agent)
    say(gateway, "before")
    recording.switch(agent, is_on=False, actor=ACTOR)
    hand_over(agent, entry(), book="another pod")
    assert read(agent) == []
    say(gateway, "while it is off")
    recording.switch(agent, is_on=True, actor=ACTOR)
    assert read(agent) == []
    say(gateway, "after")
    assert [row.asked for row in read(agent)] == ["after", ""]


def test_a_deleted_agent_leaves_nothing_and_gets_nothing(agent: Agent) -> None:
    hand_over(agent, entry())
    lifecycle.delete(agent, actor=ACTOR)
    settle(agent)
    assert agent.status == "deleted"
    assert not ReplayEntry.objects.exists()
    hand_over(agent, entry(), number=2)
    assert not ReplayEntry.objects.exists()


def test_after_thirty_days_it_is_forgotten(agent: Agent, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(keeping, "FORGOTTEN_AT_ONCE", 2)
    stored(agent, 40, every=timedelta(days=1))
    keeping.forget(now=timezone.now())
    assert ReplayEntry.objects.count() == 30
