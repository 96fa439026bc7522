"""The endpoints GET /me/author and PUT /me/author."""

from __future__ import annotations

import pytest
from django.utils import timezone
from rest_framework.test import APIClient

from catalog import snapshot
from catalog.models import Author, CatalogVersion, Persona
from tests.catalog.waiting import act_while_held
from tests.catalog.writing import Writer

pytestmark = pytest.mark.usefixtures("shelf")


def test_until_it_is_set_the_name_says_nothing_of_the_person(writer: Writer) -> None:
    author = writer.get("/me/author")
    assert author == {"author": {"id": writer.user.pk, "name": f"Author {writer.user.pk[-6:]}"}}
    assert not Author.objects.exists()
    persona = writer.draft()
    assert (persona["authorId"], persona["author"]) == (writer.user.pk, author["author"]["name"])
    assert "author@example.com" not in str(writer.get("/me/personas"))


def test_the_name_is_shown_with_all_personas_at_once(writer: Writer, stranger: Writer, api: APIClient) -> None:
    public, draft = writer.published(), writer.draft()
    other = stranger.published()
    Persona.objects.update(reviewed_at=timezone.now())
    assert writer.call("PUT", "/me/author", {"name": "  Olga  "})["author"]["name"] == "Olga"
    snapshot.forget()
    assert api.get(f"/personas/{public['id']}").json()["persona"]["author"] == "Olga"
    assert writer.get(f"/me/personas/{draft['id']}")["persona"]["author"] == "Olga"
    assert api.get(f"/personas/{other['id']}").json()["persona"]["author"] == other["author"]
    waiting = Persona.objects.filter(reviewed_at=None).values_list("id", flat=True)
    assert (public["id"] in waiting, other["id"] in waiting) == (True, False)
    assert writer.draft()["author"] == "Olga"
    Persona.objects.update(reviewed_at=timezone.now())
    writer.call("PUT", "/me/author", {"name": "Olga"})
    assert not Persona.objects.filter(reviewed_at=None).exists()


def test_a_name_of_drafts_alone_is_no_news(writer: Writer) -> None:
    writer.draft()
    before = CatalogVersion.objects.get().token
    writer.call("PUT", "/me/author", {"name": "Olga"})
    assert CatalogVersion.objects.get().token == before


def test_a_name_is_one_line_that_says_something_and_not_ours(writer: Writer) -> None:
    assert writer.refusal("PUT", "/me/author", {}).startswith("name: ")
    for name in ("", " ", None, 5, "a" * 61, "a\nb", "a\u202eb", "\u200b"):
        assert writer.refusal("PUT", "/me/author", {"name": name}).startswith("name: ")


def test_our_name_is_nobody_elses_however_it_is_written(writer: Writer) -> None:
    plain = ("Agentpods", "The agent pods", "A.g.e.n.t_pods", "Ágéntpóds", "ＡＧＥＮＴＰＯＤＳ team")
    for name in (*plain, "ᴀɢᴇɴᴛᴘᴏᴅs", "🅐🅖🅔🅝🅣 🅟🅞🅓🅢", "Ⱥɡentpođs", "Аgentpоds"):
        assert "is the author of the built-in" in writer.refusal("PUT", "/me/author", {"name": name})


def test_a_word_has_letters_of_one_script(writer: Writer) -> None:
    for name in ("Agеntpods", "Оlga", "Olga Pеtrova", "Pαul", "Ꭺnna", "ꓳlga", "а\u0300nna"):
        assert "letters of several scripts" in writer.refusal("PUT", "/me/author", {"name": name})


def test_a_name_has_no_character_that_is_not_seen(writer: Writer) -> None:
    joined = ("Ol\u200dga", "Olga\u200c", "\u200dOlga", "علی\u200c\u200cرضا")
    for name in (*joined, "Ol\u200bga", "Olga\ufe01", "Ol\u00adga", "\u3164", "a\u2800", "a\U000e0041"):
        assert "may not contain the character U+" in writer.refusal("PUT", "/me/author", {"name": name})


def test_a_name_may_be_of_any_language(writer: Writer) -> None:
    european = ("Łukasz O’Neill-Đorđević", "Ольга & Olga", "Дмитрий 2", "Ελένη", "İpek Şahin", "Agent Smith", "x²")
    others = ("Nguyễn Văn Ổn", "ʻIolani", "東京タワーTokyo", "한국어Kim", "नमस्ते दुनिया", "علی\u200cرضا", "שלום")
    for name in (*european, *others, "👩\u200d🏫 Teacher", "❤\ufe0f\u200d🔥 Ann", "🏳\ufe0f\u200d🌈"):
        assert writer.call("PUT", "/me/author", {"name": name})["author"]["name"] == name


@pytest.mark.django_db(transaction=True)
def test_a_name_locks_the_personas_in_the_order_of_their_ids(writer: Writer) -> None:
    ids = sorted(writer.draft(name=name)["id"] for name in ("Bee", "Ant", "Cat"))
    rows = [Persona.objects.filter(pk=persona_id) for persona_id in ids]
    named = act_while_held(lambda: writer.call("PUT", "/me/author", {"name": "Olga"}), rows)
    assert named["author"]["name"] == "Olga"
    assert {persona["author"] for persona in writer.get("/me/personas")["personas"]} == {"Olga"}


def test_without_a_credential_nobody_has_a_name(api: APIClient) -> None:
    assert [api.get("/me/author").status_code, api.put("/me/author").status_code] == [401, 401]
