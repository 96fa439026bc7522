"""Taking rows off the catalog, and offering them again."""

from __future__ import annotations

import pytest

from catalog import loading, version, visibility
from catalog.models import Toolset

pytestmark = pytest.mark.usefixtures("catalog")


def token() -> str:
    return version.CatalogVersion.objects.get().token


def test_a_hidden_row_is_offered_again_on_request() -> None:
    before = token()
    assert visibility.hide(Toolset, ["spotify", "tts"]) == 2
    assert not Toolset.objects.get(id="tts").offered
    hidden = token()
    assert visibility.offer(Toolset, ["spotify", "tts"]) == 2
    assert Toolset.objects.get(id="tts").offered
    assert len({before, hidden, token()}) == 3
    assert loading.load().kept == []


def test_a_row_that_the_files_no_longer_have_becomes_our_own_when_offered_again() -> None:
    Toolset.objects.filter(id="tts").update(gone=True)
    assert visibility.offer(Toolset, ["tts"]) == 1
    toolset = Toolset.objects.get(id="tts")
    assert (toolset.offered, toolset.loaded) == (True, {})
