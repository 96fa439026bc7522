"""Actions of moderators, and the mails that authors get about them."""

from __future__ import annotations

import threading
from datetime import UTC, datetime, timedelta

import pytest
import time_machine
from django.db import connection, transaction
from pytest_django import Settings

from accounts import letters
from accounts.models import Letter, User
from catalog import authoring, authors, moderation, personas, snapshot, version
from catalog.models import Article, Author, Persona, Takedown, in_queue
from catalog.vocabulary import ArticleStatus, PersonaStatus
from tests.doubles.smtp_server import SmtpServer

NOON = datetime(2026, 11, 21, 12, tzinfo=UTC)
LANGUAGES = ["en", "ru", "es", "pt", "tr", "id"]

pytestmark = pytest.mark.django_db


@pytest.fixture
def article(community: Persona) -> Article:
    return Article.objects.create(
        persona=community, slug="nights", title="Of nights", body="# Dark", status=ArticleStatus.PUBLISHED
    )


def _letter() -> Letter:
    return Letter.objects.latest("written_at", "pk")


def _take_down(persona: Persona, reason: str = "It promises cures.") -> Takedown:
    return moderation.take_down(persona, reason=reason, actor="operator:usr_1")


def test_what_was_passed_leaves_the_queue_and_stays_public(community: Persona) -> None:
    moderation.let_pass(community, seen=community.updated_at)
    assert not Persona.objects.filter(in_queue()).exists()
    assert personas.shown(community.pk).public
    assert not Letter.objects.exists()


def test_what_was_changed_after_the_moderator_looked_is_not_passed(community: Persona) -> None:
    seen = community.updated_at
    authoring.change(community, texts={"tagline": "Something else"}, now=seen + timedelta(seconds=1))
    with pytest.raises(moderation.ChangedSince):
        moderation.let_pass(community, seen=seen)
    assert Persona.objects.filter(in_queue()).exists()


def test_a_change_puts_what_was_passed_back_into_the_queue(community: Persona) -> None:
    moderation.let_pass(community, seen=community.updated_at)
    authoring.change(community, texts={"tagline": "Something else"}, now=NOON)
    assert Persona.objects.filter(in_queue()).get() == community


def test_what_is_taken_down_is_a_draft_for_every_process(community: Persona) -> None:
    before = version.CatalogVersion.objects.get().token
    takedown = _take_down(community)
    community.refresh_from_db()
    assert (community.status, community.published_at, community.reviewed_at) == (PersonaStatus.DRAFT, None, None)
    assert version.CatalogVersion.objects.get().token != before
    snapshot.forget()
    with pytest.raises(personas.NoSuchPersona):
        personas.shown(community.pk)
    assert (takedown.persona, takedown.slug, takedown.author_id) == (community, "night-owl", community.owner_id)
    assert (takedown.reason, takedown.taken_down_by) == ("It promises cures.", "operator:usr_1")


def test_the_author_is_mailed_the_reason_as_it_was_written(
    community: Persona, smtp: SmtpServer, settings: Settings
) -> None:
    settings.BASE_URL = "https://pods.example"
    _take_down(community, 'It says "trust <me> & pay".\n\nSee §4.')
    assert letters.send_due(now=_letter().written_at) == 1
    (message,) = smtp.mails
    assert message["To"] == "author@example.com"
    assert message["Subject"].strip() == "Your persona “Night Owl” was taken down"
    plain, html = (message.get_body((kind,)) for kind in ("plain", "html"))
    assert plain is not None
    assert html is not None
    text = plain.get_content().replace("\r\n", "\n")
    assert 'The reason:\n\nIt says "trust <me> & pay".\n\nSee §4.\n\nIt is a draft again' in text
    assert "POST https://pods.example/personas/night-owl/publish" in text
    assert "It says &quot;trust &lt;me&gt; &amp; pay&quot;." in html.get_content()
    assert "<me>" not in html.get_content()


