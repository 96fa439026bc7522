"""Moderation in the console: permissions, texts of the pages, and that an author's text is never markup."""

from __future__ import annotations

import re
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from django.contrib.admin.utils import quote
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.utils.html import escape

from accounts import letters
from accounts.models import Letter, User
from catalog import authoring
from catalog.models import Article, Author, Persona, PersonaL10n, Takedown, in_queue
from catalog.vocabulary import ArticleStatus, PersonaStatus
from tests.catalog.moderating import (
    ARTICLES,
    AUTHORS,
    NOON,
    PERSONAS,
    QUEUE,
    act,
    confirm,
    history,
    review,
    seen,
    staff,
    status,
)
from tests.doubles.smtp_server import SmtpServer

pytestmark = pytest.mark.usefixtures("catalog")


@pytest.fixture
def console(client: Client) -> Client:
    client.force_login(User.objects.create_superuser("operator@example.com"))
    return client


@pytest.fixture
def article(community: Persona) -> Article:
    return Article.objects.create(
        persona=community, slug="nights", title="Of nights", body="# Dark", status=ArticleStatus.PUBLISHED
    )


# The queue.


def test_the_queue_holds_what_nobody_has_passed_the_oldest_first(console: Client, community: Persona) -> None:
    for number, name in enumerate(("late", "early", "passed", "draft")):
        Persona.objects.create(
            id=name,
            name=name,
            status=PersonaStatus.DRAFT if name == "draft" else PersonaStatus.PUBLISHED,
            published_at=NOON - timedelta(days=number),
            reviewed_at=NOON if name == "passed" else None,
            owner=community.owner,
            soul="You are.",
        )
    Persona.objects.filter(pk=community.pk).update(published_at=NOON + timedelta(days=1))
    rows = console.get(QUEUE).context["cl"].result_list
    assert [row.pk for row in rows] == ["early", "late", "night-owl"]


def test_the_queue_takes_the_same_queries_for_any_number_of_personas(console: Client, community: Persona) -> None:
    def queries() -> int:
        with CaptureQueriesContext(connection) as captured:
            assert console.get(QUEUE).status_code == 200
        assert not any('"soul"' in query["sql"] for query in captured)
        return len(captured)

    one = queries()
    for number in range(9):
        Persona.objects.create(
            id=f"owl-{number}",
            name="Owl",
            status=PersonaStatus.PUBLISHED,
            owner=User.objects.create_user(f"o{number}@example.com"),
        )
    assert queries() == one


def test_all_that_an_author_wrote_is_on_one_page(console: Client, community: Persona, article: Article) -> None:
    community.does_examples = {"Keeps you awake": "Am I asleep?"}
    community.demo = [{"role": "user", "text": "Still up?"}, {"role": "agent", "text": "Always."}]
    community.skills, community.tags, community.disclaimer = ["owling"], ["night"], "No medicine."
    community.save()
    PersonaL10n.objects.create(persona=community, lang="ru", name="Сова", tagline="Ночью", for_who="Всем", does=["Ух"])
    Article.objects.create(persona=community, slug="hidden", title="Not yet", body="Secret plans")
    page = console.get(review(community)).content.decode()
    for text in ("Night Owl", "Company after midnight", "You are Night Owl.", "Am I asleep?", "Still up?", "Always."):
        assert text in page
    for text in (
        "owling",
        "night",
        "No medicine.",
        "Сова",
        "Ночью",
        "Of nights",
        "<h2>Dark</h2>",
        "author@example.com",
    ):
        assert text in page
    assert "Secret plans" not in page


@pytest.mark.parametrize("persona_id", ["exam-coach", "no-such", "%00", "_00"])
def test_there_is_no_review_of_what_no_author_wrote(console: Client, persona_id: str) -> None:
    assert console.get(f"{QUEUE}{persona_id}/change/").status_code == 404


def test_long_articles_do_not_hold_up_the_page(console: Client, community: Persona) -> None:
    for number in range(3):
        Article.objects.create(
            persona=community, slug=f"a{number}", title="Long", body="word " * 8_000, status=ArticleStatus.PUBLISHED
        )
    page = console.get(review(community)).content.decode()
    assert page.count("Too long to be shown here") == 2


def test_a_moderator_passes_what_is_on_the_page(console: Client, community: Persona) -> None:
    page = console.get(review(community)).content.decode()
    answer = console.post(review(community), seen(page), follow=True)
    assert "Night Owl approved." in answer.content.decode()
    assert not Persona.objects.filter(in_queue()).exists()
    assert history() == [("persona", "Approved.")]
    assert "Approved." in console.get(f"{PERSONAS}{community.pk}/history/").content.decode()
    assert 'value="Approve"' not in console.get(review(community)).content.decode()


