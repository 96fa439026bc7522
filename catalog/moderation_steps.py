"""The steps of moderators in the admin. Their pages also show the mail to the author."""

from __future__ import annotations

from typing import Any, ClassVar, TypeVar
from urllib.parse import urlencode

from django import forms
from django.contrib import messages
from django.contrib.auth import get_user_model
from django.db.models import Count, Model
from django.http import HttpRequest, HttpResponseRedirect
from django.shortcuts import redirect
from django.urls import reverse

from catalog import authors, moderation
from catalog.fields import ParagraphsFormField
from catalog.models import Article, Author, Persona
from catalog.models.authors import REASON_LENGTH
from catalog.vocabulary import ArticleStatus, PersonaStatus
from config.admin_steps import MOST, Given, Logged, Step, in_words
from config.outgoing_mail import Mail

PERMISSION = "catalog.moderate_persona"
MAILS_SHOWN = 3

Row = TypeVar("Row", bound=Model)


class AuthorReasonForm(forms.Form):
    reason = ParagraphsFormField(
        max_length=REASON_LENGTH,
        validators=[in_words],
        widget=forms.Textarea(attrs={"rows": 6, "cols": 80, "class": "vLargeTextField"}),
        help_text=f"The author reads exactly this text. At most {REASON_LENGTH:,} characters.",
    )


class ModerationStep(Step[Row]):
    """A step that tells an author by mail. Its page shows the mail."""

    permission = "moderate"
    material = ("id",)  # a change by the author meanwhile does not stop the step
    form: ClassVar[type[forms.Form]] = AuthorReasonForm
    after = "admin:catalog_review_changelist"
    template = "admin/catalog/review/step.html"

    @classmethod
    def address(cls, ids: list[str]) -> str:
        return f"{reverse(f'admin:catalog_review_{cls.name}')}?{urlencode([(cls.parameter, one) for one in ids])}"

    @classmethod
    def asked(cls, request: HttpRequest, ids: list[str]) -> HttpResponseRedirect:
        if len(ids) > MOST:
            messages.warning(request, f"Only the first {MOST} of {len(ids)}: that is the most at a time.")
        return redirect(cls.address(ids[:MOST]))

    def held(self, row_id: str) -> Row | None:
        return next(iter(self.rows([row_id])), None)

    def more(self, rows: list[Row], *, reason: str) -> dict[str, Any]:
        mails = [self.mail(row, reason=reason) for row in rows[:MAILS_SHOWN]]
        return {"mails": mails, "unseen_mails": max(0, len(rows) - MAILS_SHOWN)}

    def mail(self, row: Row, *, reason: str) -> Mail:
        raise NotImplementedError


class TakeDown(ModerationStep[Persona]):
    model = Persona
    name, parameter = "take_down", "persona"
    title, button, done = "Take down personas", "Take down and mail", "Taken down, mail sent"

    def rows(self, ids: list[str]) -> list[Persona]:
        published = Persona.objects.filter(pk__in=ids, status=PersonaStatus.PUBLISHED)
        return list(published.select_related("owner").order_by("id"))

    def shown(self, row: Persona) -> dict[str, str]:
        made = str(row.deployed_count)
        return {"persona": row.name, "id": row.pk, "author": row.author, "status": row.status, "agents made": made}

    def means(self, rows: list[Persona]) -> list[str]:
        return [f"{row} ({row.pk}) by {row.author} becomes a draft again; agents made from it go on." for row in rows]

    def mail(self, row: Persona, *, reason: str) -> Mail:
        return moderation.takedown_mail(row, reason=reason)

    def take(self, row: Persona, *, given: Given) -> Logged | None:
        moderation.take_down(row, reason=given.reason, actor=given.actor)
        return [(row, f"Taken down: {given.reason}")]


class TakeDownArticle(ModerationStep[Article]):
    model = Article
    name, parameter = "take_down_article", "article"
    title, button, done = "Take down articles", "Take down and mail", "Taken down, mail sent"
    after = "admin:catalog_article_changelist"

    def rows(self, ids: list[str]) -> list[Article]:
        published = Article.objects.filter(pk__in=ids, status=ArticleStatus.PUBLISHED, persona__owner__isnull=False)
        return list(published.select_related("persona__owner").defer("body", "html").order_by("id"))

    def shown(self, row: Article) -> dict[str, str]:
        return {"article": row.title, "id": row.pk, "persona": str(row.persona), "status": row.status}

    def means(self, rows: list[Article]) -> list[str]:
        return [f"{row} ({row.slug}), about {row.persona}, becomes a draft again; the persona stays." for row in rows]

    def mail(self, row: Article, *, reason: str) -> Mail:
        return moderation.article_mail(row, reason=reason)

    def take(self, row: Article, *, given: Given) -> Logged | None:
        moderation.take_down_article(row, reason=given.reason, actor=given.actor)
        return [(row, f"Taken down: {given.reason}")]


class AuthorStep(ModerationStep[Author]):
    model = Author
    parameter = "author"
    after = "admin:catalog_author_changelist"

    def shown(self, row: Author) -> dict[str, str]:
        return {"author": row.name, "account": str(row.user), "id": row.pk, "banned": "yes" if row.banned else "no"}


class Ban(AuthorStep):
    name = "ban"
    title, button, done = "Ban authors", "Ban and mail", "Banned, mail sent"

    def rows(self, ids: list[str]) -> list[Author]:
        """Also users who wrote personas before the table of authors existed."""
        users = get_user_model().objects.filter(pk__in=ids).order_by("pk")
        known = Author.objects.select_related("user").in_bulk(ids)
        return [row for user in users if not (row := known.get(user.pk) or authors.of(user.pk)).banned]

    def means(self, rows: list[Author]) -> list[str]:
        published = Persona.objects.filter(owner__in=[row.pk for row in rows], status=PersonaStatus.PUBLISHED)
        counts = dict(published.order_by().values_list("owner").annotate(Count("pk")))
        return [
            f"{row} ({row.user}) may no longer write or publish personas; {counts.get(row.pk, 0)} published ones become"
            " drafts."
            for row in rows
        ]

    def mail(self, row: Author, *, reason: str) -> Mail:
        return moderation.ban_mail(row, list(moderation.published_by(row)), reason=reason)

    def take(self, row: Author, *, given: Given) -> Logged | None:
        takedowns = moderation.ban(row, reason=given.reason, actor=given.actor)
        taken: Logged = [
            (one.persona, f"Taken down with the ban of its author: {given.reason}") for one in takedowns if one.persona
        ]
        return [(row, f"Banned: {given.reason}"), *taken]


class Lift(AuthorStep):
    name = "lift"
    title, button, done = "Lift bans", "Lift and mail", "Ban lifted, mail sent"
    form = forms.Form

    def rows(self, ids: list[str]) -> list[Author]:
        banned = Author.objects.filter(pk__in=ids, banned_at__isnull=False)
        return list(banned.select_related("user").order_by("user"))

    def means(self, rows: list[Author]) -> list[str]:
        return [f"{row} ({row.user}) may write and publish again. The ban was for: {row.ban_reason}" for row in rows]

    def mail(self, row: Author, *, reason: str) -> Mail:
        return moderation.lift_mail(row)

    def take(self, row: Author, *, given: Given) -> Logged | None:
        moderation.lift(row)
        return [(row, f"Ban lifted. It was for: {row.ban_reason}")]


def may_moderate(request: HttpRequest) -> bool:
    return request.user.has_perm(PERMISSION)