@pytest.mark.parametrize("lang", LANGUAGES)
def test_every_mail_is_in_the_authors_language(community: Persona, article: Article, author: User, lang: str) -> None:
    User.objects.filter(pk=author.pk).update(lang=lang)
    community.refresh_from_db()
    article = Article.objects.get(pk=article.pk)
    mails = [
        moderation.takedown_mail(community, reason="Why."),
        moderation.article_mail(article, reason="Why."),
        moderation.ban_mail(authors.of(author.pk), [community], reason="Why."),
        moderation.lift_mail(authors.of(author.pk)),
    ]
    assert {mail.lang for mail in mails} == {lang}
    assert all(f'<html lang="{lang}">' in mail.html for mail in mails)
    assert all(mail.subject and "\n" not in mail.subject for mail in mails)
    assert all("{" not in mail.text and "Subject" not in mail.text for mail in mails)
    assert ["Night Owl" in mail.text for mail in mails] == [True, True, True, False]
    assert ["\n\nWhy.\n\n" in mail.text for mail in mails] == [True, True, True, False]


def test_a_language_that_no_mail_is_in_gets_english(community: Persona, author: User) -> None:
    User.objects.filter(pk=author.pk).update(lang="../x")
    community.refresh_from_db()
    assert moderation.takedown_mail(community, reason="Why.").lang == "en"


@pytest.mark.parametrize("lang", LANGUAGES)
def test_a_long_name_leaves_the_subject_on_its_line(community: Persona, smtp: SmtpServer, lang: str) -> None:
    User.objects.filter(pk=community.owner_id).update(lang=lang)
    Persona.objects.filter(pk=community.pk).update(name="Полуночная сова " * 6)
    _take_down(community)
    letters.send_due(now=datetime.now(UTC) + timedelta(seconds=1))
    (line,) = (line for line in smtp.raw[0].splitlines() if line.startswith(b"Subject:"))
    assert line.startswith(b"Subject: =?utf-8?")
    assert "Полуночная сова" in smtp.mails[0]["Subject"]


def test_a_name_cannot_break_out_of_the_subject(community: Persona, smtp: SmtpServer) -> None:
    Persona.objects.filter(pk=community.pk).update(name="Owl\r\nBcc: eve@example.com\r\n\r\nPay me")
    _take_down(community)
    letters.send_due(now=_letter().written_at)
    (message,) = smtp.mails
    assert message["Subject"].strip() == "Your persona “Owl Bcc: eve@example.com Pay me” was taken down"
    assert message["Bcc"] is None
    assert smtp.recipients == ["rcpt TO:<author@example.com>"]


def test_a_draft_and_a_persona_of_the_house_cannot_be_taken_down(community: Persona) -> None:
    _take_down(community)
    with pytest.raises(moderation.NotPublished):
        _take_down(community)
    with pytest.raises(moderation.NotPublished):
        _take_down(Persona.objects.get(pk="exam-coach"))
    with pytest.raises(moderation.NotPublished):
        moderation.let_pass(Persona.objects.get(pk="exam-coach"), seen=NOON)
    assert (Takedown.objects.count(), Letter.objects.count()) == (1, 1)


def test_a_takedown_that_fails_tells_nobody(community: Persona) -> None:
    def failing() -> None:
        _take_down(community)
        raise RuntimeError("the log could not be written")

    with pytest.raises(RuntimeError), transaction.atomic():
        failing()
    assert personas.shown(community.pk).public
    assert not Letter.objects.exists()


def test_what_was_taken_down_is_published_again_into_the_queue(community: Persona) -> None:
    _take_down(community)
    authoring.publish(Persona.objects.get(pk=community.pk), now=NOON)
    assert Persona.objects.filter(in_queue()).get() == community


def test_a_takedown_outlives_its_persona(community: Persona) -> None:
    _take_down(community)
    authoring.delete(Persona.objects.get(pk=community.pk), now=NOON)
    assert [(one.persona, one.slug) for one in Takedown.objects.all()] == [(None, "night-owl")]


