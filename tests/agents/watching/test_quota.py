"""The quota's state machine: which status follows from any row of measurements."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from itertools import pairwise, product
from math import ceil

import pytest
from django.db import connection
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from agents.models import Agent, AgentQuota, Desired, QuotaStatus, Transition
from agents.watching import quota
from agents.watching.quota import Move, QuotaState
from catalog.models import Tier
from config.states import IllegalTransition
from tests.agents.conftest import MakeAgent
from tests.at_length import examples

START = datetime(2026, 11, 21, 12, tzinfo=UTC)
MINUTE = timedelta(minutes=1)
MiB = 2**20
OK, WARN, GRACE, PAUSED = QuotaStatus.OK, QuotaStatus.WARN, QuotaStatus.GRACE, QuotaStatus.PAUSED

# The allowed changes of `quotaStatus`. Only an owner's call leads out of `paused`.
ALLOWED = {(OK, WARN), (OK, GRACE), (WARN, OK), (WARN, GRACE), (GRACE, WARN), (GRACE, PAUSED)}

readings = st.lists(
    st.one_of(st.floats(0, 3), st.sampled_from([0.7999, 0.80, 0.8499, 0.85, 0.9499, 0.95])), max_size=90
)

# Sizes and uses of them: any values, and values within two bytes of the border of a band.
borders = st.builds(
    lambda of, border, beside: (max(0, ceil(of * border) + beside), of),
    st.integers(1, 2**50),
    st.sampled_from([0.80, 0.85, 0.95, 1.0]),
    st.integers(-2, 2),
)
uses = st.lists(st.one_of(st.tuples(st.integers(0, 2**50), st.integers(1, 2**50)), borders), min_size=1, max_size=200)
A_LETTER_EACH = {0.5: "l", 0.8: "m", 0.9: "h", 1.0: "f"}


def course(pcts: list[float], *, of: QuotaStatus = OK) -> list[QuotaState]:
    """The state before the first measurement and after each one. There is one measurement a minute."""
    states = [QuotaState(of, "", START)]
    for minute, pct in enumerate(pcts, start=1):
        states.append(quota.step(states[-1], pct=pct, now=START + minute * MINUTE))
    return states


def statuses(pcts: list[float], *, of: QuotaStatus = OK) -> list[str]:
    return [state.status.value for state in course(pcts, of=of)[1:]]


@pytest.mark.parametrize(
    ("of", "pcts", "becomes"),
    [
        (OK, [0.85] * 2, OK),
        (OK, [0.85] * 3, WARN),
        (OK, [0.85, 0.85, 0.84, 0.85, 0.85], OK),
        (OK, [0.84] * 9, OK),
        (OK, [0.95] * 4, WARN),
        (OK, [0.95] * 5, GRACE),
        (WARN, [0.79] * 4, WARN),
        (WARN, [0.79] * 5, OK),
        (WARN, [0.80] * 9, WARN),
        (WARN, [0.79] * 4 + [0.80] + [0.79] * 4, WARN),
        (WARN, [0.95] * 4, WARN),
        (WARN, [0.95] * 5, GRACE),
        (WARN, [0.95] * 4 + [0.94] + [0.95] * 4, WARN),
        (GRACE, [0.94] * 4, GRACE),
        (GRACE, [0.94] * 5, WARN),
        (GRACE, [0.10] * 5, WARN),
        (GRACE, [0.94] * 4 + [0.95] + [0.94] * 4, GRACE),
        (GRACE, [0.95] * 59, GRACE),
        (GRACE, [0.95] * 60, PAUSED),
        (PAUSED, [0.10] * 90, PAUSED),
    ],
)
def test_what_a_row_of_measurements_makes_of_a_status(of: QuotaStatus, pcts: list[float], becomes: QuotaStatus) -> None:
    assert course(pcts, of=of)[-1].status == becomes


def test_an_agent_that_stays_over_its_limit_is_warned_then_in_grace_for_an_hour_then_paused() -> None:
    assert statuses([1.2] * 66) == ["ok"] * 2 + ["warn"] * 2 + ["grace"] * 60 + ["paused"] * 2


def test_an_hour_that_passes_without_measurements_is_over_at_the_next_one() -> None:
    late = quota.step(QuotaState(GRACE, "fffff", START), pct=1.0, now=START + timedelta(hours=9))
    assert late.status == PAUSED


def test_whoever_has_come_below_the_limit_in_time_is_not_stopped_by_the_same_measurement() -> None:
    below = quota.step(QuotaState(GRACE, "hhhh", START), pct=0.9, now=START + quota.GRACE_PERIOD)
    assert below.status == WARN


@given(readings, st.sampled_from(QuotaStatus))
def test_only_the_moves_of_the_table_happen_and_since_tells_when(pcts: list[float], of: QuotaStatus) -> None:
    for before, after in pairwise(course(pcts, of=of)):
        assert before.status == after.status or (before.status, after.status) in ALLOWED
        assert (before.since == after.since) == (before.status == after.status)
        assert len(after.recent) <= quota.WINDOW


@given(readings)
def test_a_stop_always_follows_an_hour_of_grace_that_five_full_measurements_began(pcts: list[float]) -> None:
    states = course(pcts)
    for minute, (before, after) in enumerate(pairwise(states), start=1):
        if after.status == GRACE != before.status:
            assert all(pct >= 0.95 for pct in pcts[minute - 5 : minute])
        if after.status == PAUSED != before.status:
            assert all(state.status == GRACE for state in states[minute - 60 : minute])


@given(st.lists(st.floats(0, 0.8499), max_size=90))
def test_whoever_stays_below_85_percent_hears_nothing(pcts: list[float]) -> None:
    assert set(statuses(pcts)) <= {"ok"}


@given(readings, st.lists(st.floats(0, 0.7999), min_size=10, max_size=20))
def test_ten_quiet_minutes_end_every_warning_and_every_grace_that_is_not_over(
    pcts: list[float], quiet: list[float]
) -> None:
    assert statuses(pcts + quiet)[-1] in {"ok", "paused"}


@given(readings, st.floats(0.95, 3))
def test_a_full_hour_and_five_minutes_over_the_limit_always_end_in_a_stop(pcts: list[float], pct: float) -> None:
    assert statuses(pcts + [pct] * 65)[-1] == "paused"


@pytest.mark.parametrize("of", QuotaStatus)
@pytest.mark.parametrize("waited", [timedelta(0), quota.GRACE_PERIOD])
def test_nobody_moves_by_a_measurement_that_the_sweep_leaves_in_the_database(
    of: QuotaStatus, waited: timedelta
) -> None:
    windows = [window for length in range(quota.WINDOW + 1) for window in product("lmhf", repeat=length)]
    for window, (pct, letter) in product(windows, A_LETTER_EACH.items()):
        after = quota.step(QuotaState(of, "".join(window), START), pct=pct, now=START + waited)
        assert after.status == of or of + letter in quota.MAY_MOVE


def test_most_agents_stay_in_the_database() -> None:
    assert not {"okl", "okm", "warnm", "warnh", "pausedl", "pausedf"} & quota.MAY_MOVE


@pytest.mark.django_db
@settings(max_examples=examples(50), deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(uses)
def test_the_database_sees_the_bands_that_the_state_machine_sees(uses: list[tuple[int, int]]) -> None:
    band = quota.band_sql("used::float8 / size")
    with connection.cursor() as cursor:
        cursor.execute(
            f"SELECT {band} FROM unnest(%s::bigint[], %s::bigint[]) WITH ORDINALITY AS u(used, size, n) ORDER BY n",
            [[used for used, _ in uses], [of for _, of in uses]],
        )
        seen = [letter for (letter,) in cursor.fetchall()]
    assert seen == [quota.band_of(used / of) for used, of in uses]


@pytest.mark.parametrize(
    ("memory", "disk", "larger"), [(2, 2, True), (2, 1, True), (1, 1, False), (2, 0, False), (0, 2, False)]
)
def test_a_larger_tier_has_more_of_one_and_less_of_neither(memory: int, disk: int, larger: bool) -> None:
    tier = Tier(memory_mib=memory, disk_gib=disk)
    assert quota.is_larger(tier, than=Tier(memory_mib=1, disk_gib=1)) is larger


# What a status says about a measurement, and what a change of status writes.


@pytest.mark.parametrize(("status", "ends"), [(GRACE, START + 60 * MINUTE), (OK, None), (WARN, None), (PAUSED, None)])
def test_the_pod_is_stopped_an_hour_after_its_grace_began(status: QuotaStatus, ends: datetime | None) -> None:
    assert quota.ends_at(AgentQuota(status=status, since=START)) == ends


@pytest.mark.parametrize(
    ("used", "of", "words"),
    [
        (256 * MiB, 512 * MiB, "256 of 512 MiB (50%)"),
        (0, 512 * MiB, "0 of 512 MiB (0%)"),
        (None, 512 * MiB, "unknown"),
        (1, None, "unknown"),
        (1, 0, "unknown"),
    ],
)
def test_a_measurement_is_told_in_mib_and_percent_of_the_tier(used: int | None, of: int | None, words: str) -> None:
    full = {"memory_used_bytes": 3 * MiB, "memory_limit_bytes": 4 * MiB}
    assert quota.measured(AgentQuota(disk_used_bytes=used, disk_total_bytes=of, **full)) == [
        "memory: 3 of 4 MiB (75%)",
        f"disk: {words}",
    ]


def measured(agent: Agent, status: QuotaStatus, recent: str = "hhh") -> QuotaState:
    AgentQuota.objects.create(agent=agent, status=status, recent=recent, since=START, updated_at=START)
    return QuotaState(status, recent, START)


def standing(agent: Agent) -> QuotaState:
    row = AgentQuota.objects.get(pk=agent.pk)
    return QuotaState(QuotaStatus(row.status), row.recent, row.since)


def notes(agent: Agent) -> list[tuple[str, str, str, datetime]]:
    rows = Transition.objects.filter(agent=agent, note__startswith="quota").order_by("id")
    return list(rows.values_list("note", "reason", "actor", "at"))


def test_moves_are_written_with_their_lines_on_the_timeline(make_agent: MakeAgent) -> None:
    near, full = make_agent(), make_agent()
    moves = [
        Move(agent_id=near.pk, was=measured(near, OK), to=WARN, why="memory 90%, disk 1%"),
        Move(agent_id=full.pk, was=measured(full, WARN, "fffff"), to=GRACE, why="memory 99%, disk 1%"),
    ]
    assert quota.move(moves, now=START + MINUTE) == {near.pk, full.pk}
    assert standing(near) == QuotaState(WARN, "hhh", START + MINUTE)
    assert standing(full) == QuotaState(GRACE, "fffff", START + MINUTE)
    assert notes(near) == [("quota ok to warn: memory 90%, disk 1%", "quota", "quota", START + MINUTE)]
    assert notes(full) == [("quota warn to grace: memory 99%, disk 1%", "quota", "quota", START + MINUTE)]


@pytest.mark.parametrize("meanwhile", ["stopped", "moved", "began anew"])
def test_what_has_changed_since_it_was_measured_does_not_move(make_agent: MakeAgent, meanwhile: str) -> None:
    agent = make_agent()
    move = Move(agent_id=agent.pk, was=measured(agent, WARN), to=GRACE, why="memory 99%")
    if meanwhile == "stopped":
        Agent.objects.update(desired=Desired.STOPPED)
    elif meanwhile == "moved":
        AgentQuota.objects.update(status=OK)
    else:
        AgentQuota.objects.update(since=START + MINUTE)
    before = standing(agent)
    assert quota.move([move], now=START + 2 * MINUTE) == set()
    assert (standing(agent), notes(agent)) == (before, [])


@pytest.mark.parametrize(("was", "to"), [(OK, PAUSED), (PAUSED, WARN), (WARN, PAUSED), (PAUSED, GRACE)])
def test_a_move_that_the_table_lacks_is_a_defect(make_agent: MakeAgent, was: QuotaStatus, to: QuotaStatus) -> None:
    agent = make_agent()
    with pytest.raises(IllegalTransition):
        quota.move([Move(agent_id=agent.pk, was=measured(agent, was), to=to, why="")], now=START)


@pytest.mark.parametrize("of", QuotaStatus)
def test_a_fresh_start_is_ok_without_measurements_and_on_the_timeline_if_it_changes_the_status(
    make_agent: MakeAgent, of: QuotaStatus
) -> None:
    agent = make_agent()
    quota.start_afresh(agent, actor="user:u", now=START)
    assert notes(agent) == [], "an agent that was never measured has nothing to forget"
    measured(agent, of)
    quota.start_afresh(agent, actor="user:u", now=START + MINUTE)
    assert standing(agent) == QuotaState(OK, "", START + MINUTE)
    assert notes(agent) == ([] if of == OK else [(f"quota {of} to ok", "quota", "user:u", START + MINUTE)])


@pytest.mark.django_db(transaction=True)
def test_moves_are_a_transaction_of_their_own(make_agent: MakeAgent) -> None:
    """They lock the agents' rows, which PostgreSQL does only inside of a transaction."""
    agent = make_agent()
    assert quota.move([Move(agent_id=agent.pk, was=measured(agent, OK), to=WARN, why="")], now=START) == {agent.pk}
