"""The version of the catalog."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest
import time_machine

from catalog import version
from catalog.models import Article, Persona
from catalog.version import CatalogVersion

pytestmark = pytest.mark.django_db

NOON = datetime(2026, 11, 21, 12, tzinfo=UTC)


def test_an_empty_catalog_never_changed() -> None:
    assert version.updated_at() is None
    assert version.current() == ""


def test_every_bump_is_another_version_of_one_row() -> None:
    with time_machine.travel(NOON, tick=False):
        version.bump()
        first = version.current()
        version.bump()
    assert version.updated_at() == NOON
    assert version.current() != first
    assert str(CatalogVersion.objects.get()) == version.current()


@pytest.mark.usefixtures("community")
def test_saving_or_deleting_any_row_is_another_version() -> None:
    tokens = {CatalogVersion.objects.get().token}
    persona = Persona.objects.get(id="night-owl")
    persona.save()
    tokens.add(CatalogVersion.objects.get().token)
    article = Article.objects.create(persona=persona, slug="first", title="First", body="x")
    tokens.add(CatalogVersion.objects.get().token)
    article.delete()
    tokens.add(CatalogVersion.objects.get().token)
    persona.delete()
    tokens.add(CatalogVersion.objects.get().token)
    assert len(tokens) == 5
