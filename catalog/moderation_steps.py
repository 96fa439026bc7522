"""What moderators do in the console: each step is a page that asks why, shows the mail that will tell, and does it."""

from __future__ import annotations

from typing import Any, ClassVar, Generic, TypeVar
from urllib.parse import urlencode

from django import forms
from django.contrib import messages
from django.contrib.admin import ModelAdmin
from django.contrib.auth import get_user_model
from django.core.exceptions import PermissionDenied
from django.db import transaction
from django.db.models import Count, Model
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect
from django.shortcuts import redirect
from django.template.response import TemplateResponse
from django.urls import reverse

from catalog import authors, moderation
from catalog.fields import ParagraphsFormField
from catalog.models import Article, Author, Persona
from catalog.models.authors import REASON_LENGTH
from catalog.vocabulary import ArticleStatus, PersonaStatus
from config.errors import ServiceError
from config.post import Mail

PERMISSION = "catalog.moderate_persona"
MOST = 50  # at a time: their ids are in the page's address
MAILS_SHOWN = 3
NO_REASON_YET = "(your reason)"

Row = TypeVar("Row", bound=Model)
Logged = list[tuple[Model, str]]


class ReasonForm(forms.Form):
    reason = ParagraphsFormField(
        max_length=REASON_LENGTH,
        widget=forms.Textarea(attrs={"rows": 6, "cols": 80, "class": "vLargeTextField"}),
        help_text=f"The author reads it as you write it. At most {REASON_LENGTH:,} characters.",
    )


class Step(Generic[Row]):
    """One thing that moderators do with rows of one kind, named in the address by their ids."""

    name: ClassVar[str]
    parameter: ClassVar[str]
    title: ClassVar[str]
    button: ClassVar[str]
    after: ClassVar[str] = "admin:catalog_review_changelist"
    form: ClassVar[type[forms.Form]] = ReasonForm

    @classmethod
    def address(cls, ids: list[str]) -> str:
        return f"{reverse(f'admin:catalog_review_{cls.name}')}?{urlencode([(cls.parameter, one) for one in ids])}"

    @classmethod
    def asked(cls, request: HttpRequest, ids: list[str]) -> HttpResponseRedirect:
        """From a list to the page that asks."""
        if len(ids) > MOST:
            messages.warning(request, f"The first {MOST} of {len(ids)}: more cannot be done at a time.")
        return redirect(cls.address(ids[:MOST]))

    def rows(self, ids: list[str]) -> list[Row]:
        raise NotImplementedError

    def means(self, rows: list[Row]) -> list[str]:
        """What will become of these rows, a sentence for each."""
        raise NotImplementedError

    def mail(self, row: Row, *, reason: str) -> Mail:
        raise NotImplementedError

    def take(self, row: Row, *, reason: str, actor: str) -> Logged:
        """Do it; returns what is to be in whose history."""
        raise NotImplementedError


class TakeDown(Step[Persona]):
    name, parameter = "take_down", "persona"
    title, button = "Take down personas", "Take down and mail"

    def rows(self, ids: list[str]) -> list[Persona]:
        published = Persona.objects.filter(pk__in=ids, status=PersonaStatus.PUBLISHED)
        return list(published.select_related("owner").order_by("id"))

    def means(self, rows: list[Persona]) -> list[str]:
        return [f"{row} ({row.pk}) by {row.author} becomes a draft again; agents made from it run on." for row in rows]

    def mail(self, row: Persona, *, reason: str) -> Mail:
        return moderation.takedown_mail(row, reason=reason)

    def take(self, row: Persona, *, reason: str, actor: str) -> Logged:
        moderation.take_down(row, reason=reason, actor=actor)
        return [(row, f"Taken down: {reason}")]


