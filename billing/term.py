"""The term of an agent: what it runs on and until when (docs/spec.md: AgentTerm). A pure function of facts and a time.

The term itself is not stored. `Agent.entitled_until` is a copy for code that must not import billing;
billing/agent_terms.py writes it. While an account is suspended its terms are paused, except a licence's: its provider
goes on counting.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

from billing.vocabulary import SubscriptionStatus, TermMode

# If the provider gives no answer for this long after the paid time, the subscription counts as unpaid.
UNKNOWN_MAX = timedelta(days=7)


@dataclass(frozen=True, slots=True)
class Pause:
    """One suspension of the account; `until` is None while it lasts."""

    since: datetime
    until: datetime | None


@dataclass(frozen=True, slots=True, kw_only=True)
class PaidPart:
    """The part of one subscription that the term depends on."""

    status: SubscriptionStatus
    provider: str | None
    internal: bool
    licensed: bool
    ends: datetime
    counted_at: datetime
    expired_at: datetime | None
    renews: bool = False  # a card will be charged for the next period


@dataclass(frozen=True, slots=True, kw_only=True)
class Rules:
    """How long the trial, the grace and the kept time are, and how many days before the stop notices are sent."""

    trial: timedelta
    grace: timedelta
    kept: timedelta
    notice_days: tuple[int, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Facts:
    """What the term depends on.

    `trial_ends_at` is the end that was promised at creation, plus the suspensions that are over. None: computed by
    Rules.
    """

    created_at: datetime
    trial_ends_at: datetime | None = None
    bought: Sequence[PaidPart] = ()
    pauses: Sequence[Pause] = ()
    stopped_at: datetime | None = None  # when the pod really stopped because nobody paid


@dataclass(frozen=True, slots=True, kw_only=True)
class Term:
    mode: TermMode
    stops_at: datetime | None = None
    deletes_at: datetime | None = None
    paid_till: datetime | None = None
    paid_provider: str | None = None


def term_of(facts: Facts, rules: Rules, *, now: datetime) -> Term:
    """The term as it is now. Internal comes before paid, paid before grace, grace before trial."""
    live = [one for one in facts.bought if one.status != SubscriptionStatus.EXPIRED]
    if internal := next((one for one in live if one.internal), None):
        return Term(mode=TermMode.INTERNAL, paid_provider=internal.provider)
    for one in live:
        if now < runs_until(one, facts.pauses, now=now):
            till = ends(one, facts.pauses, now=now)
            return Term(mode=TermMode.PAID, paid_till=till, paid_provider=one.provider)
    return _unpaid(facts, rules, now=now)


def ends(one: PaidPart, pauses: Sequence[Pause], *, now: datetime) -> datetime:
    """Until when this subscription is paid, including the time of suspensions."""
    return one.ends if one.licensed or one.internal else postponed(one.ends, pauses, since=one.counted_at, now=now)


def runs_until(one: PaidPart, pauses: Sequence[Pause], *, now: datetime) -> datetime:
    """Until when it counts as paid at most: a few days more if a provider renews it, unless the provider says it is
    unpaid.
    """
    end = ends(one, pauses, now=now)
    return end + UNKNOWN_MAX if one.licensed or one.renews else end


def _unpaid(facts: Facts, rules: Rules, *, now: datetime) -> Term:
    """The term of an agent that is not paid for: trial or grace. Grace ends no earlier than the trial would have."""
    mode, stops_at = TermMode.TRIAL, trial_end(facts, rules, now=now)
    lapsed = [_lapsed_at(one, facts.pauses, now=now) for one in facts.bought]
    if lapsed:
        since = max(lapsed)
        mode = TermMode.GRACE
        stops_at = max(stops_at, postponed(since + rules.grace, facts.pauses, since=since, now=now))
    stopped = max(stops_at, facts.stopped_at or stops_at)
    return Term(mode=mode, stops_at=stops_at, deletes_at=stopped + rules.kept)


def trial_end(facts: Facts, rules: Rules, *, now: datetime) -> datetime:
    """When the free days end or ended. Paid time begins after them."""
    if facts.trial_ends_at is None:
        return postponed(facts.created_at + rules.trial, facts.pauses, since=facts.created_at, now=now)
    lasting = [pause for pause in facts.pauses if pause.until is None]
    return postponed(facts.trial_ends_at, lasting, since=facts.created_at, now=now)


def _lapsed_at(one: PaidPart, pauses: Sequence[Pause], *, now: datetime) -> datetime:
    """When payment stopped verifying. If the time is over but not yet marked as expired, its end."""
    return one.expired_at or ends(one, pauses, now=now)


def postponed(moment: datetime, pauses: Sequence[Pause], *, since: datetime, now: datetime) -> datetime:
    """The moment, later by each pause that began before it. Only the part of a pause after `since` counts."""
    for pause in sorted(pauses, key=lambda one: one.since):
        begin, end = max(pause.since, since), pause.until or max(now, pause.since)
        if begin < moment and begin < end:
            moment += end - begin
    return moment