def test_what_was_changed_meanwhile_has_to_be_looked_at_again(console: Client, community: Persona) -> None:
    page = console.get(review(community)).content.decode()
    authoring.change(community, texts={"tagline": "Pay me"}, now=NOON)
    answer = console.post(review(community), seen(page), follow=True)
    assert "was changed after you looked at it" in answer.content.decode()
    assert "Pay me" in answer.content.decode()
    assert Persona.objects.filter(in_queue()).exists()
    assert history() == []


def test_several_are_passed_at_once_as_the_list_showed_them(console: Client, community: Persona) -> None:
    other = Persona.objects.create(
        id="day-owl", name="Day Owl", status=PersonaStatus.PUBLISHED, owner=community.owner, soul="You are."
    )
    page = console.get(QUEUE).content.decode()
    authoring.touch(community, now=NOON)
    chosen = {"action": "let_pass", "_selected_action": [community.pk, other.pk]}
    answer = console.post(QUEUE, {**chosen, **seen(page)}, follow=True).content.decode()
    assert "1 approved." in answer
    assert "Night Owl was changed after you looked at it" in answer
    assert Persona.objects.get(in_queue()) == community
    assert "was not on your page" in console.post(QUEUE, chosen, follow=True).content.decode()


def test_what_is_chosen_beyond_the_page_is_counted_and_not_passed(console: Client, community: Persona) -> None:
    Persona.objects.bulk_create(
        Persona(
            id=f"owl-{number}", name="Owl", status=PersonaStatus.PUBLISHED, published_at=NOON, owner=community.owner
        )
        for number in range(120)
    )
    page = seen(console.get(QUEUE).content.decode())
    chosen = {"action": "let_pass", "_selected_action": [community.pk], "select_across": "1"}
    answer = console.post(QUEUE, {**chosen, **page}, follow=True)
    told = [str(message) for message in answer.context["messages"]]
    assert told == ["50 approved.", "71 were not on your page: only personas that you see are approved."]
    assert Persona.objects.filter(in_queue()).count() == 71


# Permissions.


@pytest.fixture
def steps(community: Persona, article: Article) -> list[str]:
    return [
        f"{QUEUE}take-down/?persona={community.pk}",
        f"{QUEUE}take-down-article/?article={article.pk}",
        f"{QUEUE}ban/?author={community.owner_id}",
        f"{QUEUE}lift/?author={community.owner_id}",
    ]


@pytest.mark.sampled
def test_who_may_not_moderate_sees_no_step_and_can_send_none(
    community: Persona, article: Article, steps: list[str]
) -> None:
    page = seen(Client().get("/").content.decode()) | {f"seen {community.pk}": community.updated_at.isoformat()}
    client = staff("change_persona", "view_persona", "change_article", "view_article", "view_author")
    for address in (QUEUE, review(community), *steps):
        assert client.get(address).status_code == 403
        assert client.post(address, {"reason": "No.", "confirm": "1", **page}).status_code == 403
    for address, row in ((PERSONAS, community), (ARTICLES, article)):
        for action in ("take_down", "ban", "let_pass"):
            act(client, address, action, row)
        assert "take_down" not in client.get(address).content.decode()
        assert "take-down" not in client.get(f"{address}{quote(row.pk)}/change/").content.decode()
    assert (status(community), Letter.objects.count(), history()) == ("published", 0, [])
    assert Persona.objects.filter(in_queue()).exists()


def test_a_moderator_needs_no_other_permission(community: Persona, steps: list[str]) -> None:
    client = staff("moderate_persona")
    assert "Review queue" in client.get("/admin/").content.decode()
    page = client.get(review(community)).content.decode()
    assert client.post(review(community), seen(page)).status_code == 302
    assert not Persona.objects.filter(in_queue()).exists()
    for address in steps[:3]:
        assert confirm(client, address, reason="No.").redirect_chain
    assert status(community) == "draft"
    assert client.get(PERSONAS).status_code == 403
    assert client.post(f"{AUTHORS}{quote(str(community.owner_id))}/change/", {"name": "x"}).status_code == 403


def test_people_who_are_not_staff_get_the_login(community: Persona, steps: list[str], client: Client) -> None:
    assert community.owner is not None
    client.force_login(community.owner)
    for address in (QUEUE, review(community), *steps):
        assert client.post(address, {"reason": "No.", "confirm": "1"}).status_code == 302
    assert status(community) == "published"