def test_an_article_is_taken_down_alone(article: Article, community: Persona) -> None:
    moderation.let_pass(community, seen=community.updated_at)
    moderation.take_down_article(article, reason="An advertisement.", actor="operator:usr_1")
    article.refresh_from_db()
    assert article.status == ArticleStatus.DRAFT
    assert personas.shown(community.pk).public
    assert not Persona.objects.filter(in_queue()).exists()
    assert _letter().subject == "Your article “Of nights” was taken down"
    assert "An advertisement." in _letter().text
    with pytest.raises(moderation.NotPublished):
        moderation.take_down_article(article, reason="Again.", actor="operator:usr_1")


def test_a_ban_unpublishes_all_of_an_author_with_one_mail(community: Persona, author: User) -> None:
    other = Persona.objects.create(
        id="day-owl",
        name="Day Owl",
        status=PersonaStatus.PUBLISHED,
        owner=author,
        **{key: getattr(community, key) for key in ("icon", "tagline", "category", "tier", "soul")},
    )
    takedowns = moderation.ban(authors.of(author.pk), reason="Spam.", actor="operator:usr_1")
    assert {one.slug for one in takedowns} == {community.pk, other.pk}
    assert set(Persona.objects.filter(owner=author).values_list("status", flat=True)) == {"draft"}
    banned = Author.objects.get(pk=author.pk)
    assert (banned.banned, banned.ban_reason, banned.banned_by) == (True, "Spam.", "operator:usr_1")
    assert Letter.objects.count() == 1
    assert "drafts again:\n- Day Owl\n- Night Owl\n\nYou can still" in _letter().text


def test_a_banned_author_publishes_nothing_until_the_ban_is_lifted(community: Persona, author: User) -> None:
    moderation.ban(authors.of(author.pk), reason="Spam.", actor="operator:usr_1")
    draft = Persona.objects.get(pk=community.pk)
    with pytest.raises(authors.Banned):
        authoring.publish(draft, now=NOON)
    with pytest.raises(moderation.AlreadyBanned):
        moderation.ban(authors.of(author.pk), reason="More spam.", actor="operator:usr_1")
    moderation.lift(authors.of(author.pk))
    assert _letter().subject == "You can publish on Agentpods again"
    assert Persona.objects.get(pk=community.pk).status == PersonaStatus.DRAFT
    authoring.publish(draft, now=NOON)
    assert Persona.objects.get(pk=community.pk).status == PersonaStatus.PUBLISHED
    with pytest.raises(moderation.NotBanned):
        moderation.lift(authors.of(author.pk))


@pytest.mark.django_db(transaction=True)
def test_an_author_who_publishes_while_being_banned_is_not_published_afterwards(
    community: Persona, author: User
) -> None:
    _take_down(community)
    draft, started, refusals = Persona.objects.get(pk=community.pk), threading.Event(), list[Exception]()

    def publish() -> None:
        started.set()
        try:
            authoring.publish(draft, now=NOON)
        except authors.Banned as refusal:
            refusals.append(refusal)
        finally:
            connection.close()

    publishing = threading.Thread(target=publish)
    with transaction.atomic():
        moderation.ban(authors.of(author.pk), reason="Spam.", actor="operator:usr_1")
        publishing.start()
        assert started.wait(10)
    publishing.join(10)
    assert len(refusals) == 1
    assert Persona.objects.get(pk=community.pk).status == PersonaStatus.DRAFT


def test_the_queue_is_read_by_its_index(community: Persona) -> None:
    with time_machine.travel(NOON, tick=False), connection.cursor() as cursor:
        cursor.execute("set local enable_seqscan = off")
        assert "persona_queue" in Persona.objects.filter(in_queue()).order_by("published_at", "-pk")[:100].explain()


def test_what_was_taken_down_of_a_persona_is_found_by_its_key(community: Persona) -> None:
    others = Persona.objects.exclude(pk=community.pk)
    Takedown.objects.bulk_create(
        Takedown(persona=other, slug=other.pk, author_id=str(community.owner_id), reason="Spam.", taken_down_at=NOON)
        for other in others
        for _ in range(50)
    )
    _take_down(community)
    with connection.cursor() as cursor:
        cursor.execute("analyze catalog_takedown")
    assert "catalog_takedown_persona_id" in community.takedowns.all().explain()
