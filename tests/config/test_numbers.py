from __future__ import annotations

import pytest

from config.numbers import amount, whole

ODD = [
    "",
    " ",
    "5_0",
    "+5",
    "-5",
    " 5",
    "5 ",
    "5\n",
    "٥",
    "５",
    "²",
    "5e3",
    "0x5",
    "5L",
    "NaN",
    "Infinity",
    "1" * 5_000,
]


@pytest.mark.parametrize("text", [*ODD, "5.0", "5,0", "1 000"])
def test_what_is_not_plain_digits_is_no_whole_number(text: str) -> None:
    assert whole(text) is None


@pytest.mark.parametrize("text", [*ODD, ".5", "5.", "5,,0", "1,000.00", "5.0.0", "1e400"])
def test_what_a_person_would_not_write_is_no_amount(text: str) -> None:
    assert amount(text) is None


def test_plain_digits_are_numbers() -> None:
    assert [whole(text) for text in ("0", "7", "007", "1000")] == [0, 7, 7, 1000]
    assert [amount(text) for text in ("5", "0.50", "0,5", "12.345")] == [5.0, 0.5, 0.5, 12.345]
