"""The pages where moderators give a reason, see the mail and confirm."""

from __future__ import annotations

from urllib.parse import parse_qs, urlsplit

import pytest
from django.contrib.admin.utils import quote
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext

from accounts.models import Letter, User
from catalog import authoring, authors
from catalog.models import Article, Author, Persona, Takedown
from catalog.vocabulary import ArticleStatus
from tests.catalog.moderating import ARTICLES, AUTHORS, NOON, PERSONAS, QUEUE, act, confirm, history, review, status

pytestmark = [pytest.mark.sampled, pytest.mark.usefixtures("catalog")]


@pytest.fixture
def console(client: Client) -> Client:
    client.force_login(User.objects.create_superuser("operator@example.com"))
    return client


@pytest.fixture
def article(community: Persona) -> Article:
    return Article.objects.create(
        persona=community, slug="nights", title="Of nights", body="# Dark", status=ArticleStatus.PUBLISHED
    )


# Taking down.


@pytest.mark.parametrize("address", [QUEUE, PERSONAS])
def test_a_persona_is_taken_down_with_a_reason_that_is_mailed(
    console: Client, community: Persona, address: str
) -> None:
    asking = act(console, address, "take_down", community)
    form = asking.request["PATH_INFO"] + "?" + asking.request["QUERY_STRING"]
    assert "(your reason)" in asking.content.decode()
    preview = console.post(form, {"reason": "It promises\r\ncures.", "preview": "1"}).content.decode()
    assert "It promises\ncures." in preview
    assert "Your persona “Night Owl” was taken down" in preview
    assert status(community) == "published"
    done = confirm(console, form, reason=" It promises\r\ncures. ")
    assert "Taken down, mail sent: Night Owl" in done.content.decode()
    assert status(community) == "draft"
    assert Takedown.objects.get().reason == "It promises\ncures."
    assert "It promises\ncures." in Letter.objects.get().text
    assert history() == [("persona", "Taken down: It promises\ncures.")]
    operator = User.objects.get(email="operator@example.com")
    assert Takedown.objects.get().taken_down_by == f"operator:{operator.pk}"


@pytest.mark.parametrize("reason", ["", "  \r\n ", "x" * 2_001, "nul \0", "\u200b\u2060", "\u3164"])
def test_a_reason_is_required_and_bounded(console: Client, community: Persona, reason: str) -> None:
    answer = confirm(console, f"{QUEUE}take-down/?persona={community.pk}", reason=reason)
    assert answer.status_code == 200
    assert answer.context["form"].errors["reason"]
    assert status(community) == "published"
    assert not Letter.objects.exists()


def test_line_ends_of_browsers_do_not_count(console: Client, community: Persona) -> None:
    reason = "line\r\n" * 400  # 2,000 characters if each line end counts as one
    confirm(console, f"{QUEUE}take-down/?persona={community.pk}", reason=reason)
    assert status(community) == "draft"


@pytest.mark.parametrize("ids", ["persona=night-owl", "persona=exam-coach", "persona=%00", "persona=no-such", ""])
def test_what_cannot_be_taken_down_is_said(console: Client, community: Persona, ids: str) -> None:
    authoring.unpublish(community, now=NOON)
    asking = console.get(f"{QUEUE}take-down/?{ids}", follow=True)
    sent = confirm(console, f"{QUEUE}take-down/?{ids}", reason="No.")
    assert all("nothing left to do" in answer.content.decode() for answer in (asking, sent))
    assert Persona.objects.get(pk="exam-coach").public
    assert not Letter.objects.exists()


def test_what_was_taken_down_meanwhile_holds_up_no_other(console: Client, community: Persona) -> None:
    other = Persona.objects.create(id="day-owl", name="Day Owl", status="published", owner=community.owner)
    authoring.unpublish(community, now=NOON)
    both = f"{QUEUE}take-down/?persona={community.pk}&persona={other.pk}"
    confirm(console, both, reason="No.")
    assert (status(other), Letter.objects.count()) == ("draft", 1)


