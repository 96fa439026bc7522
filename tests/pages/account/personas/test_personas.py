"""/account/personas: a person writes a persona, previews it, publishes it, and writes articles about it."""

from __future__ import annotations

import pytest

from accounts.models import User
from catalog.models import Article, Persona, in_queue
from tests.pages.account.visitor import Visitor, shown, text

PATH = "/account/personas"
FILLED = {
    "name": "Night Owl",
    "icon": "🦉",
    "tagline": "Company after midnight",
    "forWho": "People who work at night",
    "does": "Keeps you awake | Ask me something hard.\n\nPlans the night | What first?",
    "soul": "You are Night Owl.\r\n\r\nStay awake.",
    "category": "social",
    "tier": "small",
    "channels": "web",
    "risk": "low",
    "disclaimer": "",
    "skills": "small talk\nmaths",
    "tags": "night, work",
}


@pytest.fixture
def visitor(owner: User, catalog: None) -> Visitor:
    return Visitor(owner)


@pytest.fixture
def draft(visitor: Visitor) -> str:
    """The path of a draft that has only a name."""
    answer = visitor.send(visitor.open(PATH), PATH, name="Night Owl")
    assert answer.status_code == 303
    return str(answer.headers["Location"])


def test_a_persona_is_written_looked_at_published_and_taken_off_again(visitor: Visitor, draft: str) -> None:
    page = visitor.open(draft)
    refused = shown(visitor.send(page, f"{draft}/publish"), status=400)
    assert "has to be filled in: In one line." in text(refused)
    saved = visitor.follow(visitor.send(page, draft, **FILLED))
    assert "Saved." in text(saved)
    row = Persona.objects.get(owner__isnull=False)
    assert row.does == ["Keeps you awake", "Plans the night"]
    assert row.does_examples == {"Keeps you awake": "Ask me something hard.", "Plans the night": "What first?"}
    assert (row.soul, row.tags, row.skills) == (
        "You are Night Owl.\n\nStay awake.",
        ["night", "work"],
        ["small talk", "maths"],
    )
    assert saved.one("textarea", id="does").text.strip().startswith("Keeps you awake | Ask me")
    preview = visitor.open(f"{draft}/preview")
    assert "Only you see it now." in text(preview)
    assert "What first?" in text(preview)
    public = visitor.follow(visitor.send(saved, f"{draft}/publish"))
    assert "we still look at it" in text(public)
    assert Persona.objects.filter(in_queue(), pk=row.pk).exists()
    assert not public.all("form", action=f"{draft}/publish")
    emptied = shown(visitor.send(public, draft, **{**FILLED, "tagline": ""}), status=400)
    assert "has to be filled in: In one line." in text(emptied)
    after = visitor.follow(visitor.send(public, f"{draft}/unpublish"))
    assert after.all("form", action=f"{draft}/publish")
    gone = visitor.follow(visitor.send(visitor.open(f"{draft}/delete"), f"{draft}/delete"))
    assert "You have written none yet." in text(gone)


def test_articles_are_written_shown_and_deleted(visitor: Visitor, draft: str) -> None:
    place = f"{draft}/articles"
    sent = {
        "title": "How to begin",
        "summary": "",
        "lang": "en",
        "body": "## First\r\n\r\n**Say** hello",
        "published": "",
    }
    wrong = shown(visitor.send(visitor.open(place), place, **{**sent, "body": " "}), status=400)
    assert "Text: this is missing" in text(wrong)
    page = visitor.follow(visitor.send(visitor.open(place), place, **sent))
    assert page.one("strong").text == "Say"
    article = Article.objects.get()
    assert article.status == "draft"
    here = f"{draft}/articles/{article.slug}"
    again = visitor.follow(visitor.send(page, here, **{**sent, "published": "yes"}))
    assert "checked" in again.one("input", name="published").attributes
    assert Article.objects.get().status == "published"
    visitor.follow(visitor.send(visitor.open(f"{here}/delete"), f"{here}/delete"))
    assert not Article.objects.exists()


def test_nobody_elses_personas_are_there(visitor: Visitor, draft: str, stranger: User) -> None:
    other = Visitor(stranger)
    places = (draft, f"{draft}/preview", f"{draft}/delete", f"{draft}/articles", f"{PATH}/junk", f"{PATH}/%00")
    assert {other.client.get(place).status_code for place in places} == {404}


def test_what_cannot_be_saved_is_said_and_what_was_typed_stays(visitor: Visitor, draft: str) -> None:
    sent = {**FILLED, "name": "x" * 81, "tags": "<b>"}
    page = shown(visitor.send(visitor.open(draft), draft, **sent), status=400)
    assert "Name: this is missing, too long" in text(page)
    assert page.one("input", id="tags").attributes["value"] == "<b>"
    assert "Name: this is missing" in text(shown(visitor.send(visitor.open(PATH), PATH, name=" "), status=400))


def test_an_author_has_a_name_that_is_nobody_elses(visitor: Visitor, draft: str) -> None:
    page = visitor.open(PATH)
    visitor.follow(visitor.send(page, f"{PATH}/author", author="Olga"))
    assert Persona.objects.get(owner__isnull=False).author == "Olga"
    refused = shown(visitor.send(page, f"{PATH}/author", author="Agentpods"), status=400)
    assert "could be taken for somebody else's" in text(refused)
