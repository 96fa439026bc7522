"""When a limit of money begins anew, and which of two limits tells it."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest

from agents.pod.gateway.spending.limits import LimitReached, SpendingLimits, Spent, check_money, seconds_left

DAY = 24 * 3600


def at(*moment: int) -> float:
    return datetime(*moment, tzinfo=UTC).timestamp()  # type: ignore[arg-type,misc]  # year, month, day, hour, …


@pytest.mark.parametrize(
    ("period", "now", "seconds"),
    [
        ("day", at(2026, 11, 29, 23, 59, 59), 1),
        ("day", at(2026, 11, 29), DAY),
        ("day", at(2026, 12, 31, 12), DAY / 2),
        ("day", at(2026, 11, 29, 23, 59, 59) + 0.9, 1),
        ("month", at(2026, 11, 29), 2 * DAY),
        ("month", at(2026, 1, 31, 12), DAY / 2),
        ("month", at(2028, 2, 1), 29 * DAY),
        ("month", at(2026, 12, 1), 31 * DAY),
    ],
)
def test_a_limit_begins_anew_with_the_day_or_the_month_in_utc(period: str, now: float, seconds: int) -> None:
    assert seconds_left(period, now=now) == seconds


def test_where_both_are_used_up_the_month_is_told() -> None:
    limits = SpendingLimits(day=10, month=20)
    for spent, words, seconds in (
        (Spent(day=20, month=20), "for a month is reached", 2 * DAY),
        (Spent(day=10, month=10), "for a day is reached", DAY),
    ):
        with pytest.raises(LimitReached, match=words) as refused:
            check_money(limits, spent, 0, now=at(2026, 11, 29))
        assert (refused.value.status, refused.value.seconds, refused.value.headers) == (402, seconds, {})


def test_a_day_that_is_used_up_is_told_before_a_month_that_may_be_soon() -> None:
    with pytest.raises(LimitReached, match="for a day is reached"):
        check_money(SpendingLimits(day=10, month=20), Spent(day=10, month=15), 9, now=at(2026, 11, 29))
