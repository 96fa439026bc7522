"""Moderation: operators approve or take down what authors publish, or ban an author.

A mail tells the author the reason.
"""

from __future__ import annotations

from datetime import datetime

from django.db import transaction
from django.db.models import QuerySet
from django.utils import timezone

from catalog import authoring, authors
from catalog.models import Article, Author, Persona, Takedown
from catalog.vocabulary import ArticleStatus, PersonaStatus
from config import outgoing_mail
from config.errors import Conflict
from config.outgoing_mail import Mail


class NotPublished(Conflict):
    def __init__(self, what: Persona | Article) -> None:
        super().__init__(f"{what} is not published, or is built in: there is nothing to approve or to take down")


class ChangedSince(Conflict):
    def __init__(self, persona: Persona) -> None:
        super().__init__(f"{persona} was changed after you looked at it: look again")


class AlreadyBanned(Conflict):
    def __init__(self, author: Author) -> None:
        super().__init__(f"{author} is banned already")


class NotBanned(Conflict):
    def __init__(self, author: Author) -> None:
        super().__init__(f"{author} is not banned")


@transaction.atomic
def let_pass(persona: Persona, *, seen: datetime) -> Persona:
    """Take the persona out of the queue, if it is still as the operator saw it at `seen`, the `updated_at` of that
    moment.

    Raises NotPublished, ChangedSince.
    """
    persona = _published(persona)
    if persona.updated_at != seen:
        raise ChangedSince(persona)
    persona.reviewed_at = timezone.now()
    Persona.objects.filter(pk=persona.pk).update(reviewed_at=persona.reviewed_at)
    return persona


@transaction.atomic
def take_down(persona: Persona, *, reason: str, actor: str) -> Takedown:
    """Make the persona a draft again and mail the reason to its author.

    Its agents keep running. Raises NotPublished.
    """
    if persona.owner_id is None:
        raise NotPublished(persona)
    now = timezone.now()
    authors.held(persona.owner_id)
    persona = _published(persona)
    (takedown,) = _withdraw([persona], reason=reason, actor=actor, now=now)
    outgoing_mail.write(takedown.author_id, takedown_mail(persona, reason=reason))
    return takedown


@transaction.atomic
def take_down_article(article: Article, *, reason: str, actor: str) -> Article:
    """Make the article a draft again and mail the reason to its author.

    The persona stays as it is. Raises NotPublished.
    """
    persona = article.persona
    if persona.owner_id is None:
        raise NotPublished(article)
    authors.held(persona.owner_id)
    article = Article.objects.select_for_update().get(pk=article.pk)
    if article.status != ArticleStatus.PUBLISHED:
        raise NotPublished(article)
    article.status = ArticleStatus.DRAFT
    article.save(update_fields=["status", "updated_at"])
    outgoing_mail.write(persona.owner_id, article_mail(article, reason=reason))
    return article


@transaction.atomic
def ban(author: Author, *, reason: str, actor: str) -> list[Takedown]:
    """Stop this author from writing and publishing, and make all their personas drafts again. Raises AlreadyBanned."""
    now = timezone.now()
    author = authors.held(author.user_id)
    if author.banned:
        raise AlreadyBanned(author)
    author.banned_at, author.banned_by, author.ban_reason = now, actor, reason
    author.save(update_fields=["banned_at", "banned_by", "ban_reason"])
    personas = list(published_by(author).select_for_update())  # lock all before the catalog's version changes
    mail = ban_mail(author, personas, reason=reason)
    takedowns = _withdraw(personas, reason=reason, actor=actor, now=now)
    outgoing_mail.write(author.user_id, mail)
    return takedowns


@transaction.atomic
def lift(author: Author) -> Author:
    """Let the author write and publish again. Personas that the ban unpublished stay drafts. Raises NotBanned."""
    author = authors.held(author.user_id)
    if not author.banned:
        raise NotBanned(author)
    author.banned_at, author.banned_by, author.ban_reason = None, "", ""
    author.save(update_fields=["banned_at", "banned_by", "ban_reason"])
    outgoing_mail.write(author.user_id, lift_mail(author))
    return author


def published_by(author: Author) -> QuerySet[Persona]:
    """The personas that a ban unpublishes."""
    return Persona.objects.filter(owner_id=author.user_id, status=PersonaStatus.PUBLISHED).order_by("id")


# The mails to authors. Operators see the same mails before they confirm.


def takedown_mail(persona: Persona, *, reason: str) -> Mail:
    return outgoing_mail.rendered(
        "persona_taken_down", lang=_language(persona), name=persona.name, persona_id=persona.pk, reason=reason
    )


def article_mail(article: Article, *, reason: str) -> Mail:
    return outgoing_mail.rendered(
        "article_taken_down",
        lang=_language(article.persona),
        title=article.title,
        name=article.persona.name,
        persona_id=article.persona_id,
        slug=article.slug,
        reason=reason,
    )


def ban_mail(author: Author, personas: list[Persona], *, reason: str) -> Mail:
    names = [persona.name for persona in personas]
    return outgoing_mail.rendered("author_banned", lang=author.user.lang, names=names, reason=reason)


def lift_mail(author: Author) -> Mail:
    return outgoing_mail.rendered("author_ban_lifted", lang=author.user.lang)


def _language(persona: Persona) -> str:
    return persona.owner.lang if persona.owner else outgoing_mail.FALLBACK


def _published(persona: Persona) -> Persona:
    """The row as it is now, locked until the transaction ends. Raises NotPublished."""
    rows = Persona.objects.select_for_update(of=("self",)).filter(pk=persona.pk, owner__isnull=False)
    found: Persona | None = rows.filter(status=PersonaStatus.PUBLISHED).first()
    if found is None:
        raise NotPublished(persona)
    return found


def _withdraw(personas: list[Persona], *, reason: str, actor: str, now: datetime) -> list[Takedown]:
    for persona in personas:
        authoring.withdraw(persona, now=now)
    return Takedown.objects.bulk_create(
        Takedown(
            persona=persona,
            slug=persona.pk,
            author_id=str(persona.owner_id),
            reason=reason,
            taken_down_at=now,
            taken_down_by=actor,
        )
        for persona in personas
    )