def test_more_than_fifty_are_taken_in_parts(console: Client, community: Persona) -> None:
    many = [
        Persona.objects.create(id=f"o{n}", name="Owl", status="published", owner=community.owner) for n in range(60)
    ]
    asking = act(console, QUEUE, "take_down", *many)
    assert "Only the first 50 of 60" in asking.content.decode()
    assert len(asking.context["meanings"]) == 50
    assert (len(asking.context["mails"]), asking.context["unseen_mails"]) == (3, 47)


def test_an_article_is_taken_down_with_a_reason(console: Client, article: Article) -> None:
    asking = act(console, ARTICLES, "take_down", article)
    form = asking.request["PATH_INFO"] + "?" + asking.request["QUERY_STRING"]
    confirm(console, form, reason="An advertisement.")
    article.refresh_from_db()
    assert article.status == ArticleStatus.DRAFT
    assert "An advertisement." in Letter.objects.get().text
    assert history() == [("article", "Taken down: An advertisement.")]
    assert status(article.persona) == "published"


def test_only_rules_change_the_status_of_what_authors_own(console: Client, community: Persona) -> None:
    form = console.get(f"{PERSONAS}{community.pk}/change/").context["adminform"].form
    assert "status" not in form.fields
    house = console.get(f"{PERSONAS}exam-coach/change/").context["adminform"].form
    assert "status" in house.fields


# Banning.


def test_an_author_is_banned_from_the_queue_and_let_back_in(console: Client, community: Persona) -> None:
    asking = act(console, QUEUE, "ban", community)
    assert "1 published ones become drafts" in asking.content.decode()
    form = asking.request["PATH_INFO"] + "?" + asking.request["QUERY_STRING"]
    assert parse_qs(urlsplit(form).query) == {"author": [community.owner_id]}
    confirm(console, form, reason="Spam.")
    author = Author.objects.get()
    assert (author.banned, status(community)) == (True, "draft")
    assert history() == [("author", "Banned: Spam."), ("persona", "Taken down with the ban of its author: Spam.")]
    lifting = act(console, f"{AUTHORS}?banned_at__isempty=0", "lift", author)
    assert "The ban was for: Spam." in lifting.content.decode()
    confirm(console, lifting.request["PATH_INFO"] + "?" + lifting.request["QUERY_STRING"])
    author.refresh_from_db()
    assert not author.banned
    assert history()[-1] == ("author", "Ban lifted. It was for: Spam.")
    assert Letter.objects.count() == 2


def test_every_step_is_reached_from_the_pages_of_a_persona_and_of_its_author(console: Client, catalog: object) -> None:
    # In the console's addresses, _24 means $.
    owner = User.objects.create_user("hex@example.com", id=f"usr_24{'0' * 22}")
    community = Persona.objects.create(id="owl", name="Owl", status="published", owner=owner)
    authors.held(str(community.owner_id))
    take_down, ban = f"take-down/?persona={community.pk}", f"ban/?author={community.owner_id}"
    for page in (review(community), f"{PERSONAS}{community.pk}/change/"):
        assert {link for link in (take_down, ban) if f'href="{QUEUE}{link}"' in console.get(page).content.decode()} == {
            take_down,
            ban,
        }
    page = console.get(f"{AUTHORS}{quote(owner.pk)}/change/").content.decode()
    assert f'href="{QUEUE}{ban}"' in page
    confirm(console, f"{QUEUE}{ban}", reason="Spam.")
    assert f"{QUEUE}lift/?author=" in console.get(f"{AUTHORS}{quote(owner.pk)}/change/").content.decode()
    assert "take-down" not in console.get(f"{PERSONAS}exam-coach/change/").content.decode()


def test_authors_are_listed_with_as_many_queries_for_any_number(console: Client, community: Persona) -> None:
    counts = []
    for number in range(3):
        authors.held(User.objects.create_user(f"author{number}@example.com").pk)
        with CaptureQueriesContext(connection) as captured:
            assert console.get(AUTHORS, {"q": "author"}).status_code == 200
        counts.append(len(captured))
    assert counts[0] == counts[-1]
