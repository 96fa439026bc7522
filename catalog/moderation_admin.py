"""Moderation in the admin: the queue, the authors, and the takedowns."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime
from itertools import accumulate
from typing import Any

from django.contrib import admin, messages
from django.contrib.admin.utils import quote, unquote
from django.core.exceptions import PermissionDenied
from django.db import transaction
from django.db.models import Count, Model, Q, QuerySet
from django.db.models.functions import Length
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.template.response import TemplateResponse
from django.urls import reverse
from django.utils.html import format_html
from django.utils.safestring import SafeString

from catalog import moderation
from catalog.models import Article, Author, Persona, Review, Takedown, in_queue
from catalog.moderation_steps import Ban, Lift, TakeDown, TakeDownArticle, may_moderate
from catalog.vocabulary import ArticleStatus, PersonaStatus
from config.admin_steps import WithSteps
from config.errors import ServiceError
from config.read_only import ReadOnly

MINUTE = "%Y-%m-%d %H:%M"
TAKEDOWNS_SHOWN = 20
MARKDOWN_SHOWN = 65_536  # characters on one page


class ForModerators(ReadOnly, admin.ModelAdmin[Any]):
    def has_view_permission(self, request: HttpRequest, obj: Model | None = None) -> bool:
        return may_moderate(request) or super().has_view_permission(request, obj)

    def has_module_permission(self, request: HttpRequest) -> bool:
        return self.has_view_permission(request)

    def has_moderate_permission(self, request: HttpRequest) -> bool:
        return may_moderate(request)


@admin.register(Review)
class ReviewAdmin(WithSteps, ForModerators):
    """Published personas whose current version no moderator has passed, the oldest first."""

    list_display = ("name", "author", "owner", "category", "risk", "published_at", "changed")
    list_filter = ("category", "risk", "tier")
    list_select_related = ("owner",)
    search_fields = ("id", "name", "author", "owner__email", "owner__id")
    ordering = ("published_at",)
    actions = ("let_pass", "ban")
    steps = (TakeDown(),)
    pages = (TakeDownArticle(), Ban(), Lift())

    def get_queryset(self, request: HttpRequest) -> QuerySet[Any]:
        return super().get_queryset(request).filter(in_queue()).defer("soul", "demo", "loaded", "does_examples")

    @admin.display(description="changed", ordering="updated_at")
    def changed(self, persona: Persona) -> SafeString:
        """The time of the last change, and a hidden field that tells the action which version the moderator saw."""
        stamp = persona.updated_at.isoformat()
        return format_html(
            '{}<input type="hidden" name="{}" value="{}">',
            f"{persona.updated_at:%Y-%m-%d %H:%M}",
            _seen(persona.pk),
            stamp,
        )

    @admin.action(description="Approve", permissions=["moderate"])
    def let_pass(self, request: HttpRequest, queryset: QuerySet[Persona]) -> None:
        """Approve the personas that the page showed, even if the whole queue was selected."""
        ids = list(queryset.values_list("pk", flat=True))
        shown = [persona_id for persona_id in ids if _seen(persona_id) in request.POST]
        passed = sum(self._pass(request, persona) for persona in Persona.objects.filter(pk__in=shown))
        if passed:
            self.message_user(request, f"{passed} approved.", messages.SUCCESS)
        if unseen := len(ids) - len(shown):
            were = "1 was" if unseen == 1 else f"{unseen} were"
            self.message_user(
                request, f"{were} not on your page: only personas that you see are approved.", messages.ERROR
            )

    @admin.action(description="Ban the author…", permissions=["moderate"])
    def ban(self, request: HttpRequest, queryset: QuerySet[Persona]) -> HttpResponse:
        return Ban.asked(request, once(queryset.values_list("owner_id", flat=True)))

    def change_view(
        self, request: HttpRequest, object_id: str, form_url: str = "", extra_context: dict[str, Any] | None = None
    ) -> HttpResponse:
        """One page with everything that the author wrote, even if another moderator has passed it meanwhile."""
        if not self.has_view_permission(request):
            raise PermissionDenied
        rows = Persona.objects.filter(owner__isnull=False).select_related("owner").prefetch_related("localizations")
        persona = rows.filter(pk=unquote(object_id)).first()
        if persona is None:
            raise Http404
        if request.method == "POST":
            return self._passed(request, persona)
        return TemplateResponse(request, "admin/catalog/review/change_form.html", self._shown(request, persona))

    def _passed(self, request: HttpRequest, persona: Persona) -> HttpResponse:
        if not may_moderate(request):
            raise PermissionDenied
        if self._pass(request, persona):
            self.message_user(request, f"{persona} approved.", messages.SUCCESS)
            return redirect("admin:catalog_review_changelist")
        return redirect(request.path)

    def _pass(self, request: HttpRequest, persona: Persona) -> bool:
        try:
            with transaction.atomic():
                moderation.let_pass(persona, seen=datetime.fromisoformat(request.POST.get(_seen(persona.pk), "")))
                self.log_change(request, persona, "Approved.")
        except ValueError:
            self.message_user(request, f"{persona} was not on your page: look at it first.", messages.ERROR)
        except ServiceError as refusal:
            self.message_user(request, refusal.message, messages.ERROR)
        else:
            return True
        return False

    def _shown(self, request: HttpRequest, persona: Persona) -> dict[str, Any]:
        return {
            **self.admin_site.each_context(request),
            "opts": self.opts,
            "title": "Review",
            "persona": persona,
            "state": _state(persona),
            "waits": persona.status == PersonaStatus.PUBLISHED and persona.reviewed_at is None,
            "seen": (_seen(persona.pk), persona.updated_at.isoformat()),
            "articles": list(_articles(persona)),
            "may_moderate": may_moderate(request),
            "takedowns": persona.takedowns.all()[:TAKEDOWNS_SHOWN],
            "tools": tools(request, persona)[1:],
        }


@admin.register(Author)
class AuthorAdmin(ForModerators):
    list_display = ("name", "user", "published", "created_at", "banned_at", "banned_by")
    list_filter = (("banned_at", admin.EmptyFieldListFilter), "created_at")
    list_select_related = ("user",)
    search_fields = ("name", "user__email", "user__id")
    fields = ("user", "name", "published", "created_at", "banned_at", "banned_by", "ban_reason")
    readonly_fields = ("published",)
    actions = ("ban", "lift")

    def get_queryset(self, request: HttpRequest) -> QuerySet[Any]:
        published = Count("user__personas", filter=Q(user__personas__status=PersonaStatus.PUBLISHED))
        return Author.objects.annotate(published_count=published)

    @admin.display(description="published personas", ordering="published_count")
    def published(self, author: Any) -> int:
        return int(author.published_count)

    @admin.action(description="Ban…", permissions=["moderate"])
    def ban(self, request: HttpRequest, queryset: QuerySet[Author]) -> HttpResponse:
        return Ban.asked(request, once(queryset.values_list("pk", flat=True)))

    @admin.action(description="Lift the ban…", permissions=["moderate"])
    def lift(self, request: HttpRequest, queryset: QuerySet[Author]) -> HttpResponse:
        return Lift.asked(request, once(queryset.values_list("pk", flat=True)))

    def change_view(
        self, request: HttpRequest, object_id: str, form_url: str = "", extra_context: dict[str, Any] | None = None
    ) -> HttpResponse:
        user_id = unquote(object_id)
        step: type[Ban | Lift] = Lift if Author.objects.filter(pk=user_id, banned_at__isnull=False).exists() else Ban
        tool = {"label": step.button.partition(" ")[0], "address": step.address([user_id])}
        context = {"moderation_tools": [tool] if may_moderate(request) else []}
        return super().change_view(request, object_id, form_url, {**(extra_context or {}), **context})


@admin.register(Takedown)
class TakedownAdmin(ForModerators):
    """What was taken down, when, why and by whom. Kept for good."""

    list_display = ("slug", "author", "taken_down_at", "taken_down_by", "reason")
    list_filter = ("taken_down_at",)
    list_select_related = ("author",)
    search_fields = ("slug", "reason", "author__email", "author__id")
    fields = ("id", "persona", *list_display)


def tools(request: HttpRequest, persona: Persona | None) -> list[dict[str, str]]:
    """Links: to the page with the whole persona, then to the steps that are possible for it."""
    if persona is None or persona.owner_id is None or not may_moderate(request):
        return []
    author = Author.objects.filter(pk=persona.owner_id).first()
    step: type[Ban | Lift] = Lift if author is not None and author.banned else Ban
    name = "Lift the author’s ban" if step is Lift else "Ban the author"
    links = {"Review": reverse("admin:catalog_review_change", args=[quote(persona.pk)])}
    if persona.status == PersonaStatus.PUBLISHED:
        links["Take down"] = TakeDown.address([persona.pk])
    links[name] = step.address([persona.owner_id])
    return [{"label": label, "address": address} for label, address in links.items()]


def _state(persona: Persona) -> str:
    if persona.published_at is None:
        return "Not published."
    state = "Waits for approval" if persona.reviewed_at is None else f"Approved {persona.reviewed_at:{MINUTE}}"
    changed = f", changed {persona.updated_at:{MINUTE}}" if persona.updated_at > persona.published_at else ""
    return f"{state}; published {persona.published_at:{MINUTE}}{changed}."


def _articles(persona: Persona) -> Iterable[dict[str, Any]]:
    """The published articles, newest first. As many as fit on the page come with their bodies."""
    rows = Article.objects.filter(persona=persona, status=ArticleStatus.PUBLISHED).annotate(length=Length("body"))
    listed = list(rows.defer("body", "html"))
    ends = accumulate(article.length for article in listed)
    fitting = [article.pk for article, end in zip(listed, ends, strict=True) if end <= MARKDOWN_SHOWN]
    read = Article.objects.defer("body").in_bulk(fitting)
    for article in listed:
        yield {"article": article, "body": read[article.pk].shown if article.pk in read else None}


def _seen(persona_id: str) -> str:
    return f"seen {persona_id}"


def once(ids: Iterable[str | None]) -> list[str]:
    return list(dict.fromkeys(one for one in ids if one is not None))
