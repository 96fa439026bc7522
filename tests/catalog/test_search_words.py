"""How a visitor's search text is read."""

from __future__ import annotations

import pytest

from catalog import search_words
from catalog.search_words import SearchWords


@pytest.mark.parametrize(
    ("typed", "wanted", "unwanted", "begun", "before_it"),
    [
        ("Exam plans", "exam plans", "", "plans", "exam"),
        ("exam plans ", "exam plans", "", "", ""),
        ("exam plans?", "exam plans", "", "", ""),
        ("exam p", "exam p", "", "", ""),
        ('exam "two words"', 'exam "two words"', "", "", ""),
        ('"two words" exam', '"two words" exam', "", "exam", '"two words"'),
        ('an "open quote', "an open quote", "", "quote", "an open"),
        ("exam -school", "exam", "school", "", ""),
        ('-school -"two words" exam', "exam", 'school or "two words"', "exam", ""),
        ("e-mail", "e mail", "", "mail", "e"),
        ("exam or", "exam or", "", "", ""),
        ("«Экзамены» — ёлка", "экзамены ёлка", "", "ёлка", "экзамены"),
        ("C++/C#", "c c", "", "", ""),
        ("ＥＸＡＭ", "exam", "", "exam", ""),
        ("?! - -- '", "", "", "", ""),
    ],
)
def test_words_are_read(typed: str, wanted: str, unwanted: str, begun: str, before_it: str) -> None:
    assert search_words.read(typed, lang="en") == SearchWords(wanted, unwanted, begun, before_it)


def test_only_turkish_has_a_capital_without_a_dot() -> None:
    assert search_words.read("IŞIK İstanbul ", lang="tr").wanted == "ışık istanbul"
    assert search_words.read("IŞIK İstanbul ", lang="en").wanted == "işik istanbul"


def test_nothing_to_search_for_is_false() -> None:
    assert not search_words.read("?!", lang="en")
    assert search_words.read("-exam", lang="en")
