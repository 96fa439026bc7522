"""What is left of one plan, as time of another."""

from __future__ import annotations

from datetime import timedelta
from decimal import Decimal
from fractions import Fraction

from hypothesis import example, given
from hypothesis import strategies as st

from billing import periods
from billing.vocabulary import Period

PRICES = st.decimals(min_value="1.00", max_value="9999.99", places=2)
PERIODS = st.sampled_from(list(Period))


@given(st.integers(0, 100_000_000), PRICES, PERIODS, PRICES, PERIODS)
@example(2_592_000, Decimal(5), Period.MONTHLY, Decimal(10), Period.MONTHLY)
@example(31_536_000, Decimal(9), Period.MONTHLY, Decimal(90), Period.ANNUAL)
def test_value_is_converted_exactly_and_only_a_part_of_a_second_is_lost(
    seconds: int, old_usd: Decimal, old: Period, new_usd: Decimal, new: Period
) -> None:
    worth = Fraction(seconds) * Fraction(old_usd) / periods.MONTHS[old]
    exact = worth / (Fraction(new_usd) / periods.MONTHS[new])
    left = timedelta(seconds=seconds)
    got = periods.converted(left, old_usd=old_usd, old=old, new_usd=new_usd, new=new)
    assert got == timedelta(seconds=exact.numerator // exact.denominator)
