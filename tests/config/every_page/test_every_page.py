"""No page of the URL map is left out where pages are looked at, and each is what the list says of it."""

from __future__ import annotations

from tests.catalog.pages.test_barriers import PAGES as PUBLIC
from tests.config.every_page.places import FILES, LEAD_ON, PLACES
from tests.config.every_page.routes import pages, route_of


def test_each_page_is_looked_at_in_a_browser() -> None:
    """A new one needs a line in `places.py`, or in `PAGES` of tests/catalog/pages/test_barriers.py."""
    looked_at = {route_of(place) for place in [*PUBLIC, *(place.address for place in PLACES)]}
    assert pages() - looked_at == LEAD_ON | FILES
