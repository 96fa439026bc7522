"""Every page of the URL map is checked in a browser, or is on a list of exceptions."""

from __future__ import annotations

from tests.config.every_page.page_addresses import FILES, LEAD_ON, PLACES
from tests.config.every_page.routes import pages, route_of
from tests.pages.public.test_barriers import PAGES as PUBLIC


def test_each_page_is_looked_at_in_a_browser() -> None:
    """A new page needs a line in `page_addresses.py`, or in `PAGES` of tests/pages/public/test_barriers.py."""
    looked_at = {route_of(place) for place in [*PUBLIC, *(place.address for place in PLACES)]}
    assert pages() - looked_at == LEAD_ON | FILES
