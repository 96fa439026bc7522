"""Writing personas: draft, change, publish, unpublish, delete.

An author's writes run one after the other, because each locks the author's row first. Visitors do not see drafts, so
writing a draft does not change the catalog's version. A change that visitors see is in one transaction with the new
version.
"""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from typing import Any

from django.db import transaction

from catalog import authors, completeness, llm_models, slugs, tiers, usage
from catalog.consistent_read import consistent_read
from catalog.models import Persona, PersonaL10n
from catalog.vocabulary import Lang, PersonaStatus
from config import states
from config.errors import BadRequest, Conflict, Forbidden, NotFound

TRANSITIONS: dict[PersonaStatus, set[PersonaStatus]] = {
    PersonaStatus.BUILTIN: set(),
    PersonaStatus.DRAFT: {PersonaStatus.PUBLISHED},
    PersonaStatus.PUBLISHED: {PersonaStatus.DRAFT},
}
PERSONAS_PER_AUTHOR = 64
DEFAULT_ICON = "🤖"
DEFAULT_CHANNELS = ["web"]
LOCALIZED = ("name", "tagline", "for_who", "does", "does_examples", "disclaimer", "demo")


class NotYours(NotFound):
    message = "no such persona of yours: GET /me/personas lists them"


class BuiltIn(Forbidden):
    def __init__(self, persona_id: str) -> None:
        super().__init__(f"{persona_id} is built in: nobody may change it; POST /personas makes one of your own")


class TooManyPersonas(BadRequest):
    def __init__(self) -> None:
        super().__init__(
            f"personas: {PERSONAS_PER_AUTHOR} of at most {PERSONAS_PER_AUTHOR} exist; delete one"
            " (DELETE /personas/{id})"
        )


class InUse(Conflict):
    def __init__(self, users: list[str]) -> None:
        super().__init__(
            f"{' and '.join(users)} use this persona: POST /personas/{{id}}/unpublish takes it off the catalog instead"
        )


# Reading.


def own(user_id: str) -> list[Persona]:
    """All personas of this user, newest first."""
    rows = Persona.objects.filter(owner_id=user_id).order_by("-created_at", "-id")
    with consistent_read():
        return list(rows.prefetch_related("localizations")[:PERSONAS_PER_AUTHOR])


def own_one(user_id: str, persona_id: str) -> Persona:
    """The user's persona of this id. Raises NotYours."""
    if not slugs.is_slug(persona_id):
        raise NotYours
    rows = Persona.objects.filter(pk=persona_id, owner_id=user_id).prefetch_related("localizations")
    with consistent_read():
        found: Persona | None = rows.first()
    if found is None:
        raise NotYours
    return found


def writable(user_id: str, persona_id: str) -> Persona:
    """The user's persona of this id, for a write. Raises BuiltIn for a built-in persona, NotYours."""
    if slugs.is_slug(persona_id) and Persona.objects.filter(pk=persona_id, owner=None).exists():
        raise BuiltIn(persona_id)
    return own_one(user_id, persona_id)


# Writing.


@transaction.atomic
def draft(user_id: str, *, texts: Mapping[str, Any], now: datetime) -> Persona:
    """Create a persona that only its author sees. Raises Banned, TooManyPersonas, UnknownTier, UnknownModel."""
    columns, localizations = _checked(texts)
    author = authors.writing(user_id)
    if Persona.objects.filter(owner_id=user_id).count() >= PERSONAS_PER_AUTHOR:
        raise TooManyPersonas
    ours = {"icon": DEFAULT_ICON, "channels": DEFAULT_CHANNELS, "author": author.name}
    persona = Persona(
        id=slugs.mint(columns["name"], otherwise="persona"),
        owner_id=user_id,
        created_at=now,
        updated_at=now,
        **{**ours, **columns},
    )
    Persona.objects.bulk_create([persona])
    _localize(persona, localizations)
    return own_one(user_id, persona.pk)


@transaction.atomic
def change(persona: Persona, *, texts: Mapping[str, Any], now: datetime) -> Persona:
    """Replace these fields of the persona. A published persona shows the change at once and returns to the moderators.

    Raises Banned, UnknownTier, UnknownModel, and Unfinished if a published persona would no longer be complete.
    """
    columns, localizations = _checked(texts)
    authors.writing(str(persona.owner_id))
    persona = locked(persona)
    changed = _put(persona, columns), _localize(persona, localizations)
    return touch(persona, now=now) if any(changed) else persona


