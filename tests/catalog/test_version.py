"""The catalog's version."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest
import time_machine

from catalog import version
from catalog.models import Article, Persona
from catalog.version import CatalogVersion, Version

pytestmark = pytest.mark.django_db

NOON = datetime(2026, 11, 21, 12, tzinfo=UTC)


def test_an_empty_catalog_never_changed() -> None:
    assert version.updated_at() is None


def test_every_bump_is_another_version_of_one_row() -> None:
    with time_machine.travel(NOON, tick=False):
        version.bump()
        first = version.current(now=NOON)
        version.bump()
    assert version.updated_at() == NOON
    assert not first.holds(version.current(now=NOON))
    assert str(CatalogVersion.objects.get()) != first.token


def test_counts_wait_for_their_minute_once() -> None:
    with time_machine.travel(NOON, tick=False):
        version.bump()
    before = version.current(now=NOON)
    version.show_counts(now=NOON)
    version.show_counts(now=NOON + timedelta(seconds=59))
    assert before.holds(version.current(now=NOON + timedelta(seconds=59)))
    assert not before.holds(version.current(now=NOON + timedelta(seconds=60)))


def test_a_catalog_read_while_counts_wait_is_read_again_when_they_are_due() -> None:
    assert not Version("a", None).holds(Version("a", NOON))
    assert Version("a", NOON).holds(Version("a", None))


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
