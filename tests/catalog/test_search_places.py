"""Cursors: only the search that gave a cursor accepts it."""

from __future__ import annotations

import base64

import pytest

from catalog.search_places import LONGEST_CURSOR, ForeignCursor, SearchPosition, cursor_of, place_of

pytestmark = pytest.mark.unmeasured

PLACES = [
    SearchPosition(None, 0, "exam-coach"),
    SearchPosition(0.0, 2**31 - 1, "a" * 80),
    SearchPosition(0.6079270839691162, 10_000, "night-owl-x4k2p9"),
    SearchPosition(1.401298464324817e-45, 3, "a"),
]


def encoded(told: str) -> str:
    return base64.urlsafe_b64encode(told.encode()).decode()


@pytest.mark.parametrize("place", PLACES)
def test_a_place_comes_back_as_it_was(place: SearchPosition) -> None:
    cursor = cursor_of(place, search="123456789abc")
    assert place_of(cursor, search="123456789abc") == place
    assert len(cursor) <= LONGEST_CURSOR


def test_a_cursor_of_another_search_is_refused() -> None:
    with pytest.raises(ForeignCursor, match=r"^cursor: "):
        place_of(cursor_of(PLACES[0], search="a"), search="b")


@pytest.mark.parametrize(
    "cursor",
    [
        "", "x", "é", "====", "\x00", encoded("s"), encoded("s|||"), encoded("s||1|"), encoded("s||1|a|b"),
        encoded("s||1|A"), encoded("s||1|a\x00"), encoded("s||1|" + "a" * 81), encoded("s||-1|a"),
        encoded("s||2147483648|a"), encoded("s||1.5|a"), encoded("s||１|a"), encoded("s|| 1|a"), encoded("s|zz|1|a"),
        encoded("s|7fc00000|1|a"), encoded("s|7f800000|1|a"), encoded("s|bf800000|1|a"), encoded("s|3f80|1|a"),
        encoded("s|3F800000|1|a"), encoded("s||" + "1" * 5_000 + "|a"), encoded("s||1|a") + "\n",
    ],
)  # fmt: skip
def test_what_is_no_cursor_is_refused(cursor: str) -> None:
    with pytest.raises(ForeignCursor):
        place_of(cursor, search="s")