@transaction.atomic
def touch(persona: Persona, *, now: datetime) -> Persona:
    """Record a change of the persona or its articles, in the same transaction.

    A published persona shows the change and returns to the moderators. Raises Unfinished if it is no longer complete.
    """
    persona = locked(persona)
    persona.updated_at = now
    if persona.status == PersonaStatus.PUBLISHED:
        completeness.check(persona)
        persona.reviewed_at = None
        persona.save(update_fields=["updated_at", "reviewed_at"])
    else:
        Persona.objects.filter(pk=persona.pk).update(updated_at=now)
    return persona


@transaction.atomic
def publish(persona: Persona, *, now: datetime) -> Persona:
    """Show the persona to everybody and queue it for the moderators. A published persona stays as it is.

    Raises Banned, Unfinished.
    """
    authors.writing(str(persona.owner_id))
    persona = locked(persona)
    if persona.status == PersonaStatus.PUBLISHED:
        return persona
    completeness.check(persona)
    return _move(persona, PersonaStatus.PUBLISHED, now=now)


@transaction.atomic
def unpublish(persona: Persona, *, now: datetime) -> Persona:
    """Make the persona a draft again, for its author.

    Agents that use the persona keep running. A draft stays a draft.
    """
    authors.held(str(persona.owner_id))
    withdraw(persona, now=now)
    return locked(persona)


@transaction.atomic
def withdraw(persona: Persona, *, now: datetime) -> None:
    """Make a published persona a draft again. All code that does this, for an author or an operator, calls this
    function.

    Code that withdraws several personas, or that also changes the author's row, locks that row first (`authors.held`).
    """
    persona = locked(persona)
    if persona.status != PersonaStatus.PUBLISHED:
        return
    _move(persona, PersonaStatus.DRAFT, now=now)


@transaction.atomic
def delete(persona: Persona, *, now: datetime) -> None:
    """Delete the persona for good, with its localizations and articles. Raises InUse while agents use it."""
    authors.held(str(persona.owner_id))
    if users := usage.of(persona.pk):
        raise InUse(users)
    withdraw(persona, now=now)
    Persona.objects.filter(pk=persona.pk).delete()


# The rows.


def _move(persona: Persona, to: PersonaStatus, *, now: datetime) -> Persona:
    """The only function that assigns a status. The caller holds the row's lock. Moderators look at what is published
    now."""
    states.check(TRANSITIONS, PersonaStatus(persona.status), to, of=persona.pk)
    persona.status, persona.updated_at, persona.reviewed_at = to, now, None
    persona.published_at = now if to == PersonaStatus.PUBLISHED else None
    persona.save(update_fields=["status", "published_at", "reviewed_at", "updated_at"])
    return persona


def _checked(texts: Mapping[str, Any]) -> tuple[dict[str, Any], dict[str, Any]]:
    """Split the texts into columns and localizations.

    Raises UnknownTier, UnknownModel for ids that the catalog lacks.
    """
    localizations = {lang: texts[lang] for lang in Lang.values if lang in texts}
    columns = {name: value for name, value in texts.items() if name not in localizations}
    if "tier" in columns:
        tiers.known_tier(columns["tier"])
    for model_id in columns.get("recommended_models", []):
        llm_models.known_model(model_id, field="recommendedModels")
    return columns, localizations


def locked(persona: Persona) -> Persona:
    """The row as it is now, locked until the transaction ends. Raises NotYours if the persona was deleted meanwhile."""
    rows = Persona.objects.select_for_update(of=("self",)).filter(pk=persona.pk, owner_id=persona.owner_id)
    found: Persona | None = rows.prefetch_related("localizations").first()
    if found is None:
        raise NotYours
    return found


def _put(persona: Persona, columns: Mapping[str, Any]) -> bool:
    """Write the columns that differ. Return whether there were any."""
    changed = {name: value for name, value in columns.items() if getattr(persona, name) != value}
    if changed:
        Persona.objects.filter(pk=persona.pk).update(**changed)
    return bool(changed)


def _localize(persona: Persona, localizations: Mapping[str, Any]) -> bool:
    """Replace these localizations; None removes one. Return whether any differs."""
    wanted = {lang: values and {**dict.fromkeys(LOCALIZED), **values} for lang, values in localizations.items()}
    before = {lang: _values(text) for lang, text in persona.texts.items()}
    changed = {lang: values for lang, values in wanted.items() if values != before.get(lang)}
    hidden = {lang for lang, text in persona.texts.items() if text.hidden}
    PersonaL10n.objects.filter(persona=persona, lang__in=changed).delete()
    PersonaL10n.objects.bulk_create(
        PersonaL10n(persona=persona, lang=lang, position=Lang.values.index(lang), hidden=lang in hidden, **values)
        for lang, values in changed.items()
        if values is not None
    )
    return bool(changed)


def _values(text: PersonaL10n) -> dict[str, Any]:
    return {column: getattr(text, column) for column in LOCALIZED}
