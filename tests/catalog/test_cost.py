"""The cost class of a model, from its prices."""

from __future__ import annotations

from decimal import Decimal

import pytest

from catalog import cost


@pytest.mark.parametrize(
    ("input_usd", "output_usd", "expected"),
    [
        ("0", "0", "cheap"),
        ("0.3", "2.5", "cheap"),
        ("0.9999", "0.9999", "cheap"),
        ("1", "1", "mid"),
        ("0", "4", "mid"),
        ("2", "10", "mid"),
        ("4", "11.99", "mid"),
        ("4", "12", "premium"),
        ("10", "50", "premium"),
    ],
)
def test_three_parts_of_input_and_one_of_output_decide(input_usd: str, output_usd: str, expected: str) -> None:
    assert cost.cost_tier(Decimal(input_usd), Decimal(output_usd)) == expected


def test_a_blended_price_is_what_a_million_tokens_of_both_cost() -> None:
    assert cost.blended_usd(Decimal(2), Decimal(10)) == Decimal(4)