class TakeDownArticle(Step[Article]):
    name, parameter = "take_down_article", "article"
    title, button = "Take down articles", "Take down and mail"
    after = "admin:catalog_article_changelist"

    def rows(self, ids: list[str]) -> list[Article]:
        published = Article.objects.filter(pk__in=ids, status=ArticleStatus.PUBLISHED, persona__owner__isnull=False)
        return list(published.select_related("persona__owner").defer("body", "html").order_by("id"))

    def means(self, rows: list[Article]) -> list[str]:
        return [f"{row} ({row.slug}), about {row.persona}, becomes a draft again; the persona stays." for row in rows]

    def mail(self, row: Article, *, reason: str) -> Mail:
        return moderation.article_mail(row, reason=reason)

    def take(self, row: Article, *, reason: str, actor: str) -> Logged:
        moderation.take_down_article(row, reason=reason, actor=actor)
        return [(row, f"Taken down: {reason}")]


class Ban(Step[Author]):
    name, parameter = "ban", "author"
    title, button = "Ban authors", "Ban and mail"
    after = "admin:catalog_author_changelist"

    def rows(self, ids: list[str]) -> list[Author]:
        """Also who wrote personas before there were rows of authors."""
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

    def take(self, row: Author, *, reason: str, actor: str) -> Logged:
        takedowns = moderation.ban(row, reason=reason, actor=actor)
        taken: Logged = [
            (one.persona, f"Taken down with the ban of its author: {reason}") for one in takedowns if one.persona
        ]
        return [(row, f"Banned: {reason}"), *taken]


class Lift(Step[Author]):
    name, parameter = "lift", "author"
    title, button = "Lift bans", "Lift and mail"
    after = "admin:catalog_author_changelist"
    form = forms.Form

    def rows(self, ids: list[str]) -> list[Author]:
        banned = Author.objects.filter(pk__in=ids, banned_at__isnull=False)
        return list(banned.select_related("user").order_by("user"))

    def means(self, rows: list[Author]) -> list[str]:
        return [f"{row} ({row.user}) may write and publish again. The ban was for: {row.ban_reason}" for row in rows]

    def mail(self, row: Author, *, reason: str) -> Mail:
        return moderation.lift_mail(row)

    def take(self, row: Author, *, reason: str, actor: str) -> Logged:
        moderation.lift(row)
        return [(row, f"Ban lifted. It was for: {row.ban_reason}")]


STEPS: list[Step[Any]] = [TakeDown(), TakeDownArticle(), Ban(), Lift()]


def may_moderate(request: HttpRequest) -> bool:
    return request.user.has_perm(PERMISSION)


def page(console: ModelAdmin[Any], request: HttpRequest, *, step: Step[Any]) -> HttpResponse:
    """Ask, or do it for each row by itself: one that cannot be done any more holds up none of the others."""
    if not may_moderate(request):
        raise PermissionDenied
    ids = [one for one in request.GET.getlist(step.parameter) if one.isprintable()]
    rows = step.rows(ids[:MOST])
    if not rows:
        messages.error(request, "There is nothing of these left to do.")
        return redirect(step.after)
    form = step.form(request.POST if request.method == "POST" else None)
    if form.is_valid() and "confirm" in request.POST:
        for row in rows:
            _take(console, request, row, step=step, reason=form.cleaned_data.get("reason", ""))
        return redirect(step.after)
    return _asking(console, request, form, rows, step=step)


def _take(console: ModelAdmin[Any], request: HttpRequest, row: Model, *, step: Step[Any], reason: str) -> None:
    try:
        with transaction.atomic():
            for changed, message in step.take(row, reason=reason, actor=f"operator:{request.user.pk}"):
                console.log_change(request, changed, message)
    except ServiceError as refusal:
        messages.error(request, refusal.message)
    else:
        messages.success(request, f"{row}: done, and told by mail.")


def _asking(
    console: ModelAdmin[Any], request: HttpRequest, form: forms.Form, rows: list[Any], *, step: Step[Any]
) -> HttpResponse:
    form.is_valid()
    reason = getattr(form, "cleaned_data", {}).get("reason") or NO_REASON_YET
    context = {
        **console.admin_site.each_context(request),
        "opts": console.opts,
        "title": step.title,
        "step": step,
        "form": form,
        "meanings": step.means(rows),
        "mails": [step.mail(row, reason=reason) for row in rows[:MAILS_SHOWN]],
        "unseen_mails": max(0, len(rows) - MAILS_SHOWN),
        "back": reverse(step.after),
    }
    return TemplateResponse(request, "admin/catalog/review/step.html", context)
