"""Which backups are kept: all of the last day, then one for each of 7 days, 4 weeks and 3 months."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

from agents.backups import retention

NOW = datetime(2026, 11, 24, 12, tzinfo=UTC)


def nightly(days: int) -> list[datetime]:
    return [NOW - timedelta(days=day) for day in range(days)]


def test_a_year_of_nights_leaves_days_weeks_and_months() -> None:
    kept = sorted(retention.kept(nightly(365), now=NOW), reverse=True)
    assert kept[:7] == nightly(7)
    assert [at.date().isoformat() for at in kept[7:]] == ["2026-11-15", "2026-11-08", "2026-10-31", "2026-09-30"]


def test_all_of_the_last_day_are_kept() -> None:
    taken = [NOW - timedelta(minutes=minute) for minute in range(20)]
    assert retention.kept(taken, now=NOW) == set(taken)


def test_who_backs_up_without_end_keeps_an_end() -> None:
    taken = [NOW - timedelta(seconds=second) for second in range(500)]
    assert len(retention.kept(taken, now=NOW)) <= retention.MOST_FRESH + 1


def test_the_newest_is_kept_however_old_it_is() -> None:
    old = NOW - timedelta(days=3_000)
    assert retention.kept([old], now=NOW) == {old}


def test_a_kept_one_stays_kept_until_its_time_is_over() -> None:
    """The rule is applied each night: no later night needs a backup that an earlier night has deleted."""
    there: set[datetime] = set()
    for at in reversed(nightly(200)):
        there = retention.kept(there | {at}, now=at)
        assert at in there
        assert len(there) <= retention.DAILY + retention.WEEKLY + retention.MONTHLY
    assert max(NOW - at for at in there) > timedelta(days=50)
