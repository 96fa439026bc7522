"""An unpaid agent: warned, stopped, kept, deleted. The clock is frozen and moved by the test."""

from __future__ import annotations

import json
from datetime import timedelta

import pytest
from django.db import connection

from accounts.models import Letter, User
from agents import suspension
from agents.models import Agent, Desired, Reason, Status
from agents.running import lifecycle
from billing import corrections, dunning, mails
from billing.models import Lapse
from billing.term import Term
from tests.agents.conftest import MakeAgent, event_types, settle, signed_in
from tests.billing.conftest import DAY, FREE_UNTIL, NOON, Clock, Pay, tick
from webhooks.models import Event

pytestmark = pytest.mark.django_db

TRIAL, KEPT = 7 * DAY, 14 * DAY
MINUTE = timedelta(minutes=1)


@pytest.fixture
def free(clock: Clock, running: Agent) -> Agent:
    """An agent that runs since noon, on its free trial."""
    return running


def warnings(agent: Agent) -> list[int | None]:
    """`daysLeft` of each deletion.warning, oldest first."""
    events = Event.objects.filter(agent=agent, type="deletion.warning").order_by("created_at")
    told = [json.loads(event.body)["data"] for event in events]
    assert {one["keptDays"] for one in told} <= {14}
    return [one["daysLeft"] for one in told]


def hourly(agent: Agent, clock: Clock, *, until: timedelta) -> Agent:
    while clock.now < NOON + until and agent.desired != Desired.DELETED:
        clock.go(timedelta(hours=1))
        agent = tick(agent, clock)
    return agent


@pytest.mark.sampled
def test_a_trial_without_payment_is_warned_three_two_one_stopped_told_and_deleted(free: Agent, clock: Clock) -> None:
    agent = hourly(free, clock, until=TRIAL - timedelta(hours=1))
    assert (warnings(agent), agent.trial_notice_day, agent.status) == ([3, 2, 1], 1, Status.RUNNING)
    agent = hourly(agent, clock, until=TRIAL + timedelta(hours=1))
    assert (warnings(agent), agent.trial_notice_day, agent.status) == ([3, 2, 1, None], 0, Status.STOPPED)
    agent = hourly(agent, clock, until=TRIAL + KEPT - timedelta(hours=1))
    assert agent.status == Status.STOPPED
    agent = hourly(agent, clock, until=TRIAL + KEPT + timedelta(hours=2))
    assert (agent.status, agent.operation) == (Status.DELETED, Reason.EXPIRY)
    assert event_types(agent) == [
        "agent.running",
        *["deletion.warning"] * 3,
        "agent.stopped",
        "deletion.warning",
        "agent.deleted",
    ]
    stopped = Event.objects.get(agent=agent, type="agent.stopped")
    assert json.loads(stopped.body)["data"]["reason"] == "trial"


@pytest.mark.sampled
@pytest.mark.parametrize(("lang", "words"), [("en", "stops in 3 days"), ("ru", "остановится через 3 дня")])
def test_each_warning_is_mailed_in_the_agents_language(
    make_agent: MakeAgent, clock: Clock, owner: User, lang: str, words: str
) -> None:
    agent = settle(make_agent(lang=lang))
    hourly(agent, clock, until=TRIAL + timedelta(hours=2))
    letters = list(Letter.objects.filter(user=owner).order_by("written_at"))
    assert len(letters) == 4
    assert words in letters[0].subject
    assert all(f"/renew/{agent.pk}" in letter.text for letter in letters)


def test_a_worker_that_slept_for_a_week_sends_no_burst_and_deletes_nothing_early(free: Agent, clock: Clock) -> None:
    clock.at(NOON + TRIAL + 6 * DAY)
    agent = tick(free, clock)
    assert (warnings(agent), agent.status) == ([None], Status.STOPPED)
    stopped = clock.now
    clock.at(NOON + TRIAL + KEPT + MINUTE)
    assert tick(agent, clock).status == Status.STOPPED
    clock.at(stopped + KEPT + MINUTE)
    assert tick(agent, clock).status == Status.DELETED


def test_a_worker_that_wakes_between_two_warnings_sends_the_later_one_alone(free: Agent, clock: Clock) -> None:
    clock.at(NOON + TRIAL - timedelta(hours=30))
    assert warnings(tick(free, clock)) == [2]


def test_a_step_taken_again_and_again_says_everything_once(free: Agent, clock: Clock) -> None:
    for moment in (TRIAL - 3 * DAY, TRIAL - 3 * DAY + MINUTE, TRIAL - 2 * DAY):
        clock.at(NOON + moment)
        for _ in range(5):
            dunning.step(free.pk, now=clock.now)
    assert warnings(free) == [3, 2]


def test_what_its_owner_had_stopped_gets_the_notice_but_no_second_stop(free: Agent, clock: Clock) -> None:
    lifecycle.pause(free, reason=Reason.OWNER, actor="user:x")
    settle(free)
    clock.at(NOON + TRIAL + MINUTE)
    agent = tick(free, clock)
    assert (warnings(agent), event_types(agent).count("agent.stopped")) == ([None], 1)
    assert agent.operation == Reason.OWNER
    assert Lapse.objects.get(agent=agent).stopped_at == NOON


def test_what_had_failed_gets_the_notice_but_no_agent_stopped(make_agent: MakeAgent, clock: Clock) -> None:
    agent = settle(make_agent())
    lifecycle.fail(agent, generation=agent.generation, cause="PORT", message="taken", evidence=[], now=clock.now)
    clock.at(NOON + TRIAL + MINUTE)
    agent = tick(agent, clock)
    assert (warnings(agent), agent.status) == ([None], Status.STOPPED)
    assert "agent.stopped" not in event_types(agent)