def test_a_step_wants_the_consoles_own_form(community: Persona, steps: list[str]) -> None:
    client = Client(enforce_csrf_checks=True)
    client.force_login(User.objects.create_superuser("operator@example.com"))
    for address in (review(community), *steps):
        assert client.post(address, {"reason": "No.", "confirm": "1"}).status_code == 403
    assert status(community) == "published"


# An author's text is never markup.

SCRIPT = "<script>alert(1)</script>"
EVERY_WAY_OUT = (
    f"'\"></textarea></title></pre>{SCRIPT}<img src=x onerror=alert(1)><svg onload=alert(1)>{{{{ 7|add:7 }}}}"
)
MARKUP = re.compile(r"<script>alert|<img src=x|<svg onload|</pre><script|href=.?javascript:")


@pytest.fixture(params=[SCRIPT, EVERY_WAY_OUT])
def hostile(request: pytest.FixtureRequest, community: Persona) -> Persona:
    """A persona with an attack in every field that an author writes."""
    evil = str(request.param)
    texts: dict[str, Any] = {
        "name": evil,
        "tagline": evil,
        "for_who": evil,
        "does": [evil],
        "does_examples": {evil: evil},
        "disclaimer": evil,
        "demo": [{"role": "user", "text": evil}, {"role": "agent", "text": evil}],
    }
    labels: dict[str, Any] = {"skills": [evil], "tags": [evil[:40]], "icon": evil[:16], "author": evil[:60]}
    Persona.objects.filter(pk=community.pk).update(**texts, **labels, soul=evil, recommended_models=[evil])
    for lang in ("ru", "ind"):
        PersonaL10n.objects.create(persona=community, lang=lang, **texts)
    Article.objects.create(
        persona=community,
        slug="evil",
        title=evil,
        summary=evil,
        body=f"{evil}\n\n[x](javascript:alert(1))",
        status="published",
    )
    Author.objects.create(user_id=str(community.owner_id), name=evil[:60])
    community.refresh_from_db()
    return community


@pytest.mark.sampled
def test_hostile_text_is_text_on_every_page_and_in_every_mail(
    console: Client, hostile: Persona, smtp: SmtpServer
) -> None:
    owner, article = str(hostile.owner_id), hostile.articles.get()
    pages = [QUEUE, PERSONAS, ARTICLES, AUTHORS, "/admin/catalog/personal10n/", review(hostile), "/admin/"]
    pages += [f"{PERSONAS}{hostile.pk}/{page}/" for page in ("change", "history")]
    pages += [f"{ARTICLES}{quote(article.pk)}/{page}/" for page in ("change", "history", "delete")]
    pages += [f"/admin/catalog/personal10n/{text.pk}/change/" for text in hostile.localizations.all()]
    pages += [f"{AUTHORS}{quote(owner)}/{page}/" for page in ("change", "history")]
    pages += ["/admin/catalog/takedown/", "/admin/accounts/letter/", f"{AUTHORS}?q=e", f"{QUEUE}?q=alert"]
    steps = [f"{QUEUE}take-down-article/?article={article.pk}", f"{QUEUE}take-down/?persona={hostile.pk}"]
    steps += [f"{QUEUE}ban/?author={owner}", f"{QUEUE}lift/?author={owner}"]
    bodies = [console.get(page, follow=True) for page in pages]
    console.post(review(hostile), seen(bodies[5].content.decode()))
    for step in steps:
        bodies += [console.get(step), console.post(step, {"reason": hostile.name, "preview": "1"})]
        bodies += [confirm(console, step, reason=hostile.name)]
    bodies += [console.get(page, follow=True) for page in pages]
    bodies += [console.get(f"/admin/accounts/letter/{quote(letter.pk)}/change/") for letter in Letter.objects.all()]
    bodies += [console.get(f"/admin/catalog/takedown/{quote(one.pk)}/change/") for one in Takedown.objects.all()]
    for body in bodies:
        assert body.status_code == 200, body.request
        assert not MARKUP.search(body.content.decode()), body.request["PATH_INFO"]
    assert escape(hostile.name) in bodies[5].content.decode()
    assert letters.send_due(now=datetime.now(UTC) + timedelta(seconds=1)) == 4
    assert len(history()) == 5
    for message in smtp.mails:
        html = message.get_body(("html",))
        assert html is not None
        assert not MARKUP.search(html.get_content())
