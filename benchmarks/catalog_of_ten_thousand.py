"""A catalog with 10,000 community personas in six languages."""

from __future__ import annotations

from django.db import connection, transaction

from accounts.models import User
from catalog.models import Persona, PersonaL10n
from catalog.version import bump
from catalog.vocabulary import PersonaStatus

PERSONAS = 10_000
COMMON = "zebrafish"  # a word in every name, in every language


def fill() -> None:
    """Copy the built-in personas with all their languages, with short souls (system prompts) and without demos."""
    owner = User.objects.create_user("author@example.com")
    own = list(Persona.objects.prefetch_related("localizations"))
    with transaction.atomic():
        for number in range(PERSONAS):
            _copy(own[number % len(own)], number, owner)
        bump()
    with connection.cursor() as cursor:
        cursor.execute("VACUUM ANALYZE")  # as autovacuum does within a minute


def _copy(persona: Persona, number: int, owner: User) -> None:
    ours = {"id": f"persona-{number:05}", "owner_id": owner.pk, "status": PersonaStatus.PUBLISHED, "position": 10_000}
    name = f"{persona.name} {COMMON} rare{number}"
    copy = Persona(**_columns(persona) | ours | {"name": name, "soul": persona.soul[:2_000]})
    Persona.objects.bulk_create([copy])
    PersonaL10n.objects.bulk_create(
        PersonaL10n(**_columns(text) | {"id": None, "persona_id": copy.pk, "name": f"{text.name} {COMMON}"})
        for text in persona.localizations.all()
    )


def _columns(row: Persona | PersonaL10n) -> dict[str, object]:
    plain = [field.attname for field in row._meta.concrete_fields]  # noqa: SLF001 # Django's public API
    return {name: getattr(row, name) for name in plain} | {"loaded": {}, "demo": None}