def test_a_payment_between_stop_and_deletion_brings_the_agent_back(free: Agent, clock: Clock, pay: Pay) -> None:
    clock.at(NOON + TRIAL + MINUTE)
    agent = tick(free, clock)
    clock.go(3 * DAY)
    pay(agent)
    agent = tick(agent, clock)
    assert (agent.status, agent.paid, agent.trial_notice_day) == (Status.RUNNING, True, None)
    assert Lapse.objects.get(agent=agent).ended_at == clock.now
    clock.at(NOON + TRIAL + KEPT + DAY)
    assert tick(agent, clock).status == Status.RUNNING


def test_a_payment_one_second_before_the_stop_prevents_it(free: Agent, clock: Clock, pay: Pay) -> None:
    clock.at(NOON + TRIAL - timedelta(seconds=1))
    tick(free, clock)
    pay(free)
    clock.go(timedelta(seconds=2))
    agent = tick(free, clock)
    assert (agent.status, warnings(agent)) == (Status.RUNNING, [1])


def test_what_its_owner_had_stopped_stays_so_when_it_is_paid_for(free: Agent, clock: Clock, pay: Pay) -> None:
    lifecycle.pause(free, reason=Reason.OWNER, actor="user:x")
    settle(free)
    pay(free)
    assert tick(free, clock).status == Status.STOPPED


def test_when_the_paid_time_is_over_grace_is_counted_from_then(
    free: Agent, clock: Clock, pay: Pay, owner: User
) -> None:
    pay(free)
    clock.at(FREE_UNTIL.replace(month=12))
    tick(free, clock)
    term = signed_in(owner).get(f"/agents/{free.pk}/term").json()["term"]
    assert (term["mode"], term["stopsAt"]) == ("grace", "2026-12-31T12:00:00Z")
    assert term["deletesAt"] == "2027-01-14T12:00:00Z"
    clock.at(FREE_UNTIL.replace(month=12) + 3 * DAY)
    agent = tick(free, clock)
    assert (agent.status, agent.operation, agent.paid) == (Status.STOPPED, Reason.PAYMENT, False)
    assert warnings(agent) == [3, None]


def test_while_the_account_is_suspended_the_term_stands_still(free: Agent, clock: Clock, owner: User) -> None:
    clock.at(NOON + 2 * DAY)
    suspension.suspend(owner, reason="spam", actor="operator:x")
    suspension.enforce()
    settle(free)
    clock.at(NOON + 60 * DAY)
    agent = tick(free, clock)
    assert (warnings(agent), agent.desired) == ([], Desired.STOPPED)
    suspension.restore(owner, actor="operator:x")
    suspension.enforce()
    agent = tick(settle(agent), clock)
    assert (agent.status, warnings(agent)) == (Status.RUNNING, [])
    clock.at(NOON + 58 * DAY + TRIAL - MINUTE)
    assert tick(agent, clock).status == Status.RUNNING
    clock.go(MINUTE)
    assert tick(agent, clock).status == Status.STOPPED


def test_an_internal_agent_is_never_warned_or_stopped(free: Agent, clock: Clock, owner: User) -> None:
    corrections.grant(free, reason="ours", actor="operator:x", now=clock.now)
    clock.at(NOON + 400 * DAY)
    agent = tick(free, clock)
    assert (agent.status, warnings(agent), agent.entitled_until) == (Status.RUNNING, [], None)
    term = signed_in(owner).get(f"/agents/{agent.pk}/term").json()["term"]
    assert term == {
        "mode": "internal",
        "stopsAt": None,
        "deletesAt": None,
        "paidTill": None,
        "paidProvider": "internal",
        "renewUrl": term["renewUrl"],
    }


def test_the_due_scan_reads_its_index(free: Agent) -> None:
    with connection.cursor() as cursor:
        cursor.execute("SET LOCAL enable_seqscan = off")
        query = Agent.objects.term_due(NOON).values_list("pk", flat=True)[: dunning.BATCH]
        assert "agent_term_due" in query.explain()


def test_an_agent_whose_step_fails_does_not_hold_up_the_others(
    make_agent: MakeAgent, clock: Clock, monkeypatch: pytest.MonkeyPatch
) -> None:
    broken, whole = settle(make_agent()), settle(make_agent())
    remind = mails.remind

    def fail(agent: Agent, term: Term, *, day: int) -> None:
        if agent.pk == broken.pk:
            raise RuntimeError("a defect")
        remind(agent, term, day=day)

    monkeypatch.setattr(mails, "remind", fail)
    clock.at(NOON + TRIAL - 3 * DAY)
    dunning.step_due(now=clock.now)
    assert (warnings(broken), warnings(whole)) == ([], [3]), "nothing is half done"
    monkeypatch.undo()
    clock.go(dunning.HELD)
    dunning.step_due(now=clock.now)
    assert warnings(broken) == [3]


def test_a_payment_that_meets_the_deletion_waits_for_it_and_is_kept_for_an_operator(
    free: Agent, clock: Clock, pay: Pay
) -> None:
    clock.at(NOON + TRIAL + MINUTE)
    tick(free, clock)
    clock.at(NOON + TRIAL + KEPT + DAY)
    dunning.step(free.pk, now=clock.now)
    row = pay(free)
    assert row.unapplied
    assert tick(free, clock).status == Status.DELETED
