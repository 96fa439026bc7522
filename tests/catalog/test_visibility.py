"""Hiding rows of the catalog, and offering them again."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from catalog import loading, version, visibility
from catalog.models import Persona, PersonaL10n, Toolset
from tests.catalog.waiting import act_while_held

pytestmark = pytest.mark.usefixtures("catalog")


def token() -> str:
    return version.CatalogVersion.objects.get().token


def test_a_hidden_row_is_offered_again_on_request() -> None:
    before = token()
    assert visibility.hide(Toolset, ["stt", "tts"]) == 2
    assert not Toolset.objects.get(id="tts").offered
    hidden = token()
    assert visibility.offer(Toolset, ["stt", "tts"]) == 2
    assert Toolset.objects.get(id="tts").offered
    assert len({before, hidden, token()}) == 3
    assert loading.load().kept == []


def test_a_row_that_the_files_no_longer_have_becomes_our_own_when_offered_again() -> None:
    Toolset.objects.filter(id="tts").update(gone=True)
    assert visibility.offer(Toolset, ["tts"]) == 1
    toolset = Toolset.objects.get(id="tts")
    assert (toolset.offered, toolset.loaded) == (True, {})


@pytest.mark.django_db(transaction=True)
@pytest.mark.parametrize("act", [visibility.hide, visibility.offer])
def test_several_rows_are_locked_in_the_order_of_their_ids(act: Callable[..., int]) -> None:
    for name in ("own_b", "own_a"):
        Toolset.objects.create(id=name, name=name, group="web", hidden=act is visibility.offer)
    own = Toolset.objects.filter(id__startswith="own_")
    rows = [own.filter(pk="own_a"), own.filter(pk="own_b")]
    assert act_while_held(lambda: act(Toolset, ["own_a", "own_b"]), rows) == 2
    assert own.filter(hidden=act is visibility.hide).count() == 2


@pytest.mark.django_db(transaction=True)
def test_the_persona_of_a_localization_is_locked_before_it(community: Persona) -> None:
    text: Any = {"persona": community, "lang": "ru", "name": "Сова", "tagline": "Т", "for_who": "Вам", "does": ["Раз"]}
    row = PersonaL10n.objects.create(**text)
    rows = [Persona.objects.filter(pk=community.pk), PersonaL10n.objects.filter(pk=row.pk)]
    assert act_while_held(lambda: visibility.hide(PersonaL10n, [row.pk]), rows) == 1
    assert act_while_held(lambda: visibility.offer(PersonaL10n, [row.pk]), rows) == 1
