"""Converting value to time of a plan, and time to value."""

from __future__ import annotations

from datetime import timedelta
from decimal import Decimal
from fractions import Fraction

from hypothesis import example, given
from hypothesis import strategies as st

from billing import periods
from billing.vocabulary import Period

PRICES = st.decimals(min_value="1.00", max_value="9999.99", places=2)
A_YEAR_COSTS = {Period.MONTHLY: 12, Period.ANNUAL: 1}  # the number of periods in a year's price
YEAR_SECONDS = 31_536_000


@given(st.decimals(min_value="0", max_value="99999", places=4), PRICES, st.sampled_from(list(Period)))
@example(Decimal(10), Decimal(10), Period.MONTHLY)
@example(Decimal(90), Decimal(90), Period.ANNUAL)
def test_value_buys_time_exactly_and_only_a_part_of_a_second_is_lost(
    value: Decimal, usd: Decimal, period: Period
) -> None:
    exact = Fraction(value) / (Fraction(usd) * A_YEAR_COSTS[period]) * YEAR_SECONDS
    bought = periods.bought_by(Fraction(value), usd=usd, period=period)
    assert bought == timedelta(seconds=exact.numerator // exact.denominator)


@given(st.integers(0, 400_000_000), PRICES, st.sampled_from(list(Period)))
def test_what_time_is_worth_buys_that_time_again(seconds: int, usd: Decimal, period: Period) -> None:
    worth = periods.worth(timedelta(seconds=seconds), usd=usd, period=period)
    again = periods.bought_by(worth, usd=usd, period=period)
    assert again == timedelta(seconds=seconds)
