"""The pages that are prepared before the first visitor comes."""

from __future__ import annotations

import pytest

from catalog.models import Persona
from catalog.pages import shelves, sitemap, warming


@pytest.mark.usefixtures("catalog")
def test_shelves_and_sitemap_are_those_of_the_catalog_now(community: Persona) -> None:
    warming.once()
    sorted_once, listed_once = shelves.current(), sitemap.listed()
    assert community.id in {one.id for one in sorted_once.newest}
    warming.once()
    assert shelves.current() is sorted_once
    assert sitemap.listed() is listed_once
