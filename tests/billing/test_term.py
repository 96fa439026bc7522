"""The term as a pure function, compared with a model that counts hour by hour and knows no intervals."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from billing.term import UNKNOWN_MAX, Facts, PaidPart, Pause, Rules, Term, ends, term_of
from billing.vocabulary import FOREVER, SubscriptionStatus, TermMode
from tests.billing.conftest import DAY, NOON

HOUR = timedelta(hours=1)
RULES = Rules(trial=7 * DAY, grace=3 * DAY, kept=14 * DAY, notice_days=(3, 2, 1))
TRIAL, GRACE, PAID, INTERNAL = TermMode.TRIAL, TermMode.GRACE, TermMode.PAID, TermMode.INTERNAL
ACTIVE, CANCELED, EXPIRED = SubscriptionStatus.ACTIVE, SubscriptionStatus.CANCELED, SubscriptionStatus.EXPIRED


def bought(**changes: object) -> PaidPart:
    values: dict[str, object] = {
        "status": ACTIVE,
        "provider": "usdc",
        "internal": False,
        "licensed": False,
        "ends": NOON + 30 * DAY,
        "counted_at": NOON,
        "expired_at": None,
    }
    return PaidPart(**values | changes)  # type: ignore[arg-type]  # a table of them


def term_at(
    after: timedelta, *rows: PaidPart, pauses: tuple[Pause, ...] = (), stopped: timedelta | None = None
) -> Term:
    stopped_at = None if stopped is None else NOON + stopped
    facts = Facts(created_at=NOON, bought=rows, pauses=pauses, stopped_at=stopped_at)
    return term_of(facts, RULES, now=NOON + after)


def test_a_new_agent_is_on_trial_from_its_creation() -> None:
    assert term_at(2 * DAY) == Term(mode=TRIAL, stops_at=NOON + 7 * DAY, deletes_at=NOON + 21 * DAY)


def test_what_was_paid_and_is_over_leaves_the_trial_its_days() -> None:
    row = bought(status=EXPIRED, expired_at=NOON + DAY, ends=NOON + DAY)
    assert term_at(2 * DAY, row) == Term(mode=GRACE, stops_at=NOON + 7 * DAY, deletes_at=NOON + 21 * DAY)


def test_the_end_that_was_promised_at_creation_comes_before_the_rules_of_today() -> None:
    facts = Facts(created_at=NOON, trial_ends_at=NOON + 14 * DAY)
    assert term_of(facts, RULES, now=NOON + 10 * DAY).stops_at == NOON + 14 * DAY


def test_of_a_promised_end_only_the_suspension_that_lasts_is_still_to_be_given_back() -> None:
    over, lasting = Pause(NOON + DAY, NOON + 2 * DAY), Pause(NOON + 3 * DAY, None)
    facts = Facts(created_at=NOON, trial_ends_at=NOON + 8 * DAY, pauses=(over, lasting))
    assert term_of(facts, RULES, now=NOON + 5 * DAY).stops_at == NOON + 10 * DAY


def test_deletion_counts_from_the_stop_that_really_happened() -> None:
    assert term_at(20 * DAY, stopped=12 * DAY).deletes_at == NOON + 26 * DAY
    assert term_at(8 * DAY, stopped=2 * DAY).deletes_at == NOON + 21 * DAY


@pytest.mark.parametrize("status", [ACTIVE, CANCELED])
def test_what_is_paid_or_canceled_runs_until_its_end(status: SubscriptionStatus) -> None:
    row = bought(status=status)
    assert term_at(29 * DAY, row) == Term(mode=PAID, paid_till=NOON + 30 * DAY, paid_provider="usdc")
    assert term_at(30 * DAY, row).mode == GRACE


def test_grace_counts_from_the_end_of_payment_and_not_from_the_creation() -> None:
    row = bought(status=EXPIRED, expired_at=NOON + 100 * DAY, ends=NOON + 100 * DAY)
    assert term_at(101 * DAY, row) == Term(mode=GRACE, stops_at=NOON + 103 * DAY, deletes_at=NOON + 117 * DAY)


def test_internal_comes_before_all_and_has_no_dates() -> None:
    rows = bought(), bought(internal=True, provider="internal", ends=FOREVER)
    assert term_at(400 * DAY, *rows) == Term(mode=INTERNAL, paid_provider="internal")


def test_a_licence_whose_provider_is_silent_stays_paid_for_some_days() -> None:
    row = bought(licensed=True, provider="gumroad")
    assert term_at(30 * DAY + UNKNOWN_MAX - HOUR, row).mode == PAID
    assert term_at(30 * DAY + UNKNOWN_MAX, row).mode == GRACE


@pytest.mark.parametrize("kind", [{"licensed": True}, {"renews": True}])
def test_what_a_provider_renews_counts_as_paid_for_seven_days_of_silence_and_no_longer(kind: dict[str, bool]) -> None:
    row = bought(**kind)
    assert term_at(37 * DAY - HOUR, row) == Term(mode=PAID, paid_till=NOON + 30 * DAY, paid_provider="usdc")
    assert term_at(37 * DAY, row).mode == GRACE


def test_a_suspension_gives_back_paid_days_but_not_those_of_a_licence_whose_provider_goes_on_counting() -> None:
    pauses = (Pause(NOON + 10 * DAY, NOON + 15 * DAY),)
    assert term_at(20 * DAY, bought(), pauses=pauses).paid_till == NOON + 35 * DAY
    assert term_at(20 * DAY, bought(licensed=True), pauses=pauses).paid_till == NOON + 30 * DAY


def test_an_internal_grant_has_no_end_that_a_suspension_could_move() -> None:
    assert ends(bought(internal=True, ends=FOREVER), [Pause(NOON, None)], now=NOON + 400 * DAY) == FOREVER


def test_a_suspension_that_was_over_before_the_payment_gives_no_days() -> None:
    row = bought(counted_at=NOON + 5 * DAY)
    assert term_at(10 * DAY, row, pauses=(Pause(NOON + DAY, NOON + 3 * DAY),)).paid_till == NOON + 30 * DAY


def test_a_suspension_that_lasts_through_the_payment_gives_back_the_days_after_it() -> None:
    row = bought(counted_at=NOON + 5 * DAY)
    assert term_at(10 * DAY, row, pauses=(Pause(NOON + DAY, NOON + 8 * DAY),)).paid_till == NOON + 33 * DAY


def test_a_suspension_that_begins_when_the_paid_time_ends_gives_no_days() -> None:
    pauses = (Pause(NOON + 30 * DAY, NOON + 33 * DAY),)
    assert ends(bought(), pauses, now=NOON + 40 * DAY) == NOON + 30 * DAY


def test_grace_that_a_suspension_interrupts_goes_on_afterwards() -> None:
    row = bought(status=EXPIRED, expired_at=NOON + 30 * DAY)
    over, lasting = Pause(NOON + 31 * DAY, NOON + 41 * DAY), Pause(NOON + 31 * DAY, None)
    assert term_at(42 * DAY, row, pauses=(over,)).stops_at == NOON + 43 * DAY
    assert term_at(42 * DAY, row, pauses=(lasting,)).stops_at == NOON + 44 * DAY


def test_grace_counts_from_the_moment_when_payment_stopped_verifying() -> None:
    row = bought(status=EXPIRED, expired_at=NOON + 12 * DAY, ends=NOON + 30 * DAY)
    assert term_at(13 * DAY, row).stops_at == NOON + 15 * DAY


def test_of_several_payments_that_ended_the_last_one_counts() -> None:
    rows = [bought(status=EXPIRED, expired_at=NOON + days * DAY, ends=NOON + days * DAY) for days in (40, 10, 20)]
    assert term_at(41 * DAY, *rows).stops_at == NOON + 43 * DAY


# The model that counts single hours.


@dataclass
class Hours:
    """An account's life in whole hours: free hours from its creation, then paid hours, then grace.

    A suspended hour uses up nothing. Grace ends no earlier than the free hours.
    """

    now: int = 0
    free: int = 7 * 24
    paid: int = 0
    grace: int | None = None
    suspended: bool = False
    bought: list[tuple[int, int]] = field(default_factory=list)

    def pass_by(self, hours: int) -> None:
        for _ in range(hours):
            self.now += 1
            if not self.suspended:
                self._use_one()

    def _use_one(self) -> None:
        self.free = max(0, self.free - 1)
        if self.paid:
            self.paid -= 1
            self.grace = 3 * 24 if self.paid == 0 else None
        elif self.grace is not None:
            self.grace = max(0, self.grace - 1)

    @property
    def mode(self) -> TermMode:
        if self.paid:
            return PAID
        return TRIAL if self.grace is None else GRACE

    @property
    def left(self) -> int:
        return self.paid or max(self.free, self.grace or 0)


steps = st.lists(
    st.one_of(
        st.tuples(st.just("wait"), st.integers(1, 400)),
        st.tuples(st.just("pay"), st.integers(1, 900)),
        st.tuples(st.just("refund"), st.just(0)),
        st.tuples(st.just("suspend"), st.just(0)),
        st.tuples(st.just("restore"), st.just(0)),
    ),
    max_size=25,
)


class Rows:
    """The same life as rows, as billing/subscriptions.py writes them, with one live subscription at most."""

    def __init__(self) -> None:
        self.rows: list[PaidPart] = []
        self.pauses: list[Pause] = []

    def facts(self) -> Facts:
        return Facts(created_at=NOON, bought=self.rows, pauses=self.pauses)

    def pay(self, hours: int, *, now: int) -> None:
        moment = NOON + now * HOUR
        before = term_of(self.facts(), RULES, now=moment)
        if before.paid_till is not None:
            self.rows[-1] = bought(ends=before.paid_till + hours * HOUR, counted_at=moment)
        else:
            self._write_down_what_ended(moment)
            self.rows.append(bought(ends=moment + hours * HOUR, counted_at=moment))

    def _write_down_what_ended(self, moment: object) -> None:
        term = term_of(self.facts(), RULES, now=moment)  # type: ignore[arg-type]  # a datetime
        if self.rows and self.rows[-1].status == ACTIVE and term.stops_at is not None:
            ended = self.rows[-1].ends
            self.rows[-1] = bought(status=EXPIRED, ends=ended, expired_at=ended)

    def refund(self, *, now: int) -> None:
        moment = NOON + now * HOUR
        if term_of(self.facts(), RULES, now=moment).mode == PAID:
            self.rows[-1] = bought(status=EXPIRED, ends=moment, expired_at=moment)

    def suspend(self, *, now: int) -> None:
        self.pauses.append(Pause(NOON + now * HOUR, None))

    def restore(self, *, now: int) -> None:
        self.pauses[-1] = Pause(self.pauses[-1].since, NOON + now * HOUR)


@given(steps)
def test_any_history_gives_the_mode_and_the_time_left_that_a_ticking_clock_gives(
    history: list[tuple[str, int]],
) -> None:
    hours, rows = Hours(), Rows()
    for what, amount in history:
        match what:
            case "wait":
                hours.pass_by(amount)
            case "pay" if not hours.suspended:  # a suspended account cannot use the API
                rows.pay(amount, now=hours.now)
                hours.paid, hours.grace = hours.paid + amount, None
            case "refund" if hours.paid and not hours.suspended:
                rows.refund(now=hours.now)
                hours.paid, hours.grace = 0, 3 * 24
            case "suspend" if not hours.suspended:
                rows.suspend(now=hours.now)
                hours.suspended = True
            case "restore" if hours.suspended:
                rows.restore(now=hours.now)
                hours.suspended = False
    now = NOON + hours.now * HOUR
    term = term_of(rows.facts(), RULES, now=now)
    assert term.mode == hours.mode
    until = term.paid_till or term.stops_at
    assert until is not None
    assert max(until - now, timedelta(0)) == hours.left * HOUR


@given(steps, st.integers(1, 5_000))
def test_a_clock_that_jumps_ahead_never_gives_time_back(history: list[tuple[str, int]], jump: int) -> None:
    rows, now = Rows(), 0
    for what, amount in history:
        if what == "wait":
            now += amount
        if what == "pay":
            rows.pay(amount, now=now)
    first, later = (term_of(rows.facts(), RULES, now=NOON + at * HOUR) for at in (now, now + jump))
    order = [TRIAL, GRACE] if not rows.rows else [PAID, GRACE]
    assert order.index(first.mode) <= order.index(later.mode)
