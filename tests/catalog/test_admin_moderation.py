"""Moderation in the console: who may do it, what the pages say, and that nothing an author wrote is ever markup."""

from __future__ import annotations

import re
from datetime import UTC, datetime, timedelta
from typing import Any
from urllib.parse import parse_qs, urlsplit

import pytest
from django.contrib.admin.models import LogEntry
from django.contrib.admin.utils import quote
from django.contrib.auth.models import Permission
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.utils.html import escape

from accounts import letters
from accounts.models import Letter, User
from catalog import authoring, authors
from catalog.models import Article, Author, Persona, PersonaL10n, Takedown, in_queue
from catalog.vocabulary import ArticleStatus, PersonaStatus
from tests.doubles.smtp_server import SmtpServer

QUEUE = "/admin/catalog/review/"
PERSONAS = "/admin/catalog/persona/"
AUTHORS = "/admin/catalog/author/"
ARTICLES = "/admin/catalog/article/"
NOON = datetime(2026, 11, 21, 12, tzinfo=UTC)

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


def staff(*permissions: str) -> Client:
    """Somebody who may open the console, with these permissions alone."""
    user = User.objects.create_user(f"staff{User.objects.count()}@example.com", is_staff=True)
    user.user_permissions.set(Permission.objects.filter(codename__in=permissions))
    client = Client()
    client.force_login(user)
    return client


def review(persona: Persona) -> str:
    return f"{QUEUE}{persona.pk}/change/"


def seen(page: str) -> dict[str, str]:
    """What the page remembers of the personas that it shows."""
    return dict(re.findall(r'name="(seen [^"]+)" value="([^"]+)"', page))


def act(console: Client, address: str, action: str, *chosen: Any, **more: str) -> Any:
    """Choose an action on a list as a browser would, and land where it leads."""
    page = console.get(address).content.decode()
    return console.post(
        address, {"action": action, "_selected_action": [one.pk for one in chosen], **seen(page), **more}, follow=True
    )


def history() -> list[tuple[str, str]]:
    rows = LogEntry.objects.order_by("id").select_related("content_type")
    return [(row.content_type.model if row.content_type else "", row.change_message) for row in rows]


def status(persona: Persona) -> str:
    return str(Persona.objects.values_list("status", flat=True).get(pk=persona.pk))


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
    assert "Night Owl passed." in answer.content.decode()
    assert not Persona.objects.filter(in_queue()).exists()
    assert history() == [("persona", "Passed.")]
    assert "Passed." in console.get(f"{PERSONAS}{community.pk}/history/").content.decode()
    assert 'value="Pass"' not in console.get(review(community)).content.decode()


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
    assert "1 passed." in answer
    assert "Night Owl was changed after you looked at it" in answer
    assert Persona.objects.get(in_queue()) == community
    assert "was not on your page" in console.post(QUEUE, chosen, follow=True).content.decode()


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
    done = console.post(form, {"reason": " It promises\r\ncures. ", "confirm": "1"}, follow=True)
    assert "Night Owl: done, and told by mail." in done.content.decode()
    assert status(community) == "draft"
    assert Takedown.objects.get().reason == "It promises\ncures."
    assert "It promises\ncures." in Letter.objects.get().text
    assert history() == [("persona", "Taken down: It promises\ncures.")]
    operator = User.objects.get(email="operator@example.com")
    assert Takedown.objects.get().taken_down_by == f"operator:{operator.pk}"


@pytest.mark.parametrize("reason", ["", "  \r\n ", "x" * 2_001, "nul \0"])
def test_a_reason_is_required_and_bounded(console: Client, community: Persona, reason: str) -> None:
    answer = console.post(f"{QUEUE}take-down/?persona={community.pk}", {"reason": reason, "confirm": "1"})
    assert answer.status_code == 200
    assert answer.context["form"].errors["reason"]
    assert status(community) == "published"
    assert not Letter.objects.exists()


def test_line_ends_of_browsers_do_not_count(console: Client, community: Persona) -> None:
    reason = "line\r\n" * 400  # 2,000 characters with one for each end
    console.post(f"{QUEUE}take-down/?persona={community.pk}", {"reason": reason, "confirm": "1"})
    assert status(community) == "draft"


