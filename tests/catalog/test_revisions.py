"""Only changed personas are read again, whoever changed them and however."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from django.db import connection, transaction
from pytest_django import DjangoAssertNumQueries

from catalog import revisions, snapshot
from catalog.models import Article, Persona, PersonaL10n
from catalog.version import bump

pytestmark = pytest.mark.usefixtures("catalog")


def _add_text(persona: Persona) -> None:
    PersonaL10n.objects.bulk_create(
        [
            PersonaL10n(
                persona=persona, lang="es", name="Búho", tagline="Compañía", for_who="Quien vela", does=["Acompaña"]
            )
        ]
    )


def _add_article(persona: Persona) -> None:
    Article.objects.bulk_create([Article(persona=persona, slug="first", title="First", body="x", status="published")])


def _raw(persona: Persona) -> None:
    with connection.cursor() as cursor:
        cursor.execute("UPDATE catalog_persona SET name = name WHERE id = %s", [persona.id])


CHANGES: dict[str, Callable[[Persona], object]] = {
    "saved": lambda persona: persona.save(),
    "updated": lambda persona: Persona.objects.filter(id=persona.id).update(name="Owl"),
    "updated in bulk": lambda persona: Persona.objects.bulk_update([persona], ["tagline"]),
    "by hand": _raw,
    "localized": _add_text,
    "written about": _add_article,
}


@pytest.mark.parametrize("change", CHANGES.values(), ids=CHANGES)
def test_any_change_of_a_persona_is_a_new_revision_of_it_alone(
    community: Persona, change: Callable[[Persona], object]
) -> None:
    before = revisions.of_personas()
    change(community)
    after = revisions.of_personas()
    assert {key for key in after if after[key] != before[key]} == {community.id}


def test_two_changes_in_one_transaction_are_two_revisions(community: Persona) -> None:
    seen = set()
    with transaction.atomic():
        for name in ("a", "b", "c"):
            Persona.objects.filter(id=community.id).update(name=name)
            seen.add(revisions.of_personas()[community.id])
    assert len(seen) == 3


def test_the_texts_and_articles_that_go_are_changes_too(community: Persona) -> None:
    _add_text(community)
    _add_article(community)
    seen = [revisions.of_personas()[community.id]]
    for rows in (PersonaL10n.objects.filter(persona=community), Article.objects.filter(persona=community)):
        rows._raw_delete(rows.db)  # without the rows' own delete method
        seen.append(revisions.of_personas()[community.id])
    assert len(set(seen)) == 3


def test_drafts_are_not_in_memory(community: Persona) -> None:
    assert community.id in snapshot.current().personas
    Persona.objects.filter(id=community.id).update(status="draft")
    bump()
    assert community.id not in snapshot.look().personas


def test_the_next_snapshot_has_the_same_objects_but_for_what_changed(
    community: Persona, django_assert_num_queries: DjangoAssertNumQueries
) -> None:
    before = snapshot.current()
    Persona.objects.filter(id=community.id).update(name="Barn Owl")
    _add_text(community)
    bump()
    with django_assert_num_queries(2 + 1 + 5 + 3 + 1):  # version, revisions, other rows, one persona, version
        after = snapshot.look()
    assert after is not before
    assert after.personas[community.id].name == "Barn Owl"
    assert set(after.personas[community.id].texts) == {"es"}
    same = [key for key in after.personas if after.personas[key] is before.personas[key]]
    assert len(same) == len(after.personas) - 1


def test_the_order_is_that_of_the_list(community: Persona) -> None:
    Persona.objects.filter(id=community.id).update(position=0)
    bump()
    ids = list(snapshot.look().personas)
    assert ids == sorted(ids, key=lambda key: (snapshot.current().personas[key].position, key))
    assert ids.index(community.id) < 3


def test_many_personas_are_read_in_portions(community: Persona, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(snapshot, "READ_AT_ONCE", 5)
    snapshot.forget()
    assert set(snapshot.current().personas) == set(Persona.objects.values_list("id", flat=True))
