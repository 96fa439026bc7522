"""Public pages, opened as a visitor does."""

from __future__ import annotations

from typing import Any

import pytest
from django.conf import settings
from rest_framework.test import APIClient

from catalog.models import Persona, PersonaL10n
from tests.agents.conftest import make_agent, owner, runtime
from tests.catalog.conftest import author, catalog, community, contents, fresh_memory
from tests.pages.page import Open, Page

__all__ = ["author", "catalog", "community", "contents", "fresh_memory", "make_agent", "owner", "runtime"]


@pytest.fixture
def open_page(api: APIClient) -> Open:
    """Opens the page at a path or address of ours; the page must exist."""

    def opened(path: str, data: dict[str, str] | None = None, **headers: Any) -> Page:
        answer = api.get(path.removeprefix(settings.BASE_URL), data, **headers)
        assert answer.status_code == 200, (path, answer.status_code)
        return Page(answer.content.decode())

    return opened


@pytest.fixture
def localized(community: Persona) -> Persona:
    """The community persona with only the required fields of a localization."""
    PersonaL10n.objects.create(
        persona=community, lang="ind", name="Burung Hantu", tagline="Teman", for_who="Pekerja malam", does=["Menemani"]
    )
    return community
