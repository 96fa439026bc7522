"""/account/personas: personas that a person writes for the catalog, with the same rules as /personas in the API."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from django.http import HttpResponseBase
from django.utils import timezone
from django.utils.functional import Promise
from django.utils.translation import gettext_lazy as _
from rest_framework.request import Request

from accounts.authentication import caller
from catalog import articles, authoring, authors, tiers
from catalog.models import Article, Persona
from catalog.serializers.authors import DraftPersonaSerializer, PatchPersonaSerializer, RenameAuthorSerializer
from catalog.vocabulary import ArticleStatus, Category, Channel, PersonaStatus, Risk
from config.errors import ServiceError
from pages.account.base import AccountPageViewSet
from pages.account.names import plan_name
from pages.account.personas import persona_form
from pages.words import CATEGORIES, CHANNELS

PATH = "/account/personas"
RISKS: dict[str, Promise] = {
    Risk.LOW: _("Nothing special"),
    Risk.HIGH: _("Health, law, money or similar: it must have a warning"),
}


@dataclass(frozen=True, slots=True, kw_only=True)
class PersonaRow:
    persona: Persona
    is_public: bool
    waits: bool  # waits for the moderators


class PersonasPagePage(AccountPageViewSet):
    def user_id(self) -> str:
        return caller(self.request).pk

    def own(self, persona_id: str) -> Persona:
        return authoring.own_one(self.user_id(), persona_id)

    def editing(
        self, persona: Persona, form: dict[str, Any] | None = None, *, problem: str = "", status: int = 200
    ) -> HttpResponseBase:
        context = {
            "line": line(persona),
            "persona": persona,
            "form": form or persona_form.shown(persona),
            "categories": [(one.value, CATEGORIES[one].name) for one in CATEGORIES],
            "plans": [(tier.id, plan_name(tier.id)) for tier in tiers.offered()],
            "channel_names": [(one.value, name) for one, name in CHANNELS.items()],
            "risks": list(RISKS.items()),
            "articles": articles.of(persona),
            "saved": "saved" in self.sent.GET,
            "problem": problem,
        }
        return self.page("persona_edit.html", context, status=status)


class PersonasPage(PersonasPagePage):
    shown_in_look = True

    def retrieve(self, request: Request) -> HttpResponseBase:
        return self.shown()

    def create(self, request: Request) -> HttpResponseBase:
        """Create a draft that has only a name. The rest is filled in on its own page."""
        given = DraftPersonaSerializer(data={"name": self.typed("name")})
        if not given.is_valid():
            return self.shown(problem=persona_form.malformed(given.errors), status=400)
        try:
            persona = authoring.draft(self.user_id(), texts=given.validated_data, now=timezone.now())
        except ServiceError as refusal:
            return self.shown(problem=persona_form.refused(refusal), status=refusal.status)
        return self.go(f"{PATH}/{persona.pk}")

    def shown(self, *, problem: str = "", status: int = 200) -> HttpResponseBase:
        author = authors.of(self.user_id())
        context = {
            "lines": [line(persona) for persona in authoring.own(self.user_id())],
            "author": author,
            "typed": self.typed("name"),
            "problem": problem,
        }
        return self.page("personas.html", context, status=status)


class AuthorNamePage(PersonasPage):
    def retrieve(self, request: Request) -> HttpResponseBase:
        return self.go(PATH)

    def create(self, request: Request) -> HttpResponseBase:
        given = RenameAuthorSerializer(data={"name": self.typed("author")})
        if not given.is_valid():
            return self.shown(problem=persona_form.malformed(given.errors), status=400)
        try:
            authors.rename(self.user_id(), **given.validated_data, now=timezone.now())
        except ServiceError as refusal:
            return self.shown(problem=persona_form.refused(refusal), status=refusal.status)
        return self.go(PATH)


class PersonaEditPage(PersonasPagePage):
    shown_in_look = True

    def retrieve(self, request: Request, id: str) -> HttpResponseBase:
        return self.editing(self.own(id))

    def create(self, request: Request, id: str) -> HttpResponseBase:
        persona = self.own(id)
        form = persona_form.typed(self.typed, self.sent.POST.getlist("channels"))
        given = PatchPersonaSerializer(data=persona_form.body(form))
        if not given.is_valid():
            return self.editing(persona, form, problem=persona_form.malformed(given.errors), status=400)
        try:
            authoring.change(persona, texts=given.validated_data, now=timezone.now())
        except ServiceError as refusal:
            return self.editing(persona, form, problem=persona_form.refused(refusal), status=refusal.status)
        return self.go(f"{PATH}/{id}?saved")


class PersonaPreviewPage(PersonasPagePage):
    """The persona as visitors see it, or will see it once it is published."""

    shown_in_look = True

    def retrieve(self, request: Request, id: str) -> HttpResponseBase:
        persona = self.own(id)
        examples = persona.does_examples or {}
        context = {
            "line": line(persona),
            "persona": persona,
            "abilities": [(label, examples.get(label, "")) for label in persona.does],
            "category": CATEGORIES[Category(persona.shown_category)].name,
            "plan": plan_name(persona.shown_tier),
            "channels": [CHANNELS[Channel(channel)] for channel in persona.channels],
            "articles": [one for one in articles.of(persona) if one.status == ArticleStatus.PUBLISHED],
        }
        return self.page("persona_preview.html", context)


class PublishPersonaPage(PersonasPagePage):
    def retrieve(self, request: Request, id: str) -> HttpResponseBase:
        return self.go(f"{PATH}/{self.own(id).pk}")

    def create(self, request: Request, id: str) -> HttpResponseBase:
        persona = self.own(id)
        try:
            self.act(persona)
        except ServiceError as refusal:
            return self.editing(persona, problem=persona_form.refused(refusal), status=refusal.status)
        return self.go(f"{PATH}/{id}")

    def act(self, persona: Persona) -> None:
        authoring.publish(persona, now=timezone.now())


class UnpublishPersonaPage(PublishPersonaPage):
    def act(self, persona: Persona) -> None:
        authoring.unpublish(persona, now=timezone.now())


class DeletePersonaPage(PersonasPagePage):
    """Delete a persona. The page first says what that means."""

    def retrieve(self, request: Request, id: str) -> HttpResponseBase:
        return self.page("persona_delete.html", {"persona": self.own(id)})

    def create(self, request: Request, id: str) -> HttpResponseBase:
        persona = self.own(id)
        try:
            authoring.delete(persona, now=timezone.now())
        except ServiceError as refusal:
            return self.editing(persona, problem=persona_form.refused(refusal), status=refusal.status)
        return self.go(PATH)


def line(persona: Persona) -> PersonaRow:
    is_public = persona.status == PersonaStatus.PUBLISHED
    return PersonaRow(persona=persona, is_public=is_public, waits=is_public and persona.reviewed_at is None)


def article_form(article: Article | None) -> dict[str, Any]:
    columns = ("title", "summary", "lang", "status", "body")
    return {name: getattr(article, name) if article else "" for name in columns}