def test_what_is_no_longer_there_to_take_down_is_said(console: Client, community: Persona) -> None:
    authoring.unpublish(community, now=NOON)
    for ids in (f"persona={community.pk}", "persona=exam-coach&persona=%00", "", "persona=no-such"):
        answer = console.get(f"{QUEUE}take-down/?{ids}".replace("%00", "x"), follow=True)
        if "exam-coach" not in ids:
            assert "nothing of these left to do" in answer.content.decode()
    console.post(f"{QUEUE}take-down/?persona=exam-coach", {"reason": "No.", "confirm": "1"})
    assert Persona.objects.get(pk="exam-coach").public
    assert not Letter.objects.exists()


def test_more_than_fifty_are_taken_in_parts(console: Client, community: Persona) -> None:
    many = [
        Persona.objects.create(id=f"o{n}", name="Owl", status="published", owner=community.owner) for n in range(60)
    ]
    asking = act(console, QUEUE, "take_down", *many)
    assert "The first 50 of 60" in asking.content.decode()
    assert len(asking.context["meanings"]) == 50
    assert (len(asking.context["mails"]), asking.context["unseen_mails"]) == (3, 47)


def test_an_article_is_taken_down_with_a_reason(console: Client, article: Article) -> None:
    asking = act(console, ARTICLES, "take_down", article)
    form = asking.request["PATH_INFO"] + "?" + asking.request["QUERY_STRING"]
    console.post(form, {"reason": "An advertisement.", "confirm": "1"})
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
    console.post(form, {"reason": "Spam.", "confirm": "1"})
    author = Author.objects.get()
    assert (author.banned, status(community)) == (True, "draft")
    assert history() == [("author", "Banned: Spam."), ("persona", "Taken down with the ban of its author: Spam.")]
    lifting = act(console, f"{AUTHORS}?banned_at__isempty=0", "lift", author)
    assert "The ban was for: Spam." in lifting.content.decode()
    console.post(lifting.request["PATH_INFO"] + "?" + lifting.request["QUERY_STRING"], {"confirm": "1"})
    author.refresh_from_db()
    assert not author.banned
    assert history()[-1] == ("author", "Ban lifted. It was for: Spam.")
    assert Letter.objects.count() == 2


def test_every_step_is_reached_from_the_pages_of_a_persona_and_of_its_author(console: Client, catalog: object) -> None:
    owner = User.objects.create_user("hex@example.com", id=f"usr_24{'0' * 22}")  # _24 is a $ in the console's addresses
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
    console.post(f"{QUEUE}{ban}", {"reason": "Spam.", "confirm": "1"})
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


# Who may.


@pytest.fixture
def steps(community: Persona, article: Article) -> list[str]:
    return [
        f"{QUEUE}take-down/?persona={community.pk}",
        f"{QUEUE}take-down-article/?article={article.pk}",
        f"{QUEUE}ban/?author={community.owner_id}",
        f"{QUEUE}lift/?author={community.owner_id}",
    ]


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
        assert client.post(address, {"reason": "No.", "confirm": "1"}).status_code == 302
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


# Nothing that an author wrote is ever markup.

SCRIPT = "<script>alert(1)</script>"
EVERY_WAY_OUT = (
    f"'\"></textarea></title></pre>{SCRIPT}<img src=x onerror=alert(1)><svg onload=alert(1)>{{{{ 7|add:7 }}}}"
)
MARKUP = re.compile(r"<script>alert|<img src=x|<svg onload|</pre><script|href=.?javascript:")


@pytest.fixture(params=[SCRIPT, EVERY_WAY_OUT])
def hostile(request: pytest.FixtureRequest, community: Persona) -> Persona:
    """A persona of which every authored field is an attack."""
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
    bodies = [console.get(page) for page in pages]
    console.post(review(hostile), seen(bodies[5].content.decode()))
    for step in steps:
        bodies += [console.get(step), console.post(step, {"reason": hostile.name, "preview": "1"})]
        bodies += [console.post(step, {"reason": hostile.name, "confirm": "1"}, follow=True)]
    bodies += [console.get(page) for page in pages]
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
