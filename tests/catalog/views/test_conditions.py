"""How `Accept-Encoding` and `If-None-Match` are read."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from catalog.views import conditions

PLAIN, GZIP = '"a"', '"a-gzip"'


@pytest.mark.parametrize(
    "accepted",
    [
        "gzip",
        "GZIP",
        "x-gzip",
        "gzip, deflate, br",
        "gzip;q=0.1",
        "gzip ; q = 0.5",
        "*",
        "*;q=0.5",
        "br, *;q=0.1",
        "identity;q=0, gzip;q=0.5",
        "identity;q=0.5, gzip",
        "identity, gzip",
        "gzip;q=2",
    ],
)
def test_gzip_is_sent_to_who_wants_it(accepted: str) -> None:
    assert conditions.prefers_gzip(accepted)


@pytest.mark.parametrize(
    "accepted",
    [
        "",
        " ",
        ",",
        "identity",
        "br",
        "gzip;q=0",
        "gzip;q=0.000",
        "*;q=0",
        "gzip;q=0, *",
        "gzip;q=x",
        "gzip;q=nan",
        "identity, gzip;q=0.5",
        "identity;q=1.0, *;q=0.5",
        "gzipped",
    ],
)
def test_gzip_is_not_sent_to_who_does_not(accepted: str) -> None:
    assert not conditions.prefers_gzip(accepted)


@given(st.text(max_size=60))
def test_no_header_breaks_the_reading(text: str) -> None:
    assert conditions.prefers_gzip(text) in {True, False}
    assert conditions.matching(text, (PLAIN, GZIP)) in {None, PLAIN, GZIP}


def test_the_preferred_tag_wins() -> None:
    assert conditions.matching(f"{PLAIN}, {GZIP}", (GZIP, PLAIN)) == GZIP
    assert conditions.matching("*", (GZIP, PLAIN)) == GZIP
    assert conditions.matching('"b"', (GZIP, PLAIN)) is None
